/** Limits and timeouts of one WebSocket. Tests make them small. */

import { socketLimits } from "../../api/socket.ts";

export type SocketLimits = { readonly [K in keyof typeof socketLimits]: number } & {
	/** Unsent bytes at which no more output is read for this client: TCP accepts less than the client acknowledges. */
	readonly fuseBytes: number;
	/** Unsent bytes at which the client is disconnected: it requests answers and does not read them. */
	readonly cutBytes: number;
	/** Text messages per second. Input and acknowledgments are binary, the rest is rare. */
	readonly textsPerSecond: number;
	/** Time without progress allowed with a full window. */
	readonly ackMs: number;
	/** Time to consume the last output once the log has ended. */
	readonly lastAckMs: number;
	/** Time to wait for the requested screen before output is sent instead. */
	readonly screenMs: number;
	/** Time for the closing handshake before the connection is cut. */
	readonly closeMs: number;
	/**
	 * Input received but not passed to the session: several windows, so no client that respects its window can reach it.
	 */
	readonly waitingBytes: number;
	readonly waitingActs: number;
};

export const defaultSocketLimits: SocketLimits = {
	...socketLimits,
	fuseBytes: 512 * 1024,
	/** @limit unread answers on a WebSocket | the connection is closed */
	cutBytes: 1024 * 1024,
	/** @limit texts on one WebSocket in a second; for OpenSandbox and Multica 1,000 | the rest waits */
	textsPerSecond: 500,
	/** @limit a full window without progress | closed with 4008 */
	ackMs: 30_000,
	/** @limit consuming the last output after the end | closed with 1000 */
	lastAckMs: 5_000,
	/** @limit waiting for that screen | the attachment begins with output */
	screenMs: 3_000,
	closeMs: 2_000,
	/** @limit input of a WebSocket that is not accepted yet | `limit_exceeded` */
	waitingBytes: 1024 * 1024,
	waitingActs: 4096,
};
