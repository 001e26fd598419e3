/** The WebSocket `hawser.v1` at `/v1/sessions/:id/attach`: opens it and decides when it ends. */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { type CloseCode, closeCodes, socketLimits, subprotocol } from "../../../api/socket.ts";
import { onAbort } from "../../../core/async/abort.ts";
import { SessionError } from "../../../core/errors.ts";
import { addReader } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import { createAcceptor, handshakeFault } from "../../../http/upgrade.ts";
import { Liveness } from "../../../http/websocket/liveness.ts";
import type { Attachments } from "../../../services/attachments/attachments.ts";
import type { Sender } from "../../../services/input/send.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import { resourceOf } from "../find-session.ts";
import { defaultSocketLimits, type SocketLimits } from "../limits.ts";
import type { NativeOptions } from "../options.ts";
import type { Call, Serve } from "../serve.ts";
import { Connection } from "./connection.ts";
import { WebSocketWire } from "./wire.ts";

export function addSocket(serve: Serve, scope: AttachScope): void {
	const { attachments } = scope;
	const limits = { ...defaultSocketLimits, ...scope.options.socketLimits };
	const { textsPerSecond } = limits;
	const accept = createAcceptor({ maxPayload: socketLimits.binaryBytes, subprotocol, textsPerSecond });
	serve("attachSession", async ({ session, request, reply, caller, witness }) => {
		// Refused before the upgrade, as HTTP errors that every client can show.
		checkUpgrade(request);
		const leave = addReader(request, resourceOf(session), scope.hosting, "attach");
		const socket = accept(request, reply);
		if (socket) {
			socket.once("close", leave);
			attach(socket, { session, request, caller, witness }, { ...scope, limits });
		} else leave();
		return reply;
	});

	serve("listAttached", async ({ session }) => ({ attached: [...(attachments.get(session.id)?.all.values() ?? [])] }));

	serve("detachAll", async ({ session, caller, body }) => {
		const here = attachments.get(session.id);
		const kept = body?.keepWriter ? here?.writer : undefined;
		const clients = [...(here?.all.keys() ?? [])].filter((client) => client !== kept);
		const whom = kept ? "all other clients" : "all clients";
		const reason = `${caller.name.slice(0, NAME_CHARACTERS)} detached ${whom}`;
		for (const client of clients) client.detach(reason);
		return { detached: clients.length };
	});
}

/** Length of a caller's name in a close reason, which has at most 123 bytes. */
const NAME_CHARACTERS = 24;

type AttachScope = {
	readonly options: NativeOptions;
	readonly hosting: ServerContext;
	readonly traffic: TrafficCounters;
	readonly attachments: Attachments;
	readonly sends: Sender;
};

type AttachCall = Pick<Call<"attachSession">, "session" | "request" | "caller" | "witness">;

function attach(
	socket: WebSocket,
	{ session, request, caller: principal, witness }: AttachCall,
	scope: AttachScope & { readonly limits: SocketLimits },
): void {
	const { options, limits, hosting, traffic, attachments, sends } = scope;
	const wire = new WebSocketWire(socket, limits);
	closeInOurWords(socket, wire);

	traffic.sockets++;
	const { attached, leave } = attachments.add(session, wire, { name: principal.name, since: options.clock.now() });
	socket.once("close", () => {
		traffic.sockets--;
		leave();
	});
	onAbort(hosting.closing, wire.ended, () => wire.close(closeCodes.goingAway, "the server is shutting down"));
	onAbort(principal.revoked, wire.ended, () =>
		wire.close(closeCodes.unauthenticated, "the token was revoked or has expired"),
	);
	new Liveness(socket, request.raw.socket, { ...limits, signal: wire.ended });

	const { sessions, screens, approvals } = options;
	const report = (problem: unknown) => hosting.report(problem, "attach");
	const acts = ({ isTyped }: { readonly isTyped: boolean }) => {
		if (isTyped || !attached.writer) attached.writer = wire;
	};
	const connection = new Connection({
		session,
		sessions,
		screens,
		principal,
		witness,
		approvals,
		wire,
		attached,
		limits,
		traffic,
		hosting,
		sends,
		acts,
		report,
	});
	socket.on("message", (data: Buffer, isBinary: boolean) => connection.receive(data, isBinary));
}

function checkUpgrade(request: FastifyRequest): void {
	const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	if (handshakeFault(request) === undefined && offered.includes(subprotocol)) return;
	throw new SessionError("invalid_argument", `this route needs a WebSocket with the subprotocol ${subprotocol}`, {
		hint: `connect with a WebSocket client that offers ${subprotocol}`,
	});
}

/** Errors found by `ws` close the connection with our codes. */
function closeInOurWords(socket: WebSocket, wire: WebSocketWire): void {
	const close = socket.close.bind(socket);
	socket.close = (code, reason) => {
		const ours = wire.ended.aborted ? undefined : codesOfWs[code ?? 0];
		if (ours === undefined) close(code, reason);
		else wire.close(ours, ours === closeCodes.tooBig ? "a message is too large" : "not a valid WebSocket frame");
	};
}

const codesOfWs: Readonly<Record<number, CloseCode>> = {
	1002: closeCodes.protocolError,
	1007: closeCodes.protocolError,
	1009: closeCodes.tooBig,
};
