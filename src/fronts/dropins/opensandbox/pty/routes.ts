/** `/pty`: shells that outlive their clients. The order of checks before a WebSocket opens is part of the contract. */

import type { FastifyInstance, FastifyReply } from "fastify";
import { checkStartRate } from "../../../../core/policy/start-rate.ts";
import { addReader, auditedCallerOf, checkRight, hasRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import { createAcceptor, handshakeFault } from "../../../../http/upgrade.ts";
import { ExecdError, sendNothing } from "../errors.ts";
import { defaultTimes } from "../limits.ts";
import { decodeFrame } from "../messages.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { readBody, startBody } from "../request-body.ts";
import {
	isUpgradeRequest,
	MAX_MESSAGE_BYTES,
	openWire,
	queryOf,
	refuseHandshake,
	type SocketRequest,
	type SocketScope,
	sinceOf,
	TEXTS_PER_SECOND,
} from "../socket/handshake.ts";
import { SocketInput } from "../socket/input.ts";
import type { Wire } from "../wire.ts";
import { madeDirectory } from "../working-directory.ts";
import { serveWriter } from "./connection.ts";
import { notFound, type PtyRecord } from "./record.ts";
import { PtyRecords } from "./records.ts";
import { serveViewer } from "./viewer.ts";

export function addPty(app: FastifyInstance, options: OpenSandboxOptions, hosting: ServerContext): void {
	const records = new PtyRecords(options, (problem) => hosting.report(problem, "pty"));
	const accept = createAcceptor({ maxPayload: MAX_MESSAGE_BYTES, textsPerSecond: TEXTS_PER_SECOND });
	const scope = { hosting, accept, times: { ...defaultTimes, ...options.times } };
	app.addHook("onReady", () => records.load());

	app.post("/pty", { ...startBody, config: { policy: "manage", makes: true } }, async (request, reply) => {
		checkRight(request, "manage", defaultPlacement);
		const body = readBody(request.body, { mayBeEmpty: true });
		const asked = { cwd: body.string("cwd"), command: body.string("command") };
		const cwd = await madeDirectory(asked.cwd, { env: options.environment(), cwd: options.cwd }, options.workspaces);
		const { id } = await records.create({ cwd: cwd ?? "", command: asked.command }, auditedCallerOf(request));
		return reply.code(201).send({ session_id: id });
	});

	app.get("/pty/:id", { config: { policy: "read" } }, async (request: SocketRequest) => {
		const record = find(records, request);
		const { isRunning, total } = await record.status();
		return { session_id: record.id, running: isRunning, output_offset: total };
	});

	app.delete("/pty/:id", { config: { policy: "manage" } }, async (request: SocketRequest, reply) => {
		const record = find(records, request);
		checkRight(request, "manage", defaultPlacement);
		await records.delete(record, auditedCallerOf(request));
		return sendNothing(reply);
	});

	app.get("/pty/:id/ws", { config: { policy: "read", isSocket: true } }, async (request: SocketRequest, reply) => {
		const record = find(records, request);
		if (queryOf(request, "mode") === "viewer") return openViewer(record, request, reply, scope);
		checkRight(request, "operate", defaultPlacement);
		// The holder of an idle PTY starts its program. Only callers without that right wait for an unresponsive keeper.
		const mayStart = request.principal?.may("manage", defaultPlacement) === true;
		if (!mayStart && !(await record.status()).isRunning) checkRight(request, "manage", defaultPlacement);
		return openHolder(record, request, reply, scope);
	});
}

function find(records: PtyRecords, request: SocketRequest): PtyRecord {
	const record = records.get(request.params.id);
	if (!record || !hasRight(request, "read", defaultPlacement)) throw notFound(request.params.id);
	return record;
}

async function openHolder(record: PtyRecord, request: SocketRequest, reply: FastifyReply, scope: SocketScope) {
	const isTakeover = queryOf(request, "takeover") === "1" && isUpgradeRequest(request);
	if (record.holder.isHeld && !isTakeover)
		throw new ExecdError(409, "ALREADY_CONNECTED", "another client is connected to this pty session");
	const fault = handshakeFault(request);
	if (fault) return refuseHandshake(reply, fault);

	const wire = openWire(request, reply, scope);
	if (!wire) return reply;
	// Receives messages from the start, possibly long before the seat is free.
	const controls = new SocketInput(wire, decodeFrame);
	const evict = () => wire.evict();
	// Nothing was awaited since the check, so two clients can't both find it free.
	const seat = record.holder.take(evict) ?? (await takeOver(record, evict, wire, scope.times.takeoverMs));
	if (!seat) return reply;
	try {
		await serveWriter({
			record,
			wire,
			controls,
			since: sinceOf(queryOf(request, "since")),
			mode: queryOf(request, "pty") === "0" ? "pipe" : "pty",
			allow: () => checkStartRate(request.principal?.countCreation() ?? 0),
			witness: auditedCallerOf(request),
			report: (problem) => scope.hosting.report(problem, "pty socket"),
		});
	} finally {
		seat.leave();
	}
	return reply;
}

async function takeOver(record: PtyRecord, evict: () => void, wire: Wire, takeoverMs: number) {
	const timeout = new AbortController();
	const timer = setTimeout(() => timeout.abort(), takeoverMs);
	wire.ended.addEventListener("abort", () => timeout.abort(), { once: true });
	if (wire.ended.aborted) timeout.abort();
	const seat = await record.holder.takeOver(evict, timeout.signal);
	clearTimeout(timer);
	if (seat) return seat;
	await wire.say({
		type: "error",
		code: "ALREADY_CONNECTED",
		error: "takeover timed out: the other client is still connected",
	});
	wire.hangUp();
	return undefined;
}

async function openViewer(record: PtyRecord, request: SocketRequest, reply: FastifyReply, scope: SocketScope) {
	if (!record.isRunning)
		throw new ExecdError(409, "VIEWER_REQUIRES_RUNNING_SESSION", "a viewer needs a pty session that is running");
	const leave = addReader(request, { ...defaultPlacement, session: record.id }, scope.hosting, "attach");
	try {
		const fault = handshakeFault(request);
		if (fault) return refuseHandshake(reply, fault);
		const wire = openWire(request, reply, scope);
		if (!wire) return reply;
		const report = (problem: unknown) => scope.hosting.report(problem, "pty viewer");
		await serveViewer({ record, wire, since: sinceOf(queryOf(request, "since")), report });
		return reply;
	} finally {
		leave();
	}
}
