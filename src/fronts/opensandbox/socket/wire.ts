/** One WebSocket of this front: what it says, and how it makes room for another. */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { SessionError } from "../../../core/errors.ts";
import { MessageWire, type WireTimes } from "../../message-wire.ts";
import type { ServerMessage } from "./frames.ts";

export const closeCodes = {
	done: 1000,
	goingAway: 1001,
	refused: 1008,
	failed: 1011,
	takenOver: 4001,
} as const;

/** How long a connection may take to end that hangs up, and that of a holder who is in somebody's way. */
const HANGING_UP_MS = 1_000;
const EVICTION_MS = 200;

export class Wire extends MessageWire {
	readonly #hangUp: () => void;

	constructor(socket: WebSocket, request: FastifyRequest, options: { times: WireTimes; closing: AbortSignal }) {
		super(socket, request, options.times);
		const tcp = request.raw.socket;
		this.#hangUp = () => tcp.end();
		this.closeOn(options.closing, closeCodes.goingAway, "the server is shutting down");
		if (request.principal) {
			this.closeOn(request.principal.revoked, closeCodes.goingAway, "the token is not valid any more");
		}
	}

	say(message: ServerMessage): Promise<void> {
		return this.send(`${JSON.stringify(message)}\n`);
	}

	/** Says something that nobody waits for, however much the client makes us say. */
	answer(message: ServerMessage): void {
		this.reply(`${JSON.stringify(message)}\n`);
	}

	/** Makes room for another holder: with a word if that can be said at once, and never behind a message that is stuck. */
	evict(): void {
		if (this.ended.aborted || this.socket.bufferedAmount > 0) {
			this.drop();
			return;
		}
		this.close(closeCodes.takenOver, "TAKEN_OVER");
		this.over(EVICTION_MS);
	}

	/** Ends the connection after what was said, without a close frame. */
	hangUp(): void {
		if (this.ended.aborted) return;
		this.over(HANGING_UP_MS);
		this.#hangUp();
	}
}

/** The last that a client hears, once it has all output. */
export async function sayExit(wire: Wire, code: number): Promise<void> {
	await wire.say({ type: "exit", exit_code: code });
	wire.close(closeCodes.done, "process exited");
}

/** Says why no program could be started, and leaves without a close frame. */
export async function sayStartFailed(wire: Wire, thrown: unknown, report: (problem: unknown) => void): Promise<void> {
	const error = SessionError.from(thrown);
	if (error.code === "internal") report(thrown);
	await wire.say({ type: "error", code: "START_FAILED", error: error.message });
	wire.hangUp();
}
