/** What went through the native front since the server started, counted for `/metrics`. */

export type Traffic = {
	/** WebSockets that are open now. */
	sockets: number;
	/** Followers by server-sent events that are connected now. */
	streams: number;
	/** Input accepted by sessions, in bytes. */
	bytesIn: number;
	/** Output sent, in bytes. */
	bytesOut: number;
	/** Output that live readers were moved over. */
	bytesSkipped: number;
};

export function createTraffic(): Traffic {
	return { sockets: 0, streams: 0, bytesIn: 0, bytesOut: 0, bytesSkipped: 0 };
}
