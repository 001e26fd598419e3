// @module-tag slow

/** The SDK over failing connections: no byte is lost, duplicated or reordered, however often and however they break. */

import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { torture } from "./support/sdk-torture.ts";

const CUTS = Number(process.env.CUTS ?? 1_000);
const KILLS = Number(process.env.KILLS ?? 10);

test(
	`${CUTS} broken connections and ${KILLS} killed servers lose, duplicate and reorder no byte in either direction`,
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
