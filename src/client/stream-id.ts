/** A name for an input stream that nobody else has. */

const BYTES = 16;

/** By hand, because `randomUUID` is missing in a browser on a page without TLS. */
export function newStreamId(): string {
	const bytes = globalThis.crypto.getRandomValues(new Uint8Array(BYTES));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
