/** Suggests the word that a user may have mistyped. */

/** Edits allowed: one in a short word, two in a longer one. */
function tolerance(word: string): number {
	return word.length < 5 ? 1 : 2;
}

/** The candidate with the fewest edits, if within the tolerance. */
export function closestWord(word: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined;
	let least = tolerance(word);
	for (const candidate of candidates) {
		const distance = distanceBetween(word, candidate);
		if (distance < least || (distance === least && best === undefined)) [best, least] = [candidate, distance];
	}
	return best;
}

/** Edit distance: insertions, deletions, replacements, and swaps of neighbors. */
function distanceBetween(from: string, to: string): number {
	let beforeLast: number[] = [];
	let last = Array.from({ length: to.length + 1 }, (_, index) => index);
	for (let row = 1; row <= from.length; row++) {
		const current = [row];
		for (let column = 1; column <= to.length; column++) {
			const isSame = from[row - 1] === to[column - 1];
			const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
			current[column] = Math.min(
				(last[column] ?? 0) + 1,
				(current[column - 1] ?? 0) + 1,
				(last[column - 1] ?? 0) + (isSame ? 0 : 1),
				isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
			);
		}
		[beforeLast, last] = [last, current];
	}
	return last[to.length] ?? 0;
}
