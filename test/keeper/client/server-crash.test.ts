// @module-tag slow

/** Nothing is lost, duplicated or reordered in either direction, wherever the server is killed. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { EchoStream, randomOf } from "../../system/torture/support/echo-stream.ts";

const KILLS = 30;
/** The server is killed at each of these; other kills happen at random moments. */
const POINTS = ["input.received", "input.accepted", "output.delivered", "adopt.connected"];

test(`a server killed ${KILLS} times, at random and at named points, loses no byte of a stream in either direction`, async () => {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	console.info(`seed ${seed}: repeat with SEED=${seed}`);
	const random = randomOf(seed);
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	const token = await server.token();
	const echo = new EchoStream(() => ({ url: server.url, token }), random);
	await echo.start();

	const crashed = new Set<string>();
	for (let kill = 0; kill < KILLS; kill++) {
		const before = echo.received;
		const point = POINTS[kill % (2 * POINTS.length)];
		await server.kill();
		if (point === undefined) {
			await server.start();
			// A random position in the traffic, not a random time.
			await echo.reach(before + random(256 * 1024));
		} else {
			await server.start({ crashAt: point, crashAfter: point === "adopt.connected" ? 1 : 1 + random(20) });
			await server.dead();
			crashed.add(point);
		}
	}
	await server.kill();
	await server.start();
	await echo.finish();
	expect([...crashed].sort()).toEqual([...POINTS].sort());
	expect(echo.received).toBe(echo.sent);
	expect(echo.received).toBeGreaterThan(KILLS * 1024);
	console.info(`${echo.received} bytes each way over ${KILLS} kills`);

	await fetch(`${server.url}/v1/sessions/${echo.id}`, {
		method: "DELETE",
		headers: { authorization: `Bearer ${token}` },
	});
	await server.kill();
}, 240_000);

test.each([
	{ crashAt: "create.sent", found: 0 },
	{ crashAt: "create.opened", found: 1 },
])(
	"a server killed at $crashAt leaves a session that the next one finds, or none at all",
	async ({ crashAt, found }) => {
		const server = new CrashingServer(await temporaryDirectory());
		await server.start({ crashAt, crashAfter: 1 });
		const headers = { authorization: `Bearer ${await server.token()}` };
		const body = JSON.stringify({ command: "printf up; exec cat" });
		const create = fetch(`${server.url}/v1/sessions`, {
			method: "POST",
			headers: { ...headers, "content-type": "application/json" },
			body,
		});
		await expect(create).rejects.toThrow();
		await server.dead();
		await server.start();
		const list = async () =>
			(
				(await (await fetch(`${server.url}/v1/sessions`, { headers })).json()) as {
					sessions: { id: string; state: string }[];
				}
			).sessions;
		const sessions = await list();
		expect(sessions.map(({ state }) => state)).toEqual(Array.from({ length: found }, () => "running"));
		for (const { id } of sessions) {
			const output = await fetch(`${server.url}/v1/sessions/${id}/output?wait=10000`, { headers });
			expect(await output.text()).toBe("up");
			expect((await fetch(`${server.url}/v1/sessions/${id}`, { method: "DELETE", headers })).status).toBe(204);
		}
		expect(await list()).toEqual([]);
		expect(await readdir(join(server.stateDir, "sessions"))).toEqual([]);
		await server.kill();
	},
);
