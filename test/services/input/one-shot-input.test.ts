import { afterAll, beforeAll, expect, it } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { writeInput } from "../../../src/fronts/native/input/write.ts";
import { startOf } from "../../support/starts.ts";

/** More than a session remembers. */
const MANY = 16_500;

let session: LocalSession;
beforeAll(async () => {
	const argv = ["/bin/sh", "-c", "exec cat >/dev/null"];
	session = await LocalSession.start(startOf(argv, { mode: "pipe" }), { spawn, clock: systemClock });
});
afterAll(() => session.kill({ signal: "SIGKILL" }));

it("requests without a key leave no stream behind, however many there are", async () => {
	const { signal } = new AbortController();
	const origin = { stream: "resting", position: 0 };
	await writeInput(session, { bytes: new Uint8Array(1), origin, untilWritten: true }, signal);
	for (let i = 0; i < MANY; i++) {
		const write = { bytes: new Uint8Array(1), untilWritten: true };
		expect((await writeInput(session, write, signal)).written).toBe(1);
	}
	const key = { bytes: new Uint8Array(1), origin: { ...origin, position: 1 }, untilWritten: true };
	expect(await writeInput(session, key, signal)).toEqual({ next: 2, written: 2, from: 0 });
});
