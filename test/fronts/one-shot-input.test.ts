import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import { deliver } from "../../src/fronts/native/input.ts";
import { startOf } from "../helpers/starts.ts";

/** More than a session remembers. */
const MANY = 16_500;

let session: LocalSession;
beforeAll(async () => {
	const argv = ["/bin/sh", "-c", "exec cat >/dev/null"];
	session = await LocalSession.start(startOf(argv, { mode: "pipe" }), { spawn, clock: systemClock });
});
afterAll(() => session.kill({ signal: "SIGKILL" }));

it("any number of requests that wait without a key leave no stream behind", async () => {
	const { signal } = new AbortController();
	const origin = { stream: "resting", position: 0 };
	await deliver(session, { bytes: new Uint8Array(1), origin, isWaiting: true }, signal);
	for (let i = 0; i < MANY; i++) {
		const delivery = { bytes: new Uint8Array(1), origin: undefined, isWaiting: true };
		expect((await deliver(session, delivery, signal)).written).toBe(1);
	}
	const key = { bytes: new Uint8Array(1), origin: { ...origin, position: 1 }, isWaiting: true };
	expect(await deliver(session, key, signal)).toEqual({ next: 2, written: 2 });
});
