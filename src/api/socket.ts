/** Names, limits and close codes of the WebSocket `hawser.v1`. */

import type { Hello } from "./types.ts";

export const subprotocol = "hawser.v1";
/** Subprotocol that a browser offers beside `hawser.v1`, since it can't set headers: `ticket.` and the ticket. Never answered. */
export const ticketPrefix = "ticket.";

/** Limits and timeouts of a socket. */
export const socketLimits = {
	/** @limit a text message on a WebSocket | closed with 4009 */
	textBytes: 65_536,
	/** @limit a binary message on a WebSocket | closed with 4009 */
	binaryBytes: 1_048_576,
	/**
	 * From the upgrade to `hello`.
	 * @limit from the upgrade to `hello` | closed with 4001
	 */
	helloMs: 5_000,
	/**
	 * Output sent and not yet consumed; beyond it the server reads no further for this client.
	 * @limit output that the client of a WebSocket has not consumed | the server reads no further for it
	 */
	outputWindowBytes: 262_144,
	/** Output bytes per frame. */
	frameBytes: 65_536,
	/**
	 * A screen with its scrollback. A larger one is sent without scrollback, or not at all.
	 * @limit a screen at the beginning of an attachment | it comes without scrolled-away rows, or not at all
	 */
	screenBytes: 524_288,
	scrollback: 200,
	/**
	 * Running `send`s on one connection; each reads the session's output.
	 * @limit running `send`s on one WebSocket | `limit_exceeded`
	 */
	sends: 8,
	/** Length of a `send`'s id. */
	idLength: 64,
	pingMs: 15_000,
	/**
	 * Without any byte for this long after a ping, the other side is gone.
	 * @limit a WebSocket without a byte after a ping | it is closed
	 */
	deadMs: 10_000,
} as const;

export type Role = Hello["role"];

/** Why a server closes a socket. `docs/protocol/attach.md` lists after which codes a client reconnects. */
export const closeCodes = {
	/** The server shuts down or restarts. */
	goingAway: 1001,
	/** The log has ended and the client has consumed all of it. */
	done: 1000,
	/** A frame or message that does not follow the protocol. */
	protocolError: 4000,
	/** No `hello` in time. */
	helloTimeout: 4001,
	/** The token was revoked or has expired. */
	unauthenticated: 4003,
	/** The session was removed. */
	sessionRemoved: 4004,
	/** A caller has detached all clients. */
	detached: 4005,
	/** The client consumed nothing for too long, or too much output is queued for it. */
	tooSlow: 4008,
	/** A frame or message exceeds its size limit. */
	tooBig: 4009,
	internal: 4500,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];
