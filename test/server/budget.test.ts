import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSite, type Site } from "../helpers/budget/sites.ts";
import { costsOf, trials } from "../helpers/budget/worst-clients.ts";
import { killKeepers } from "../helpers/crashing-server.ts";

const root = new URL("../../", import.meta.url);

/** Each for a moment; the benchmarks `budget-…` do it for longer, and are strict about time. */
const TRIAL_MS = 700;
/** What is stated in docs/security.md. */
const MOST_SERVER_MIB = 512;
const MOST_KEEPER_MIB = 256;
/** A machine that has other things to do must not fail here. */
const MOST_LIST_MS = 15_000;
const MOST_ECHO_MS = 10_000;

const brief = trials.filter(({ isBrief }) => isBrief);
const places = [...new Set(brief.map(({ at }) => at))];

/** One after the other at the same server: what each leaves in its memory counts for the next. */
describe.each(places)("whatever they do, callers cost what is stated and nobody else their session, at %s", (place) => {
	let directory: string;
	let site: Site;
	beforeAll(async () => {
		directory = await mkdtemp(join(tmpdir(), "hawser-budget-"));
		site = await openSite(place, directory, root);
	});
	afterAll(async () => {
		await site.kill();
		await killKeepers(directory);
		await rm(directory, { recursive: true });
	});

	it.each(brief.filter(({ at }) => at === place).map((trial) => [`${trial.who} ${trial.does}`, trial] as const))(
		"%s",
		async (_, trial) => {
			const costs = await costsOf(site, trial, TRIAL_MS, root);
			expect(costs.server).toBeLessThan(MOST_SERVER_MIB);
			expect(costs.keepers).toBeLessThan(MOST_KEEPER_MIB);
			expect(costs.listMs).toBeLessThan(MOST_LIST_MS);
			expect(costs.echoP99Ms).toBeLessThan(MOST_ECHO_MS);
		},
		60_000,
	);
});
