/** Nothing is lost, doubled or reordered between the SDK and a program, however often and however the way between them breaks. */

import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { torture } from "../helpers/sdk-torture.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

const CUTS = Number(process.env.CUTS ?? 1_000);
const KILLS = Number(process.env.KILLS ?? 10);

test(
	`${CUTS} broken connections and ${KILLS} killed servers lose, double and reorder no byte in either direction`,
	async () => {
		const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
		console.info(`seed ${seed}: repeat with SEED=${seed}`);
		const server = new CrashingServer(await temporaryDirectory());
		onTestFinished(() => server.killAll());
		await server.start();
		const result = await torture({ server, seed, cuts: CUTS, kills: KILLS });
		console.info(JSON.stringify(result));
		expect(result.received).toBe(result.sent);
		expect(result.sent).toBeGreaterThan(CUTS * 100);
		expect(result.resizes).toBeGreaterThan(0);
		for (const count of Object.values(result.faults)) expect(count).toBeGreaterThan(0);
	},
	Math.max(120_000, CUTS * 120),
);
