/** `DELETE /command` and `DELETE /code`: whatever runs under an id is asked to end, and made to after a while. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Session } from "../../core/session.ts";
import type { Witness } from "../../core/witness.ts";
import type { Hosting } from "../front.ts";
import { checkRight, may, witnessOf } from "../front.ts";
import { ExecdError, sendNothing } from "./answers.ts";
import type { Commands } from "./command/commands.ts";
import { findCommand } from "./command/routes.ts";
import type { OpenSandboxOptions } from "./options.ts";
import { here } from "./options.ts";
import type { BashSessions } from "./session/bash-sessions.ts";
import { defaultTimes, untilDelivered } from "./times.ts";

type Interruptible = { readonly commands: Commands; readonly sessions: BashSessions };

export function addInterrupts(
	app: FastifyInstance,
	options: OpenSandboxOptions,
	hosting: Hosting,
	interruptible: Interruptible,
): void {
	const { graceMs } = { ...defaultTimes, ...options.times };
	for (const path of ["/command", "/code"]) {
		app.delete<{ Querystring: { id?: string } }>(path, { config: { policy: "operate" } }, async (request, reply) => {
			const { id } = request.query;
			if (id === undefined || id === "") throw new ExecdError(400, "MISSING_QUERY", "missing query parameter 'id'");
			const report = (error: unknown) => hosting.report(error, `DELETE ${path}`);
			const running = findRunning(interruptible, request, id);
			// Whoever decides on it may take longer than the end itself.
			const allowed = await witnessOf(request).allowedToEnd(running.sessions);
			await untilDelivered(running.end(allowed, graceMs), { graceMs, report });
			return sendNothing(reply);
		});
	}
}

/** What an id stands for: the sessions of what runs, and how that is ended. */
type Running = {
	readonly sessions: () => readonly Session[];
	readonly end: (witness: Witness, graceMs: number) => Promise<unknown>;
};

/** Of a bash session it is the runs; the session itself stays. Throws when there is nothing to end. */
function findRunning({ commands, sessions }: Interruptible, request: FastifyRequest, id: string): Running {
	const bash = may(request, "read", here) ? sessions.get(id) : undefined;
	if (bash) {
		checkRight(request, "operate", here);
		if (bash.runs.size === 0) throw notPossible(`session ${id} is not running`);
		return {
			sessions: () => [...bash.runs].flatMap((run) => run.session ?? []),
			end: (witness, graceMs) => Promise.all([...bash.runs].map((run) => run.interrupt(graceMs, witness))),
		};
	}
	const command = findCommand(commands, request, id);
	if (!command) throw notPossible(`${id}: no such session`);
	checkRight(request, "operate", command.place);
	const { session } = command;
	if (!command.status.running || !session) throw notPossible(`command ${id} is not running`);
	return {
		sessions: () => [session],
		end: (witness, graceMs) => witness.session(session).kill({ signal: "SIGTERM", graceMs }),
	};
}

function notPossible(message: string): ExecdError {
	return new ExecdError(500, "RUNTIME_ERROR", `error interrupting: ${message}`);
}
