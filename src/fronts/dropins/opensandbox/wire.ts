/** One WebSocket of this front: its messages, and how it is evicted. */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { SessionError } from "../../../core/errors.ts";
import { WebSocketWire, type WireTimes } from "../../../http/websocket/wire.ts";
import type { ServerMessage } from "./messages.ts";

export const closeCodes = {
	done: 1000,
	goingAway: 1001,
	refused: 1008,
	failed: 1011,
	takenOver: 4001,
} as const;

/** Time for a connection to end after it hung up, and after it was evicted. */
const HANGING_UP_MS = 1_000;
const EVICTION_MS = 200;

export class Wire extends WebSocketWire {
	readonly #hangUp: () => void;

	constructor(socket: WebSocket, request: FastifyRequest, options: { times: WireTimes; closing: AbortSignal }) {
		super(socket, request, options.times);
		const tcp = request.raw.socket;
		this.#hangUp = () => tcp.end();
		this.closeOn(options.closing, closeCodes.goingAway, "the server is shutting down");
		if (request.principal) {
			this.closeOn(request.principal.revoked, closeCodes.goingAway, "the token was revoked or has expired");
		}
	}

	say(message: ServerMessage): Promise<void> {
		return this.send(`${JSON.stringify(message)}\n`);
	}

	/** Sends a reply without waiting. The number of unread replies is bounded. */
	answer(message: ServerMessage): void {
		this.reply(`${JSON.stringify(message)}\n`);
	}

	/** Ends the connection for a new holder: with a close frame if it can be sent now, never behind unsent messages. */
	evict(): void {
		if (this.ended.aborted || this.socket.bufferedAmount > 0) {
			this.drop();
			return;
		}
		this.close(closeCodes.takenOver, "TAKEN_OVER");
		this.over(EVICTION_MS);
	}

	/** Closes the connection without a close frame, after pending messages. */
	hangUp(): void {
		if (this.ended.aborted) return;
		this.over(HANGING_UP_MS);
		this.#hangUp();
	}
}

/** Sent last, after all output. */
export async function sendExit(wire: Wire, code: number): Promise<void> {
	await wire.say({ type: "exit", exit_code: code });
	wire.close(closeCodes.done, "process exited");
}

/** Reports why no program could be started, and closes without a close frame. */
export async function sendStartFailed(wire: Wire, thrown: unknown, report: (problem: unknown) => void): Promise<void> {
	const error = SessionError.from(thrown);
	if (error.isForLog) report(error.cause ?? thrown);
	await wire.say({ type: "error", code: "START_FAILED", error: error.message });
	wire.hangUp();
}
