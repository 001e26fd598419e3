/** One WebSocket of this front: what ends it, and with which words. */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import type { Principal } from "../../core/access.ts";
import { MessageWire, type WireTimes } from "../message-wire.ts";
import { type Accept, createAcceptor } from "../upgrade.ts";
import { closeCodeOf, closeCodes, type TerminalError } from "./errors.ts";
import { type ErrorPlace, errorFrame } from "./frames.ts";

/** A paste of a million bytes is one frame of a third more. */
const MAX_MESSAGE_BYTES: number = 2 * 1024 * 1024;
/** Keys that somebody holds down, and much more. */
const TEXTS_PER_SECOND = 1_000;
/** The reason of a close that gives none. */
export const CLOSED = "client_close";

export function createWireAcceptor(): Accept {
	return createAcceptor({ maxPayload: MAX_MESSAGE_BYTES, textsPerSecond: TEXTS_PER_SECOND, oneAtATime: true });
}

export class Wire extends MessageWire {
	#isRefused = false;

	constructor(socket: WebSocket, request: FastifyRequest, options: { times: WireTimes; closing: AbortSignal }) {
		super(socket, request, options.times);
		this.closeOn(options.closing, closeCodes.restart, "the server is shutting down");
	}

	/** From now on it is theirs, and ends with their credential. */
	belongsTo({ revoked }: Principal): void {
		this.closeOn(revoked, closeCodes.refused, "the token is not valid any more");
	}

	/** Says what is wrong, once, and closes. */
	async refuse({ code, message }: TerminalError, place: ErrorPlace = {}, isLogin = false): Promise<void> {
		this.#isRefused = true;
		await this.send(errorFrame(code, message, place, isLogin));
		this.close(closeCodeOf[code], message);
	}

	/** `ws` closes by itself when a message is too large; the user should see why. */
	protected override closing(code: number | undefined): void {
		if (code !== closeCodes.tooLarge || this.#isRefused) return;
		this.reply(errorFrame("too_large", `a message may have ${MAX_MESSAGE_BYTES} bytes`));
	}
}
