/** What a benchmark is: variants that are measured side by side, in rounds, and the bars they have to reach. */

import type { Workshop } from "./workshop.ts";

/** What one measurement gave, by the name of the metric. */
export type Sample = Readonly<Record<string, number>>;

export type Metric = { readonly key: string /** With its unit. */; readonly title: string; readonly digits: number };

export type Variant = {
	readonly name: string;
	measure(workshop: Workshop): Promise<Sample>;
};

/** Looks up what a variant gave in one round. */
export type Round = (variant: string, metric: string) => number;

export type Bar = {
	readonly title: string;
	/** Computed within one round, because figures drift from minute to minute and ratios hardly do. */
	readonly value: (round: Round) => number;
	readonly digits: number;
	readonly atLeast?: number;
	readonly atMost?: number;
	/** Judged by the worst round instead of the median one: for what must never happen. */
	readonly isStrict?: boolean;
};

export type Case = {
	readonly name: string;
	readonly title: string;
	/** How it was measured, for the reader of the report. */
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
