import { describe, expect, it, onTestFinished } from "vitest";
import { openSite } from "../helpers/budget/sites.ts";
import { costsOf, trials } from "../helpers/budget/worst-clients.ts";
import { killKeepers } from "../helpers/crashing-server.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

const root = new URL("../../", import.meta.url);

/** Each for a moment; the benchmarks `budget-…` do it for longer, and are strict about time. */
const TRIAL_MS = 800;
/** What is stated in docs/security.md. */
const MOST_SERVER_MIB = 512;
const MOST_KEEPER_MIB = 256;
/** A machine that has other things to do must not fail here. */
const MOST_LIST_MS = 15_000;
const MOST_ECHO_MS = 10_000;

describe("whatever they do, callers cost what is stated and nobody else their session", () => {
	const brief = trials.filter(({ isBrief }) => isBrief);
	it.each(brief.map((trial) => [`${trial.at}: ${trial.who} ${trial.does}`, trial] as const))(
		"at %s",
		async (_, trial) => {
			const directory = await temporaryDirectory();
			const site = await openSite(trial.at, directory, root);
			onTestFinished(async () => {
				await site.kill();
				await killKeepers(directory);
			});
			const costs = await costsOf(site, trial, TRIAL_MS, root);
			expect(costs.server).toBeLessThan(MOST_SERVER_MIB);
			expect(costs.keepers).toBeLessThan(MOST_KEEPER_MIB);
			expect(costs.listMs).toBeLessThan(MOST_LIST_MS);
			expect(costs.echoP99Ms).toBeLessThan(MOST_ECHO_MS);
		},
		60_000,
	);
});
