/** `DELETE /command` and `DELETE /code`: sends SIGTERM to what runs under an id, and SIGKILL after a grace time. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { Session } from "../../../core/session/session.ts";
import { auditedCallerOf, checkRight, hasRight } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { Commands } from "./command/commands.ts";
import { findCommand } from "./command/routes.ts";
import { ExecdError, sendNothing } from "./errors.ts";
import { defaultTimes, untilDelivered } from "./limits.ts";
import type { OpenSandboxOptions } from "./options.ts";
import { defaultPlacement } from "./options.ts";
import type { BashSessions } from "./session/bash-sessions.ts";

type Interruptible = { readonly commands: Commands; readonly sessions: BashSessions };

export function addInterrupts(
	app: FastifyInstance,
	options: OpenSandboxOptions,
	hosting: ServerContext,
	interruptible: Interruptible,
): void {
	const { graceMs } = { ...defaultTimes, ...options.times };
	for (const path of ["/command", "/code"]) {
		app.delete<{ Querystring: { id?: string } }>(path, { config: { policy: "operate" } }, async (request, reply) => {
			const { id } = request.query;
			if (id === undefined || id === "") throw new ExecdError(400, "MISSING_QUERY", "missing query parameter 'id'");
			const report = (error: unknown) => hosting.report(error, `DELETE ${path}`);
			const running = findRunning(interruptible, request, id);
			// Approval may take longer than the termination itself, so it is awaited first.
			const allowed = await auditedCallerOf(request).allowedToEnd(running.sessions);
			await untilDelivered(running.end(allowed, graceMs), { graceMs, report });
			return sendNothing(reply);
		});
	}
}

/** The sessions that run under an id, and the way to end them. */
type Running = {
	readonly sessions: () => readonly Session[];
	readonly end: (witness: AuditedCaller, graceMs: number) => Promise<unknown>;
};

/** For a bash session, only its runs are ended; the session stays. Throws if nothing runs. */
function findRunning({ commands, sessions }: Interruptible, request: FastifyRequest, id: string): Running {
	const bash = hasRight(request, "read", defaultPlacement) ? sessions.get(id) : undefined;
	if (bash) {
		checkRight(request, "operate", defaultPlacement);
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
