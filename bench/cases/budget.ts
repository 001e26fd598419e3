/** The worst that each kind of caller was found to do: what it costs, and what those who are in notice of it. */

import { fileURLToPath } from "node:url";
import { costsOf, trials } from "../../test/helpers/worst-clients.ts";
import type { Case } from "../case.ts";
import { serving } from "../served.ts";

/** Beside the sources; this runs from dist-bench/bench/cases. */
const program = fileURLToPath(new URL("../../../test/fixtures/worst-client.js", import.meta.url));
const TRIAL_MS = { full: 30_000, quick: 2_000 };

/** As docs/security.md states it. */
const bars = [
	{ metric: "server", title: "server's RSS MiB", atMost: 512 },
	{ metric: "keepers", title: "largest keeper's RSS MiB", atMost: 256 },
	{ metric: "listMs", title: "longest wait for the list ms", atMost: 1_000 },
	{ metric: "echoP99Ms", title: "echo p99 ms", atMost: 100 },
] as const;

export function budgetCase(isQuick: boolean): Case {
	const ms = TRIAL_MS[isQuick ? "quick" : "full"];
	const worst = trials.map((trial) => ({ name: `${trial.who} ${trial.does}`, trial }));
	return {
		name: "budget",
		title: "The worst clients of each kind",
		note: `each for ${ms / 1000} s on a server of its own, from a process of its own that comes back whenever it is cut off; meanwhile the operator asks for the list of sessions on a new connection every time, and another session in a keeper echoes keys`,
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
			measure: (workshop) =>
				serving(workshop, ({ target: { port, token }, pid }) =>
					costsOf({ url: `http://127.0.0.1:${port}`, token, pid }, trial, ms, program),
				),
		})),
	};
}
