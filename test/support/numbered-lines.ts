/** Output in which every part states its position. */

/** Eight bytes each, which gives every line a known position. */
export function numberedLines(bytes: number): Buffer {
	const lines = Buffer.alloc(bytes);
	for (let at = 0; at < bytes; at += 8) lines.write(`${String(at / 8).padStart(7, "0")}\n`, at, "latin1");
	return lines;
}
