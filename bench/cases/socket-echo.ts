/** Round-trip time of a key over the network, alone and next to a flooding session. */

import { join } from "node:path";
import { type Bar, type Case, ratio, type Sample, type Variant } from "../case.ts";
import type { HomeKind } from "../homes.ts";
import { serving } from "../served.ts";
import { ttyd, ttydVariant, withTtyd } from "../ttyd.ts";
import type { Workshop } from "../workshop.ts";
import { besideFlood, floodArgv, measured, type Target } from "../ws-client.ts";

type Flood = "none" | "yes" | "cat";

const KEYS = { full: 1000, quick: 300 };
const FLOOD_MEGABYTES = 16;
const ECHO = "stty raw -echo; printf READY; exec cat";

const P50_MS = 1;
const P99_MS = 10;

export function socketEchoCase(isQuick: boolean): Case {
	const keys = isQuick ? KEYS.quick : KEYS.full;
	const ours = (name: string, home: HomeKind, flood: Flood): Variant => ({
		name,
		measure: (workshop) => measureOurs(workshop, home, { flood, keys }),
	});
	const homes = ["in process", "keeper"];
	return {
		name: "socket-echo",
		title: "One key over a WebSocket to `cat` on a raw terminal and back",
		note: `${keys} keys at random moments, up to 2 ms apart, typed by a C client; the flooding session lives in the same place and has a lossless reader of its own`,
		rounds: { full: 2, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 µs", digits: 0 },
			{ key: "p99", title: "p99 µs", digits: 0 },
			{ key: "max", title: "max µs", digits: 0 },
			{ key: "floodRate", title: "flood MB/s", digits: 1 },
		],
		bars: [
			...homes.flatMap((home) => ["yes", "cat"].flatMap((flood) => floodBars(`${home}, beside ${flood}`))),
			...withTtyd(ttydBars),
		],
		variants: [
			{ name: "C alone, no network", measure: (workshop) => workshop.limit("echo", keys) },
			ours("in process", "process", "none"),
			ours("in process, beside yes", "process", "yes"),
			ours("in process, beside cat", "process", "cat"),
			ours("keeper", "keeper", "none"),
			ours("keeper, beside yes", "keeper", "yes"),
			ours("keeper, beside cat", "keeper", "cat"),
			...ttydVariant("ttyd", (workshop) => measureTtyd(workshop, { flood: "none", keys })),
			...ttydVariant("ttyd, beside cat", (workshop) => measureTtyd(workshop, { flood: "cat", keys })),
		],
	};
}

function floodBars(variant: string): Bar[] {
	return [
		{ title: `${variant}, p50 ms`, value: (round) => round(variant, "p50") / 1000, digits: 2, atMost: P50_MS },
		{ title: `${variant}, p99 ms`, value: (round) => round(variant, "p99") / 1000, digits: 2, atMost: P99_MS },
	];
}

const ttydBars: readonly Bar[] = [
	{ title: "in process, p50 to ttyd", value: ratio("p50", "in process", "ttyd"), digits: 2, atMost: 1.7 },
	{ title: "keeper, p50 to ttyd", value: ratio("p50", "keeper", "ttyd"), digits: 2, atMost: 3 },
];

type Typing = { readonly flood: Flood; readonly keys: number };

function measureOurs(workshop: Workshop, home: HomeKind, { flood, keys }: Typing): Promise<Sample> {
	return serving(workshop, async (server) => {
		const file = workshop.payload("flood", FLOOD_MEGABYTES).path;
		const echo = await server.create(home, { command: ECHO });
		if (flood === "none") return type(workshop, echo.target, keys);
		const { target } = await server.create(home, { argv: floodArgv(flood, file) });
		return besideFlood(workshop, target, () => type(workshop, echo.target, keys));
	});
}

/** ttyd runs the same program for all connections: the first one floods. */
function measureTtyd(workshop: Workshop, { flood, keys }: Typing): Promise<Sample> {
	const file = workshop.payload("flood", FLOOD_MEGABYTES).path;
	const script = `if mkdir "$0" 2>/dev/null; then while :; do cat "$1"; done; else ${ECHO}; fi`;
	const argv = flood === "none" ? [ECHO] : [script, join(workshop.newSite(), "taken"), file];
	return ttyd(["/bin/sh", "-c", ...argv], ({ target }) => {
		const typing = () => type(workshop, target, keys);
		return flood === "none" ? typing() : besideFlood(workshop, target, typing);
	});
}

async function type(workshop: Workshop, target: Target, keys: number): Promise<Sample> {
	const { p50 = Number.NaN, p99 = Number.NaN, max = Number.NaN } = await measured(workshop, target, ["keys", keys]);
	return { p50, p99, max };
}
