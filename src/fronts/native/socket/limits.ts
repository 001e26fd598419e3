/** What one WebSocket may cost, and how long it may take; a test can make all of it small. */

import { socketLimits } from "../../../protocol/socket.ts";

export type SocketLimits = { readonly [K in keyof typeof socketLimits]: number } & {
	/** Unsent bytes at which no more output is read for this client: TCP is slower than it acknowledges. */
	readonly fuseBytes: number;
	/** Unsent bytes at which the client is given up: it asks for answers and does not read them. */
	readonly cutBytes: number;
	/** What a client may say in texts: input and acknowledgements are binary, and the rest is done now and then. */
	readonly textsPerSecond: number;
	/** How long a client may stand still with a full window. */
	readonly ackMs: number;
	/** How long it may take to consume the last output once the log has ended. */
	readonly lastAckMs: number;
	/** How long a client that wants the screen waits for it before it gets the output instead. */
	readonly screenMs: number;
	/** How long the closing handshake may take before the connection is cut. */
	readonly closeMs: number;
	/** Input received and not offered to the session yet: several windows, which no client that keeps to one can fill. */
	readonly waitingBytes: number;
	readonly waitingActs: number;
};

export const defaultSocketLimits: SocketLimits = {
	...socketLimits,
	fuseBytes: 512 * 1024,
	cutBytes: 1024 * 1024,
	textsPerSecond: 500,
	ackMs: 30_000,
	lastAckMs: 5_000,
	screenMs: 3_000,
	closeMs: 2_000,
	waitingBytes: 1024 * 1024,
	waitingActs: 4096,
};
