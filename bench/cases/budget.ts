/** The worst that each kind of caller was found to do: what it costs, and what those who are in notice of it. */

import { openSite, type Place } from "../../test/helpers/budget/sites.ts";
import { type Costs, costsOf, type Trial, trials } from "../../test/helpers/budget/worst-clients.ts";
import type { Case } from "../case.ts";
import { sweep } from "../homes.ts";
import type { Workshop } from "../workshop.ts";

/** The repository; this runs from dist-bench/bench/cases. */
const root = new URL("../../../", import.meta.url);
const TRIAL_MS = { full: 30_000, quick: 2_000 };

/** As docs/security.md states it. */
const bars = [
	{ metric: "server", title: "server's RSS MiB", atMost: 512 },
	{ metric: "keepers", title: "largest keeper's RSS MiB", atMost: 256 },
	{ metric: "listMs", title: "longest wait for the list ms", atMost: 1_000 },
	{ metric: "echoP99Ms", title: "echo p99 ms", atMost: 100 },
] as const;

/** One for each listener, so that they can be measured one by one: all of them take the better part of an hour. */
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
