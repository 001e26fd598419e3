/** Types of a benchmark: variants measured side by side in rounds, and the bars they have to reach. */

import type { Workshop } from "./workshop.ts";

/** The result of one measurement, by metric. */
export type Sample = Readonly<Record<string, number>>;

export type Metric = {
	readonly key: string /** Includes the unit. */;
	readonly title: string;
	readonly digits: number;
};

export type Variant = {
	readonly name: string;
	measure(workshop: Workshop): Promise<Sample>;
};

/** The value of a variant's metric in one round. */
export type Round = (variant: string, metric: string) => number;

export type Bar = {
	readonly title: string;
	/** Computed within one round: absolute values drift over minutes, ratios hardly do. */
	readonly value: (round: Round) => number;
	readonly digits: number;
	readonly atLeast?: number;
	readonly atMost?: number;
	/** Judged by the worst round instead of the median one. */
	readonly isStrict?: boolean;
};

export type Case = {
	readonly name: string;
	readonly title: string;
	/** Method of measurement, for the report. */
	readonly note: string;
	readonly rounds: { readonly full: number; readonly quick: number };
	readonly metrics: readonly Metric[];
	readonly bars: readonly Bar[];
	readonly variants: readonly Variant[];
};

/** A ratio of one metric between two variants. */
export function ratio(metric: string, variant: string, peer: string): (round: Round) => number {
	return (round) => round(variant, metric) / round(peer, metric);
}
