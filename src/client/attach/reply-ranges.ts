/** Which parts of the output this client's terminal answers, as reported by the server. */

type ReplyRange = { readonly from: number; readonly mine: boolean };

const NOT_OURS: ReplyRange = { from: 0, mine: false };

export class ReplyRanges {
	/** In order of offset; the first has started. */
	#turns: readonly ReplyRange[] = [NOT_OURS];

	/** On a new connection another terminal answers until the server says otherwise. */
	reset(): void {
		this.#turns = [NOT_OURS];
	}

	change(turn: ReplyRange): void {
		this.#turns = [...this.#turns.filter(({ from }) => from < turn.from), turn];
	}

	/** Splits output into parts that this terminal answers or not. Later calls must not go back before this output. */
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
