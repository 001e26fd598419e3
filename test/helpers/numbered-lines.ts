/** Output of which every part shows where it belongs. */

/** Eight bytes each, so that every one has its place. */
export function numberedLines(bytes: number): Buffer {
	const lines = Buffer.alloc(bytes);
	for (let at = 0; at < bytes; at += 8) lines.write(`${String(at / 8).padStart(7, "0")}\n`, at, "latin1");
	return lines;
}
