/** Round-trip time of a key, alone and next to a flooding session. */

import type { Bar, Case, Sample, Variant } from "../case.ts";
import type { EchoInput } from "../programs/echo.ts";
import type { Workshop } from "../workshop.ts";

const KEYS = { full: 1500, quick: 500 };
const FLOOD_MEGABYTES = 16;

const P50_MS = 1;
const P99_MS = 10;

export function echoCase(isQuick: boolean): Case {
	const keys = isQuick ? KEYS.quick : KEYS.full;
	const bare: Variant = { name: "C alone", measure: (workshop) => workshop.limit("echo", keys) };
	const ours = (name: string, home: EchoInput["home"], flood: EchoInput["flood"]): Variant => ({
		name,
		measure: (workshop) => measure(workshop, { home, flood, keys }),
	});
	const flooded = ["in process, beside yes", "in process, beside cat", "keeper, beside yes", "keeper, beside cat"];
	return {
		name: "echo",
		title: "One key to `cat` on a raw terminal and back",
		note: `${keys} keys at random moments, up to 2 ms apart, typed by a C program: directly on a terminal, or over a Unix socket to the server (which adds that hop to all but the first line)`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 µs", digits: 0 },
			{ key: "p99", title: "p99 µs", digits: 0 },
			{ key: "max", title: "max µs", digits: 0 },
			{ key: "floodRate", title: "flood MB/s", digits: 1 },
		],
		bars: ["in process", "keeper", ...flooded].flatMap(barsOf),
		variants: [
			bare,
			ours("in process", "process", "none"),
			ours("in process, beside yes", "process", "yes"),
			ours("in process, beside cat", "process", "cat"),
			ours("keeper", "keeper", "none"),
			ours("keeper, beside yes", "keeper", "yes"),
			ours("keeper, beside cat", "keeper", "cat"),
		],
	};
}

function barsOf(variant: string): Bar[] {
	return [
		{ title: `${variant}, p50 ms`, value: (round) => round(variant, "p50") / 1000, digits: 2, atMost: P50_MS },
		{ title: `${variant}, p99 ms`, value: (round) => round(variant, "p99") / 1000, digits: 2, atMost: P99_MS },
	];
}

async function measure(workshop: Workshop, how: Omit<EchoInput, "file"> & { readonly keys: number }): Promise<Sample> {
	const { keys, ...input } = how;
	const file = workshop.payload("flood", FLOOD_MEGABYTES).path;
	let typing: Promise<Sample> | undefined;
	const { floodRate = 0 } = await workshop.child<Sample>(
		"echo",
		{ ...input, file },
		{
			onLine: (line) => {
				typing ??= workshop.limit("keys", line, keys);
				// Awaited below, once the child has ended.
				typing.catch(() => {});
			},
		},
	);
	const times = await typing;
	return { ...times, ...(input.flood === "none" ? {} : { floodRate }) };
}
