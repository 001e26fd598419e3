/** Some lines of a file, joined by line feeds; a line is never held, however long it is. */

const LF = 0x0a;
const CR = 0x0d;

type Selection = {
	/** The first line, from one on. */
	readonly offset: number;
	/** How many. */
	readonly limit: number;
};

/** Carriage returns at the end of a line are left out, and nothing follows the last line. */
export async function* selectLines(
	blocks: AsyncIterable<Buffer>,
	{ offset, limit }: Selection,
): AsyncGenerator<Buffer, void, void> {
	let line = 1;
	/** Whether any line was begun before this one, so that it has to be separated. */
	let isFollowing = false;
	/** Whether this line has been begun. */
	let isBegun = false;
	/** Carriage returns that belong to the line only if something follows them. */
	let returns = 0;
	for await (const block of blocks) {
		for (let at = 0; at < block.length; ) {
			const feed = block.indexOf(LF, at);
			const end = feed < 0 ? block.length : feed;
			if (line >= offset) {
				if (!isBegun && isFollowing) yield Buffer.of(LF);
				isBegun = true;
				isFollowing = true;
				const content = endOfContent(block, at, end);
				if (content > at) {
					yield* carriageReturns(returns);
					returns = 0;
					yield block.subarray(at, content);
				}
				returns += end - content;
			}
			if (feed < 0) break;
			at = feed + 1;
			line++;
			isBegun = false;
			returns = 0;
			if (line - offset >= limit) return;
		}
	}
}

function endOfContent(block: Buffer, from: number, to: number): number {
	let end = to;
	while (end > from && block[end - 1] === CR) end--;
	return end;
}

/** In pieces, because there may be any number of them. */
function* carriageReturns(count: number): Generator<Buffer, void, void> {
	const PIECE_BYTES = 64 * 1024;
	for (let left = count; left > 0; left -= PIECE_BYTES) yield Buffer.alloc(Math.min(left, PIECE_BYTES), CR);
}
