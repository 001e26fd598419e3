/** Runs all variants of a case in each round, in alternating order. Repeats measurements during which much time was stolen. */

import type { Bar, Case, Metric, Round, Sample } from "./case.ts";
import { load, StealMeter } from "./machine.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import type { Workshop } from "./workshop.ts";

/** Above this share of stolen time, a measurement is repeated. */
const MOST_STEAL = 0.08;
const MOST_REPEATS = 2;

export type BarResult = Spread & {
	readonly title: string;
	readonly digits: number;
	readonly bound: string;
	readonly isReached: boolean;
};

export type CaseResult = {
	readonly name: string;
	readonly title: string;
	readonly note: string;
	readonly date: string;
	readonly rounds: number;
	readonly seconds: number;
	/** Stolen time of the measurements that count. */
	readonly steal: Spread;
	readonly repeats: number;
	/** Load average over one minute before the case: other work on this machine. */
	readonly loadBefore: number;
	readonly metrics: readonly Metric[];
	readonly variants: readonly { readonly name: string; readonly values: Readonly<Record<string, Spread>> }[];
	readonly bars: readonly BarResult[];
};

export async function runCase(bench: Case, rounds: number, workshop: Workshop): Promise<CaseResult> {
	const begin = performance.now();
	const date = new Date().toISOString();
	const loadBefore = load();
	const samples = new Map<string, Sample[]>(bench.variants.map(({ name }) => [name, []]));
	const steals: number[] = [];
	let repeats = 0;
	for (let round = 0; round < rounds; round++) {
		// The order alternates, so that warm-up and wear do not always favor the same variant.
		const order = round % 2 === 0 ? bench.variants : [...bench.variants].reverse();
		for (const variant of order) {
			workshop.say(`${bench.name}: round ${round + 1} of ${rounds}, ${variant.name}`);
			for (let attempt = 0; ; attempt++) {
				const meter = new StealMeter();
				const sample = await variant.measure(workshop);
				const steal = meter.share;
				if (steal > MOST_STEAL && attempt < MOST_REPEATS) {
					repeats++;
					continue;
				}
				steals.push(steal);
				samples.get(variant.name)?.push(sample);
				break;
			}
		}
	}
	const lookUp = (round: number): Round => {
		return (variant, metric) => samples.get(variant)?.[round]?.[metric] ?? Number.NaN;
	};
	return {
		name: bench.name,
		title: bench.title,
		note: bench.note,
		date,
		rounds,
		seconds: (performance.now() - begin) / 1000,
		steal: spreadOf(steals),
		repeats,
		loadBefore,
		metrics: bench.metrics,
		variants: bench.variants.map(({ name }) => ({ name, values: spreads(bench.metrics, samples.get(name) ?? []) })),
		bars: bench.bars.map((bar) =>
			judge(
				bar,
				Array.from({ length: rounds }, (_, round) => bar.value(lookUp(round))),
			),
		),
	};
}

function spreads(metrics: readonly Metric[], samples: readonly Sample[]): Record<string, Spread> {
	const result: Record<string, Spread> = {};
	for (const { key } of metrics) {
		const values = samples.flatMap((sample) => sample[key] ?? []);
		if (values.length > 0) result[key] = spreadOf(values);
	}
	return result;
}

function judge(bar: Bar, values: readonly number[]): BarResult {
	const spread = spreadOf(values);
	const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = bar;
	const [low, high] = bar.isStrict ? [spread.min, spread.max] : [spread.median, spread.median];
	return {
		title: bar.title,
		digits: bar.digits,
		...spread,
		bound: bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`,
		isReached: low >= atLeast && high <= atMost,
	};
}
