/** A start as fronts request it, before the server completes it with its settings. */

import type { RequestedStart } from "../../core/policy/planned-start.ts";
import type { SandboxPolicy } from "../../core/process/sandbox-policy.ts";
import type { Retention, SessionSpec } from "../../core/session/session-info.ts";
import type { Size, SizePolicy, TerminalColors } from "../../words/state.ts";

/** The traditional terminal size. */
export const defaultSize: Size = { cols: 80, rows: 24 };

/** A start as a front requests it; undefined fields get the server's settings. */
export type StartRequest = {
	readonly argv: readonly string[];
	readonly arg0?: string | undefined;
	readonly cwd?: string | undefined;
	/** Changes to the child's environment; null removes a variable. */
	readonly env?: Readonly<Record<string, string | null>> | undefined;
	/** The environment to which `env` is applied, for protocols that define their own. */
	readonly base?: Readonly<Record<string, string>> | undefined;
	/** The exact environment, even without the variable by which stray processes are found. */
	readonly exactEnv?: Readonly<Record<string, string>> | undefined;
	readonly mode?: "pty" | "pipe" | undefined;
	readonly size?: Partial<Size> | undefined;
	readonly sizePolicy?: SizePolicy | undefined;
	readonly stdin?: "open" | "closed" | undefined;
	readonly stderr?: "apart" | "merged" | undefined;
	readonly uid?: number | undefined;
	readonly gid?: number | undefined;
	readonly groups?: readonly number[] | undefined;
	/** The start is refused if the sandbox can't be enforced here. */
	readonly sandbox?: SandboxPolicy | undefined;
	readonly name?: string | undefined;
	readonly labels?: Readonly<Record<string, string>> | undefined;
	readonly workspace?: string | undefined;
	/** A task of the workspace: it provides the default directory and variables. */
	readonly task?: string | undefined;
	readonly durable?: boolean | undefined;
	readonly retention?: { readonly [K in keyof Retention]?: Retention[K] | undefined } | undefined;
	readonly timeoutMs?: number | undefined;
	/** Time to end after the timeout; zero kills the program at once. */
	readonly timeoutGraceMs?: number | undefined;
	readonly idleTimeoutMs?: number | undefined;
	readonly idleExemptJobs?: boolean | undefined;
	/** Whether all output waits for its first reader. */
	readonly holdOutput?: boolean | undefined;
	/** Whether the session answers the program's queries while no attached terminal does. */
	readonly answersQueries?: boolean | undefined;
	/** Colors that the session reports to the program. */
	readonly colors?: TerminalColors | undefined;
	/** Whether a terminal that answers queries is about to attach. */
	readonly awaitsTerminal?: boolean | undefined;
	/** Whether a shell is set up to mark its prompts and commands. */
	readonly shellHooks?: boolean | undefined;
	/** How long `closed` waits for other processes that hold the terminal or the pipes; null waits for them indefinitely. */
	readonly drainMs?: number | null | undefined;
	/** Identifies a repeat of this request. */
	readonly request?: SessionSpec["request"] | undefined;
};

/** Completes a request with an id, the environment and the defaults. */
export type Prepare = (request: StartRequest) => RequestedStart;
