/** Time of a start, and how long it blocks the event loop. */

import type { Case, Variant } from "../case.ts";
import type { BlockInput } from "../programs/block.ts";
import type { StartInput } from "../programs/start.ts";

const times = [
	{ key: "p50", title: "p50 ms", digits: 2 },
	{ key: "p99", title: "p99 ms", digits: 2 },
	{ key: "max", title: "max ms", digits: 2 },
];

export function startCase(isQuick: boolean): Case {
	const variant = (name: string, input: StartInput): Variant => ({
		name,
		measure: (workshop) => workshop.child("start", input),
	});
	const keeperRuns = isQuick ? 10 : 30;
	return {
		name: "start",
		title: "From the request to the first byte of `echo hi`",
		note: "one after the other; a cold keeper is a new process, a spare was waiting (and its successor is being started meanwhile)",
		rounds: { full: 3, quick: 1 },
		metrics: times,
		bars: [],
		variants: [
			variant("in process", { home: "process", journal: false, spares: 0, runs: 300 }),
			variant("keeper, spare", { home: "keeper", journal: true, spares: 1, runs: keeperRuns }),
			variant("keeper, cold", { home: "keeper", journal: true, spares: 0, runs: keeperRuns }),
		],
	};
}

export function blockCase(): Case {
	const variant = (name: string, input: BlockInput): Variant => ({
		name,
		measure: (workshop) => workshop.child("block", input),
	});
	return {
		name: "block",
		title: "How long starting a program blocks the event loop",
		note: "`true` on a terminal, 300 times; the heap is half objects, half retained bytes",
		rounds: { full: 3, quick: 1 },
		metrics: times,
		bars: [
			{
				title: "with 500 MB of heap, p50 ms",
				value: (round) => round("500 MB of heap", "p50"),
				digits: 2,
				atMost: 0.5,
			},
		],
		variants: [
			variant("empty heap", { megabytes: 0, runs: 300 }),
			variant("500 MB of heap", { megabytes: 500, runs: 300 }),
		],
	};
}
