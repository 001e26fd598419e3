/** Options of the Multica front. */

import type { Clock } from "../../../core/async/clock.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import type { Workspaces } from "../../../core/session/workspaces.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { Prepare } from "../../../services/starts/request.ts";
import type { MulticaLimits } from "./limits.ts";
import type { Terminals } from "./terminals.ts";

export type MulticaOptions = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** Used to look up an issue's tasks. */
	readonly workspaces: Workspaces;
	readonly clock: Clock;
	/** Returns a random UUID with dashes. */
	readonly newUuid: () => string;
	/** Time for a client to return to its terminal. Zero ends the terminal when the client leaves, as in the original. */
	readonly graceMs: number;
	/** Terminals without input and output for this long are ended; zero disables this. */
	readonly idleMs: number;
	/** Overrides of the default timeouts, for tests. */
	readonly times?: Partial<MulticaLimits>;
};

/** The parts that all connections share. */
export type MulticaContext = {
	readonly options: MulticaOptions;
	readonly times: MulticaLimits;
	readonly terminals: Terminals;
	readonly hosting: ServerContext;
};
