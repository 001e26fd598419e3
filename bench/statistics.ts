/** Medians and percentiles. */

export type Spread = { readonly median: number; readonly min: number; readonly max: number };

export function spreadOf(values: readonly number[]): Spread {
	const sorted = sort(values);
	const middle = sorted.length / 2;
	const [low, high] = [at(sorted, Math.ceil(middle) - 1), at(sorted, Math.floor(middle))];
	return { median: (low + high) / 2, min: at(sorted, 0), max: at(sorted, sorted.length - 1) };
}

/** The smallest value that is at least as large as this share of all values. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = sort(values);
	return at(sorted, Math.max(0, Math.ceil(share * sorted.length) - 1));
}

function sort(values: readonly number[]): number[] {
	if (values.length === 0) throw new Error("no values");
	return [...values].sort((a, b) => a - b);
}

function at(values: readonly number[], index: number): number {
	return values[index] ?? Number.NaN;
}
