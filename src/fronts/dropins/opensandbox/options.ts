/** Options of the OpenSandbox front, and the workspace of everything it starts. */

import type { Clock } from "../../../core/async/clock.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { defaultWorkspace, type WorkspaceRules } from "../../../core/session/workspaces.ts";
import type { Prepare } from "../../../services/starts/request.ts";
import type { OpenSandboxLimits } from "./limits.ts";

/** This protocol has no workspaces, so everything belongs to the default one. */
export const defaultPlacement: { readonly workspace: string } = { workspace: defaultWorkspace };

export type OpenSandboxOptions = {
	/** Prefix of its paths. At the root it is the only front, as in the original. */
	readonly path: "/" | "/opensandbox";
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** Workspace rules, if there are workspaces. */
	readonly workspaces?: Pick<WorkspaceRules, "get">;
	/** The environment of programs and of path expansion. Read at each start. */
	readonly environment: () => Readonly<Record<string, string>>;
	/** A file of further variables, one `KEY=VALUE` per line. Read at each start. */
	readonly envFile?: string | undefined;
	/** Default working directory of programs. */
	readonly cwd: string;
	/** Directory for spooled files and notes about them. Must not be shared with another server. */
	readonly spoolDirectory: string;
	/** Stores the records of PTYs across restarts. */
	readonly records: RecordFile;
	readonly clock: Clock;
	/** Returns a random UUID with dashes. */
	readonly newUuid: () => string;
	/** Overrides of the default timeouts, for tests. */
	readonly times?: Partial<OpenSandboxLimits>;
};

/** A small JSON file that survives crashes. */
export interface RecordFile {
	/** Undefined if nothing was ever written. */
	read(): Promise<unknown>;
	/** Writes run one at a time, in order. */
	write(value: unknown): Promise<void>;
}
