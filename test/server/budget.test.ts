import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { costsOf, trials } from "../helpers/worst-clients.ts";

const program = fileURLToPath(new URL("../fixtures/worst-client.js", import.meta.url));

/** Each for a moment; the benchmark `budget` does it for longer, and is strict about time. */
const TRIAL_MS = 1_500;
/** What is stated in docs/security.md. */
const MOST_SERVER_MIB = 512;
const MOST_KEEPER_MIB = 256;
/** A machine that has other things to do must not fail here. */
const MOST_LIST_MS = 15_000;
const MOST_ECHO_MS = 10_000;

describe("whatever they do, callers cost what is stated and nobody else their session", () => {
	it.each(trials.map((trial) => ({ ...trial, title: `${trial.who} ${trial.does}` })))(
		"$title",
		async (trial) => {
			const server = new CrashingServer(await temporaryDirectory());
			onTestFinished(() => server.killAll());
			await server.start();
			const site = { url: server.url, token: await server.token(), pid: server.pid };
			const costs = await costsOf(site, trial, TRIAL_MS, program);
			expect(costs.server).toBeLessThan(MOST_SERVER_MIB);
			expect(costs.keepers).toBeLessThan(MOST_KEEPER_MIB);
			expect(costs.listMs).toBeLessThan(MOST_LIST_MS);
			expect(costs.echoP99Ms).toBeLessThan(MOST_ECHO_MS);
		},
		60_000,
	);
});
