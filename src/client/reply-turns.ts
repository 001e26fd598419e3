/** Where in a program's output it is our terminal's turn to answer its questions, as the server tells it. */

type Turn = { readonly from: number; readonly mine: boolean };

const NOT_OURS: Turn = { from: 0, mine: false };

export class ReplyTurns {
	/** In the order of their places; the first has begun. */
	#turns: readonly Turn[] = [NOT_OURS];

	/** On a new connection it is not our turn until the server says so. */
	reset(): void {
		this.#turns = [NOT_OURS];
	}

	change(turn: Turn): void {
		this.#turns = [...this.#turns.filter(({ from }) => from < turn.from), turn];
	}

	/** A piece of output in parts, each ours to answer or not. What comes before it is not asked for again. */
	split(offset: number, bytes: Uint8Array): readonly { readonly bytes: Uint8Array; readonly mine: boolean }[] {
		const begun = this.#turns.findLastIndex(({ from }) => from <= offset);
		this.#turns = this.#turns.slice(Math.max(0, begun));
		return this.#turns.flatMap(({ from, mine }, index) => {
			const end = this.#turns[index + 1]?.from ?? Number.POSITIVE_INFINITY;
			const begin = index === 0 ? offset : from;
			const part = bytes.subarray(begin - offset, Math.max(0, end - offset));
			return part.byteLength > 0 ? [{ bytes: part, mine }] : [];
		});
	}
}
