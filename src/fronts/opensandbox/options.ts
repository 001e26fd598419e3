/** What the OpenSandbox front is made of, and where all that it starts belongs. */

import type { Clock } from "../../core/clock.ts";
import type { Sessions } from "../../core/sessions.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import type { Prepare } from "../front.ts";
import type { Times } from "./times.ts";

/** Where everything of this protocol lives: its clients know of no other place. */
export const here: { readonly workspace: string } = { workspace: defaultWorkspace };

export type OpenSandboxOptions = {
	/** Where its paths begin: at the root where it is all there is, as the real server does. */
	readonly path: "/" | "/opensandbox";
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** The daemon's environment, which programs get and paths are expanded from; asked for at each start. */
	readonly environment: () => Readonly<Record<string, string>>;
	/** Further variables, one `KEY=VALUE` a line; read at each start. */
	readonly envFile?: string | undefined;
	/** Where programs start that do not say. */
	readonly cwd: string;
	/** For files on their way to their place, and notes of those: a directory that no other server uses. */
	readonly spoolDirectory: string;
	/** Where the records of PTYs outlive the server. */
	readonly records: RecordFile;
	readonly clock: Clock;
	/** A random UUID, with dashes. */
	readonly newUuid: () => string;
	/** Instead of the usual ones, for tests that do not want to wait. */
	readonly times?: Partial<Times>;
};

/** A small file of JSON: what was written last is there again after any crash. */
export interface RecordFile {
	/** Undefined when nothing was ever written. */
	read(): Promise<unknown>;
	/** One at a time, in order. */
	write(value: unknown): Promise<void>;
}
