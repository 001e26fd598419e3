// @module-tag slow

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { killKeepers } from "../../support/crashing-server.ts";
import { openSite, type Site } from "./support/sites.ts";
import { costsOf, trials } from "./support/worst-clients.ts";

const root = new URL("../../../", import.meta.url);

/** Each trial is brief here. The benchmarks `budget-…` run longer and with strict time limits. */
const TRIAL_MS = 300;
/** The limits stated in docs/security/trials.md. */
const MOST_SERVER_MIB = 512;
const MOST_KEEPER_MIB = 256;
/** Wide enough to pass on a busy machine. */
const MOST_LIST_MS = 15_000;
const MOST_ECHO_MS = 10_000;

const brief = trials.filter(({ isBrief }) => isBrief);
const places = [...new Set(brief.map(({ at }) => at))];

/** One after the other on the same server: memory that one trial leaves behind counts for the next. */
describe.each(places)("callers stay within the stated costs and leave other sessions usable at %s", (place) => {
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
