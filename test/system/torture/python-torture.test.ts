/** The Python client over failing connections: no byte is lost, duplicated or reordered. */

import { expect, onTestFinished, test } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { PythonEcho } from "../../support/python.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { torture } from "./support/sdk-torture.ts";

const CUTS = Number(process.env.CUTS ?? 40);
const KILLS = Number(process.env.KILLS ?? 2);

test(
	`${CUTS} broken connections and ${KILLS} killed servers lose, duplicate and reorder no byte in either direction`,
	async () => {
		const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
		console.info(`seed ${seed}: repeat with SEED=${seed}`);
		const server = new CrashingServer(await temporaryDirectory());
		onTestFinished(() => server.killAll());
		await server.start();
		const result = await torture({ server, seed, cuts: CUTS, kills: KILLS, echo: (task) => new PythonEcho(task) });
		console.info(JSON.stringify(result));
		expect(result.received).toBe(result.sent);
		expect(result.sent).toBeGreaterThan(CUTS * 100);
		expect(result.resizes).toBeGreaterThan(0);
		expect(result.reconnects).toBeGreaterThan(CUTS / 2);
	},
	Math.max(60_000, CUTS * 240),
);
