/** One WebSocket of this front, with the close codes and texts of its end. */

import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import type { Principal } from "../../../core/policy/access.ts";
import { type Accept, createAcceptor } from "../../../http/upgrade.ts";
import { WebSocketWire, type WireTimes } from "../../../http/websocket/wire.ts";
import { closeCodeOf, closeCodes, type TerminalError } from "./errors.ts";
import { type ErrorPlace, errorFrame } from "./messages.ts";

/**
 * A paste of 1 MB becomes one frame, a third larger as base64.
 * @limit one message of a client | 1009
 */
const MAX_MESSAGE_BYTES: number = 2 * 1024 * 1024;
/**
 * Well above a held-down key.
 * @limit messages of a client in a second | the rest waits
 */
const TEXTS_PER_SECOND = 1_000;
/** The default reason of a close. */
export const CLOSED = "client_close";

export function createWireAcceptor(): Accept {
	return createAcceptor({ maxPayload: MAX_MESSAGE_BYTES, textsPerSecond: TEXTS_PER_SECOND, oneAtATime: true });
}

export class Wire extends WebSocketWire {
	#isRefused = false;

	constructor(socket: WebSocket, request: FastifyRequest, options: { times: WireTimes; closing: AbortSignal }) {
		super(socket, request, options.times);
		this.closeOn(options.closing, closeCodes.restart, "the server is shutting down");
	}

	/** Binds the socket to its caller: it ends when the credential is revoked. */
	belongsTo({ revoked }: Principal): void {
		this.closeOn(revoked, closeCodes.refused, "the token was revoked or has expired");
	}

	/** Sends the error once and closes. */
	async refuse({ code, message }: TerminalError, place: ErrorPlace = {}, isLogin = false): Promise<void> {
		this.#isRefused = true;
		await this.send(errorFrame(code, message, place, isLogin));
		this.close(closeCodeOf[code], message);
	}

	/** `ws` closes oversized messages by itself; the user should see why. */
	protected override closing(code: number | undefined): void {
		if (code !== closeCodes.tooLarge || this.#isRefused) return;
		this.reply(errorFrame("too_large", `message too large (limit ${MAX_MESSAGE_BYTES} bytes)`));
	}
}
