/** A start as fronts request it, before the server completes it with its settings. */

import type { RequestedStart } from "../../core/policy/planned-start.ts";
import type { Command } from "../../core/process/process.ts";
import type { Retention, SessionSpec } from "../../core/session/session-info.ts";
import type { Size, SizePolicy } from "../../words/state.ts";

/** The traditional terminal size. */
export const defaultSize: Size = { cols: 80, rows: 24 };

type Requested<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

/** Fields of a spec that follow from other fields of the request. */
type Derived = "id" | "argv" | "name" | "task" | "firstSize" | "firstSizePolicy" | "retention" | "createdAt";

/** Fields that a program is started with as they are. */
type OfCommand = "arg0" | "stdin" | "stderr" | "uid" | "gid" | "groups" | "sandbox" | "drainMs";

/** A start as a front requests it; undefined fields get the server's settings. */
export type StartRequest = Requested<Omit<SessionSpec, Derived>> &
	Requested<Pick<Command, OfCommand>> & {
		readonly argv: readonly string[];
		/** Changes to the child's environment; null removes a variable. */
		readonly env?: Readonly<Record<string, string | null>> | undefined;
		/** The environment to which `env` is applied, for protocols that define their own. */
		readonly base?: Readonly<Record<string, string>> | undefined;
		/** The exact environment, even without the variable by which stray processes are found. */
		readonly exactEnv?: Readonly<Record<string, string>> | undefined;
		readonly size?: Partial<Size> | undefined;
		readonly sizePolicy?: SizePolicy | undefined;
		readonly name?: string | undefined;
		/** A task of the workspace: it provides the default directory and variables. */
		readonly task?: string | undefined;
		readonly retention?: Requested<Retention> | undefined;
	};

/** Completes a request with an id, the environment and the defaults. */
export type Prepare = (request: StartRequest) => RequestedStart;
