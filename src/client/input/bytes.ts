/** Input as bytes: text is UTF-8. */
export function bytesOf(input: Uint8Array | string): Uint8Array {
	return typeof input === "string" ? new TextEncoder().encode(input) : input;
}
