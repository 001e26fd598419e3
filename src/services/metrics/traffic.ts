/** Traffic counters of the native front. */

/** Totals since the server started, and current connections. */
export type TrafficCounters = {
	/** Open WebSockets. */
	sockets: number;
	/** Connected clients of server-sent events. */
	streams: number;
	/** Bytes of input that sessions accepted. */
	bytesIn: number;
	/** Bytes of output sent. */
	bytesOut: number;
	/** Bytes of output that live readers skipped. */
	bytesSkipped: number;
};

export function createTrafficCounters(): TrafficCounters {
	return { sockets: 0, streams: 0, bytesIn: 0, bytesOut: 0, bytesSkipped: 0 };
}
