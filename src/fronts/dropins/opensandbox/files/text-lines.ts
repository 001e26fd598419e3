/** Selects lines of a file, joined by line feeds. Lines are never buffered, however long. */

const LF = 0x0a;
const CR = 0x0d;

type Selection = {
	/** First line, counted from one. */
	readonly offset: number;
	/** Number of lines. */
	readonly limit: number;
};

/** Drops carriage returns at line ends; nothing follows the last line. */
export async function* selectLines(
	blocks: AsyncIterable<Buffer>,
	{ offset, limit }: Selection,
): AsyncGenerator<Buffer, void, void> {
	let line = 1;
	/** Whether a line was already sent, so that a separator is needed. */
	let isFollowing = false;
	/** Whether this line has started. */
	let isBegun = false;
	/** Carriage returns that belong to the line only if more content follows. */
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

/** In pieces, because the number is unlimited. */
function* carriageReturns(count: number): Generator<Buffer, void, void> {
	const PIECE_BYTES = 64 * 1024;
	for (let left = count; left > 0; left -= PIECE_BYTES) yield Buffer.alloc(Math.min(left, PIECE_BYTES), CR);
}
