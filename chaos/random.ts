/** Random numbers from a seed, so that a run can be repeated. */

export type Random = {
	/** A whole number from 0 to `below` - 1. */
	below(below: number): number;
	/** One element of a list that has at least one. */
	oneOf<T>(list: readonly T[]): T;
};

export function randomOf(seed: number): Random {
	let state = seed >>> 0;
	const next = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return (mixed ^ (mixed >>> 14)) >>> 0;
	};
	const below = (limit: number) => next() % limit;
	return {
		below,
		oneOf: (list) => {
			const one = list[below(list.length)];
			if (one === undefined) throw new Error("a choice from an empty list");
			return one;
		},
	};
}
