/** What the Multica front is made of. */

import type { Clock } from "../../core/clock.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { Workspaces } from "../../core/workspaces.ts";
import type { Prepare } from "../front.ts";
import type { Times } from "./times.ts";

export type MulticaOptions = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** Where an issue's tasks are looked up. */
	readonly workspaces: Workspaces;
	readonly clock: Clock;
	/** A random UUID, with dashes. */
	readonly newUuid: () => string;
	/** How long a terminal waits for its client to come back; zero ends it when the client leaves, as the original does. */
	readonly graceMs: number;
	/** A terminal is ended after this long without output or input; zero is never. */
	readonly idleMs: number;
	/** Instead of the usual ones, for tests that do not want to wait. */
	readonly times?: Partial<Times>;
};
