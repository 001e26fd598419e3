/** A hundred viewers that stopped reading: their cost, and their effect on other readers. */

import { type Case, ratio, type Variant } from "../case.ts";
import type { StalledInput } from "../programs/stalled.ts";

const READERS = 100;
/** Each may hold its last piece, and output in flight. */
const MOST_GROWTH_MIB = 100;

export function stalledCase(isQuick: boolean): Case {
	const keys = isQuick ? 300 : 1000;
	const variant = (name: string, home: StalledInput["home"], readers: number): Variant => ({
		name,
		measure: (workshop) => {
			const file = workshop.payload("flood", 16).path;
			return workshop.child("stalled", { home, readers, keys, file }, { flags: ["--expose-gc"] });
		},
	});
	const homes = ["in process", "keeper"];
	return {
		name: "stalled",
		title: `${READERS} live readers that stopped reading a flooding session`,
		note: "`cat` in a loop with an active lossless reader; the others stopped one after the other, each at another place; another session echoes keys meanwhile, timed inside the server",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "rate", title: "active reader MB/s", digits: 1 },
			{ key: "longestStall", title: "its longest wait ms", digits: 1 },
			{ key: "p50", title: "echo p50 µs", digits: 0 },
			{ key: "p99", title: "echo p99 µs", digits: 0 },
			{ key: "grown", title: "server's RSS grown by MiB", digits: 1 },
			{ key: "leaked", title: "and then by MiB", digits: 1 },
		],
		bars: homes.flatMap((home) => [
			{
				title: `${home}, active reader's MB/s to none stalled`,
				value: ratio("rate", `${home}, ${READERS} stalled`, `${home}, none`),
				digits: 2,
				atLeast: 0.8,
			},
			{
				title: `${home}, RSS grown by MiB`,
				value: (round) => round(`${home}, ${READERS} stalled`, "grown"),
				digits: 1,
				atMost: MOST_GROWTH_MIB,
			},
			{
				title: `${home}, echo p99 ms beside ${READERS} stalled`,
				value: (round) => round(`${home}, ${READERS} stalled`, "p99") / 1000,
				digits: 2,
				atMost: 10,
			},
		]),
		variants: [
			variant("in process, none", "process", 0),
			variant(`in process, ${READERS} stalled`, "process", READERS),
			variant("keeper, none", "keeper", 0),
			variant(`keeper, ${READERS} stalled`, "keeper", READERS),
		],
	};
}
