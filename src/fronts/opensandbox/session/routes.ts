/** `/session`: bash sessions, whose runs pass their directory and their variables on. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Right } from "../../../core/access.ts";
import { byteLength } from "../../../core/event.ts";
import type { Log } from "../../../core/log.ts";
import type { Hosting } from "../../front.ts";
import { checkRight, may, witnessOf } from "../../front.ts";
import { ExecdError, sendNothing } from "../answers.ts";
import { readBody, refusal, startBody } from "../body.ts";
import { EventStream, encodeEvent, failed } from "../event-stream.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { here } from "../options.ts";
import { existingDirectory, madeDirectory } from "../paths.ts";
import { defaultTimes, untilDelivered } from "../times.ts";
import { type BashSession, BashSessions } from "./bash-sessions.ts";
import { type RunRequest, StartedRun } from "./run.ts";
import { keptOf } from "./script.ts";

type WithId = { Params: { id: string } };

export function addSessions(app: FastifyInstance, options: OpenSandboxOptions, hosting: Hosting): BashSessions {
	const times = { ...defaultTimes, ...options.times };
	const sessions = new BashSessions(options);

	app.post("/session", { config: { policy: "manage", makes: true } }, async (request) => {
		checkRight(request, "manage", here);
		const body = readBody(request.body, { mayBeEmpty: true });
		const env = options.environment();
		const cwd = await madeDirectory(body.string("cwd"), { env, cwd: options.cwd });
		return { session_id: sessions.create(cwd ?? options.cwd, keptOf(env)).id };
	});

	app.get<WithId>("/session/:id", { config: { policy: "read" } }, async (request) => {
		const { id, shell, log } = find(sessions, request, "read");
		return { session_id: id, running: shell?.isAlive === true, output_offset: log.end.offset };
	});

	app.delete<WithId>("/session/:id", { config: { policy: "manage" } }, async (request, reply) => {
		const found = find(sessions, request, "manage");
		const report = (error: unknown) => hosting.report(error, "DELETE /session/:id");
		const allowed = await witnessOf(request).allowedToEnd(() => found.sessions);
		// Again, because another one may have deleted it meanwhile.
		const ending = sessions.delete(find(sessions, request, "manage"), allowed);
		await untilDelivered(ending, { graceMs: 0, report });
		return sendNothing(reply);
	});

	app.post<WithId & { Querystring: { since?: string } }>(
		"/session/:id/run",
		{ ...startBody, config: { policy: "manage", makes: true } },
		async (request, reply) => {
			const wanted = readRun(request);
			const around = { env: options.environment(), cwd: options.cwd };
			find(sessions, request, "manage");
			const cwd = await existingDirectory(wanted.cwd ?? "", around);
			// Again, because it may have been deleted meanwhile. From here to the start nothing is waited for.
			const bash = find(sessions, request, "manage");
			const replay = replayOf(bash.log, request.query.since);
			const run = await StartedRun.start(options, bash, { ...wanted, cwd }, witnessOf(request));
			const stream = new EventStream(reply, hosting);
			stream.open(replay + encodeEvent({ type: "init", text: bash.id }), times.streamPingMs);
			const report = (error: unknown) => hosting.report(error, "POST /session/:id/run");
			const last = await run.send(stream, times.drainMs).catch((error: unknown) => {
				report(error);
				return failed("internal error; the server's log says more");
			});
			// Before the client hears of the end, so that nothing of the run is left when it does.
			await run.finish(options.sessions, report).catch(report);
			stream.end(last);
			return reply;
		},
	);
	return sessions;
}

/** The session that a request names, if its caller may see it. */
function find(sessions: BashSessions, request: FastifyRequest<WithId>, right: Right): BashSession {
	const { id } = request.params;
	const session = may(request, "read", here) ? sessions.get(id) : undefined;
	if (!session) throw new ExecdError(404, "CONTEXT_NOT_FOUND", `session ${id} not found`);
	checkRight(request, right, here);
	return session;
}

function readRun(request: FastifyRequest): RunRequest {
	const body = readBody(request.body, { mayBeEmpty: false });
	const command = body.string("command");
	if (command === "") throw refusal("command is required");
	return { command, cwd: body.string("cwd") || undefined, timeoutMs: body.integer("timeout", 0) ?? 0 };
}

/** What is kept from an offset on, as one event; nothing if it is not asked for or there is none. */
function replayOf(log: Log, since: string | undefined): string {
	if (since === undefined) return "";
	const offset = Number(/^[+-]?\d+/.exec(since)?.[0] ?? 0);
	const events = log.peek(log.seqAt(offset), Number.POSITIVE_INFINITY);
	const pieces = events.map((event) => {
		if (event.kind !== "output") return Buffer.alloc(0);
		return event.bytes.subarray(Math.min(byteLength(event), Math.max(0, offset - event.offset)));
	});
	const text = Buffer.concat(pieces).toString("utf8");
	return text === "" ? "" : encodeEvent({ type: "replay", text });
}
