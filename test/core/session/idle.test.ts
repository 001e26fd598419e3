import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually, itemsUntil, outputUntil, write } from "../../support/reading.ts";
import { type StartOptions, shell, startOf } from "../../support/starts.ts";

const MINUTE_MS = 60_000;

function place(): { clock: FakeClock; start: (what: ReturnType<typeof shell>) => Promise<Session> } {
	const clock = new FakeClock();
	const home = inProcess({ spawn, clock });
	const start = async (what: ReturnType<typeof shell>) => {
		const session = await home.start(what);
		onTestFinished(() => session.kill({ signal: "SIGKILL" }));
		return session;
	};
	return { clock, start };
}

const quiet = (options: StartOptions = {}) => shell("stty -echo; echo ready; exec sleep 1000", options);

test("one timer checks all sessions of a process, and none is left when they have ended", async () => {
	const { clock, start } = place();
	const all = await Promise.all(
		Array.from({ length: 20 }, (_, index) => start(quiet({ idleTimeoutMs: MINUTE_MS + index }))),
	);
	await Promise.all(all.map((session) => outputUntil(session, /ready/)));
	expect(clock.pending).toBe(1);
	clock.advance(2 * MINUTE_MS);
	expect(clock.pending).toBe(0);
	await Promise.all(all.map((session) => itemsUntil(session, { offset: 0 })));
	for (const { state } of all) expect(state.exit).toMatchObject({ reason: "idle" });
});

test("a session that ends by itself leaves no timer", async () => {
	const { clock, start } = place();
	const session = await start(shell("read line", { idleTimeoutMs: MINUTE_MS }));
	expect(clock.pending).toBe(1);
	await write(session, "\n");
	await itemsUntil(session, { offset: 0 });
	expect(clock.pending).toBe(0);
	expect(session.state.exit).toEqual({ code: 0, signal: null });
});

test("M14: accepted input keeps a session alive; a repeat of it and a resize do not", async () => {
	const { clock, start } = place();
	const session = await start(quiet({ idleTimeoutMs: MINUTE_MS }));
	// The line's end may follow the line, and is output as well.
	await outputUntil(session, /ready\r\n/);
	const origin = { stream: "keys", position: 0 };
	clock.advance(50_000);
	await session.act({ kind: "write", bytes: Buffer.from("x") }, { origin });
	clock.advance(50_000);
	expect(clock.pending).toBe(1);
	await session.act({ kind: "write", bytes: Buffer.from("x") }, { origin });
	await session.act({ kind: "resize", size: { cols: 100, rows: 30 } });
	clock.advance(10_000);
	expect(clock.pending).toBe(0);
	await itemsUntil(session, { offset: 0 });
	expect(session.state.exit).toMatchObject({ reason: "idle" });
});

test("a foreground job of a shell can be exempt until it ends", async () => {
	const { clock, start } = place();
	const session = await start(
		startOf(["bash", "--norc", "-i"], { idleTimeoutMs: MINUTE_MS, idleExemptJobs: true, cwd: "/" }),
	);
	const hasJob = async () => (await session.info()).terminal?.hasJob;
	await write(session, "sleep 1000\n");
	await eventually("the job", hasJob);
	for (let i = 0; i < 3; i++) clock.advance(MINUTE_MS);
	expect(clock.pending).toBe(1);
	await eventually("the prompt", async () => {
		if ((await hasJob()) === false) return true;
		// Sent once, it may arrive while the shell's child still ignores it.
		await session.act({ kind: "signal", signal: "SIGINT" });
		return false;
	});
	await write(session, "echo again; sleep 1000 &\n");
	await outputUntil(session, /\[1\] \d+/);
	// A background job does not count.
	await eventually("the prompt", async () => (await hasJob()) === false);
	clock.advance(2 * MINUTE_MS);
	await itemsUntil(session, { offset: 0 });
	expect(session.state.exit).toMatchObject({ reason: "idle" });
});

test("without the exemption a silent job is idle", async () => {
	const { clock, start } = place();
	const session = await start(startOf(["bash", "--norc", "-i"], { idleTimeoutMs: MINUTE_MS }));
	await write(session, "sleep 1000\n");
	await eventually("the job", async () => (await session.info()).terminal?.hasJob);
	clock.advance(2 * MINUTE_MS);
	await itemsUntil(session, { offset: 0 });
	expect(session.state.exit).toMatchObject({ reason: "idle" });
});
