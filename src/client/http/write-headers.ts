/** The headers of a write: a position for exactly-once delivery, and the fence of a lease. */

import { fenceHeader, idempotencyKeyHeader } from "../../api/messages.ts";

/** A position in an input stream. */
export type StreamPosition = { readonly stream: string; readonly position: number };

export function writeHeaders({
	origin,
	fence,
}: {
	origin?: StreamPosition;
	fence?: number | undefined;
}): Record<string, string> {
	return {
		...(origin && { [idempotencyKeyHeader]: `${origin.stream}:${origin.position}` }),
		...(fence === undefined ? {} : { [fenceHeader]: String(fence) }),
	};
}
