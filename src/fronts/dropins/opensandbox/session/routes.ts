/** `/session`: bash sessions, whose runs pass their directory and variables on. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { byteLength } from "../../../../core/log/event.ts";
import type { Log } from "../../../../core/log/log.ts";
import { auditedCallerOf, checkRight, hasRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import type { Right } from "../../../../words/rights.ts";
import { ExecdError, sendNothing } from "../errors.ts";
import { EventStream, encodeEvent, failed } from "../event-stream.ts";
import { defaultTimes, untilDelivered } from "../limits.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { readBody, refusal, startBody } from "../request-body.ts";
import { existingDirectory, madeDirectory } from "../working-directory.ts";
import { type BashSession, BashSessions } from "./bash-sessions.ts";
import { type RunRequest, StartedRun } from "./run.ts";
import { keptOf } from "./script.ts";

type WithId = { Params: { id: string } };

export function addSessions(app: FastifyInstance, options: OpenSandboxOptions, hosting: ServerContext): BashSessions {
	const times = { ...defaultTimes, ...options.times };
	const sessions = new BashSessions(options);

	app.post("/session", { config: { policy: "manage", makes: true } }, async (request) => {
		checkRight(request, "manage", defaultPlacement);
		const body = readBody(request.body, { mayBeEmpty: true });
		const env = options.environment();
		const cwd = await madeDirectory(body.string("cwd"), { env, cwd: options.cwd }, options.workspaces);
		// Runs of other callers will start there too.
		const id = options.newUuid();
		const place = { id: `session:${id}`, name: null, ...defaultPlacement };
		const program = { argv: [], cwd: cwd ?? options.cwd, env: {} };
		await auditedCallerOf(request).checkStore({ place, program, script: "", usual: { cwd: options.cwd, env: {} } });
		return { session_id: sessions.create(id, program.cwd, keptOf(env)).id };
	});

	app.get<WithId>("/session/:id", { config: { policy: "read" } }, async (request) => {
		const { id, shell, log } = find(sessions, request, "read");
		return { session_id: id, running: shell?.isAlive === true, output_offset: log.end.offset };
	});

	app.delete<WithId>("/session/:id", { config: { policy: "manage" } }, async (request, reply) => {
		const found = find(sessions, request, "manage");
		const report = (error: unknown) => hosting.report(error, "DELETE /session/:id");
		const allowed = await auditedCallerOf(request).allowedToEnd(() => found.sessions);
		// Looked up again, because another request may have deleted it meanwhile.
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
			// Looked up again, because it may have been deleted meanwhile. Nothing is awaited between here and the start.
			const bash = find(sessions, request, "manage");
			const replay = replayOf(bash.log, request.query.since);
			const run = await StartedRun.start(options, bash, { ...wanted, cwd }, auditedCallerOf(request));
			const stream = new EventStream(reply, hosting);
			stream.open(replay + encodeEvent({ type: "init", text: bash.id }), times.streamPingMs);
			const report = (error: unknown) => hosting.report(error, "POST /session/:id/run");
			const last = await run.send(stream, times.drainMs).catch((error: unknown) => {
				report(error);
				return failed("internal error; see the server's log");
			});
			// Before the end is sent, so that nothing of the run is left when the client sees it.
			await run.finish(options.sessions, report).catch(report);
			stream.end(last);
			return reply;
		},
	);
	return sessions;
}

/** The session with this id, if the caller may see it. */
function find(sessions: BashSessions, request: FastifyRequest<WithId>, right: Right): BashSession {
	const { id } = request.params;
	const session = hasRight(request, "read", defaultPlacement) ? sessions.get(id) : undefined;
	if (!session) throw new ExecdError(404, "CONTEXT_NOT_FOUND", `session ${id} not found`);
	checkRight(request, right, defaultPlacement);
	return session;
}

function readRun(request: FastifyRequest): RunRequest {
	const body = readBody(request.body, { mayBeEmpty: false });
	const command = body.string("command");
	if (command === "") throw refusal("command is required");
	return { command, cwd: body.string("cwd") || undefined, timeoutMs: body.integer("timeout", 0) ?? 0 };
}

/** Output kept since an offset, as one event; empty if not requested or none. */
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
