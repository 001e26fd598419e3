/** The WebSocket `hawser.v1` at `/v1/sessions/:id/attach`: who may open one, and what ends it. */

import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { WebSocket } from "ws";
import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import type { AttachedList, Detached } from "../../../protocol/messages.ts";
import { type CloseCode, closeCodes, socketLimits, subprotocol } from "../../../protocol/socket.ts";
import { type Hosting, onAbort, takeReader, witnessOf } from "../../front.ts";
import { Liveness } from "../../liveness.ts";
import { createAcceptor, handshakeFault } from "../../upgrade.ts";
import type { Traffic } from "../metrics.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import type { Sends } from "../sending.ts";
import { attachedList, detached, detachSession, idParams } from "../session-messages.ts";
import type { Attachments } from "./attachments.ts";
import { Connection } from "./connection.ts";
import { defaultSocketLimits, type SocketLimits } from "./limits.ts";
import { WebSocketWire } from "./wire.ts";

type Attach = FastifyRequest<{ Params: { id: string } }>;

export function addSocket(
	app: NativeApp,
	options: NativeOptions,
	hosting: Hosting,
	traffic: Traffic,
	attachments: Attachments,
	sends: Sends,
): void {
	const limits = { ...defaultSocketLimits, ...options.socketLimits };
	const { textsPerSecond } = limits;
	const accept = createAcceptor({ maxPayload: socketLimits.binaryBytes, subprotocol, textsPerSecond });
	app.get(
		"/v1/sessions/:id/attach",
		{
			config: {
				policy: "read",
				isSocket: true,
				operation: "attachSession",
				summary: "Attach by WebSocket (hawser.v1)",
				answers: { 101: "" },
			},
			schema: { params: idParams },
			// Everything that can be refused is refused before the upgrade, as an HTTP error that any client can show.
			preHandler: async (request: Attach) => {
				findSession(options.sessions, request);
				checkUpgrade(request);
			},
		},
		async (request: Attach, reply) => {
			const session = findSession(options.sessions, request);
			const leave = takeReader(request, placeOf(session), hosting, "attach");
			const socket = accept(request, reply);
			if (!socket) return leave();
			socket.once("close", leave);
			attach(socket, session, request, { options, limits, hosting, traffic, attachments, sends });
		},
	);

	app.get(
		"/v1/sessions/:id/attachments",
		{
			config: { policy: "operate", operation: "listAttached", summary: "List who is attached to a session" },
			schema: { params: idParams, response: { 200: attachedList } },
		},
		async (request): Promise<AttachedList> => {
			const { id } = findSession(options.sessions, request);
			return { attached: [...(attachments.get(id)?.all.values() ?? [])] };
		},
	);

	app.post(
		"/v1/sessions/:id/detach",
		{
			config: { policy: "operate", operation: "detachAll", summary: "End every attachment to a session" },
			schema: { params: idParams, body: Type.Optional(detachSession), response: { 200: detached } },
		},
		async (request): Promise<Detached> => {
			const { id } = findSession(options.sessions, request);
			const here = attachments.get(id);
			const kept = request.body?.keepWriter ? here?.writer : undefined;
			const wires = [...(here?.all.keys() ?? [])].filter((wire) => wire !== kept);
			const whom = kept ? "everybody else" : "everybody";
			const reason = `${principalOf(request).name.slice(0, NAME_CHARACTERS)} has detached ${whom}`;
			for (const wire of wires) wire.close(closeCodes.detached, reason);
			return { detached: wires.length };
		},
	);
}

/** Of who detaches: the reason of a close may have 123 bytes. */
const NAME_CHARACTERS = 24;

type Scope = {
	readonly options: NativeOptions;
	readonly limits: SocketLimits;
	readonly hosting: Hosting;
	readonly traffic: Traffic;
	readonly attachments: Attachments;
	readonly sends: Sends;
};

function attach(socket: WebSocket, session: Session, request: Attach, scope: Scope): void {
	const { options, limits, hosting, traffic, attachments, sends } = scope;
	const principal = principalOf(request);
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
		wire.close(closeCodes.unauthenticated, "the token is not valid any more"),
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
		witness: witnessOf(request),
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

function checkUpgrade(request: Attach): void {
	const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	if (handshakeFault(request) === undefined && offered.includes(subprotocol)) return;
	throw new SessionError("invalid_argument", `this is a WebSocket, and its subprotocol is ${subprotocol}`, {
		hint: `connect with a WebSocket client that offers ${subprotocol}`,
	});
}

/** What `ws` itself finds wrong ends the connection as everything else does: at once, and with our codes. */
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
