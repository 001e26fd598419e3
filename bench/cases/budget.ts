/** The worst known behavior of each kind of caller: its cost, and its effect on other clients. */

import { openSite, type Place } from "../../test/system/security/support/sites.ts";
import { type Costs, costsOf, type Trial, trials } from "../../test/system/security/support/worst-clients.ts";
import type { Case } from "../case.ts";
import { sweep } from "../homes.ts";
import type { Workshop } from "../workshop.ts";

/** The repository root; this file runs from dist-bench/bench/cases. */
const root = new URL("../../../", import.meta.url);
const TRIAL_MS = { full: 30_000, quick: 2_000 };

/** As in docs/security.md. */
const bars = [
	{ metric: "server", title: "server's RSS MiB", atMost: 512 },
	{ metric: "keepers", title: "largest keeper's RSS MiB", atMost: 256 },
	{ metric: "listMs", title: "longest wait for the list ms", atMost: 1_000 },
	{ metric: "echoP99Ms", title: "echo p99 ms", atMost: 100 },
] as const;

/** One case per listener, so that they can run separately: all of them take most of an hour. */
export function budgetCases(isQuick: boolean): Case[] {
	const places = [...new Set(trials.map(({ at }) => at))];
	return places.map((place) => budgetCase(place, isQuick));
}

function budgetCase(place: Place, isQuick: boolean): Case {
	const ms = TRIAL_MS[isQuick ? "quick" : "full"];
	const worst = trials.filter(({ at }) => at === place).map((trial) => ({ name: `${trial.who} ${trial.does}`, trial }));
	return {
		name: `budget-${place.toLowerCase().replaceAll(" ", "-")}`,
		title: `The worst clients of each kind at ${place}`,
		note: `each for ${ms / 1000} s on a server of its own, from a process of its own that comes back whenever it is cut off; meanwhile the operator asks for the list of sessions on a new connection every time, by the port and by the socket, and another session in a keeper echoes keys; at Codex's servers another client says hello on a new connection, and a program of its own echoes`,
		rounds: { full: 1, quick: 1 },
		metrics: bars.map(({ metric, title }) => ({ key: metric, title, digits: 0 })),
		bars: bars.map(({ metric, title, atMost }) => ({
			title,
			value: (round) => Math.max(...worst.map(({ name }) => round(name, metric))),
			digits: 0,
			atMost,
			isStrict: true,
		})),
		variants: worst.map(({ name, trial }) => ({
			name,
			measure: (workshop) => measure(workshop, trial, ms),
		})),
	};
}

async function measure(workshop: Workshop, trial: Trial, ms: number): Promise<Costs> {
	const directory = workshop.newSite();
	const site = await openSite(trial.at, directory, root);
	try {
		return await costsOf(site, trial, ms, root);
	} finally {
		await site.kill();
		await sweep(directory);
	}
}
