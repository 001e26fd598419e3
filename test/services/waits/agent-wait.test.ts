/** Waits for input while a coding agent is in front. */

import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { waitFor } from "../../../src/services/waits/wait.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

/** Reports the body of each line that it reads. The kernel sees it wait for the next one at once. */
const REPORTER = `stty -echo; printf ready; while IFS= read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;

async function start(script = REPORTER): Promise<{ readonly session: Session; readonly agents: Agents }> {
	const session = await LocalSession.start(shell(script), { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ signal: "SIGKILL" }));
	const agents = new Agents({
		sessions: { get: () => session },
		attachments: new Attachments(),
		now: Date.now,
		report: (problem) => {
			throw problem;
		},
	});
	onTestFinished(() => agents.close());
	await outputUntil(session, /ready/);
	return { session, agents };
}

function waitForInput(session: Session, agents: Agents | undefined, from: number) {
	const { signal } = new AbortController();
	return waitFor(session, { input: true }, { from, timeoutMs: 20_000, signal, agents });
}

test.each(["done", "idle", "error", "blocked"])(
	"a turn that goes on is no wait for input, and %s is one",
	async (state) => {
		const { session, agents } = await start();
		await write(session, "state=working:app=x\n");
		await eventually("work", async () => (await agents.read(session))?.state === "working");
		const { offset } = await session.end();
		let isOver = false;
		const waiting = waitForInput(session, agents, offset).finally(() => {
			isOver = true;
		});
		// Without its agents the session waits for input now.
		expect(await waitForInput(session, undefined, offset)).toBe("input");
		expect(isOver).toBe(false);
		await write(session, `state=${state}:app=x\n`);
		expect(await waiting).toBe("input");
	},
);

test("an agent that has not begun its turn yet does not end the wait", async () => {
	const { session, agents } = await start();
	await write(session, "state=idle:app=x\n");
	await eventually("an idle agent", async () => (await agents.read(session))?.state === "idle");
	const { offset } = await session.end();
	const waiting = waitForInput(session, agents, offset);
	expect(await waitForInput(session, undefined, offset)).toBe("input");
	await write(session, "state=working:app=x\n");
	await eventually("work", async () => (await agents.read(session))?.state === "working");
	await write(session, "state=done:app=x\n");
	expect(await waiting).toBe("input");
});

test("the kernel decides about a program that is no agent", async () => {
	const { session, agents } = await start("printf 'ready? '; read x");
	expect(await waitForInput(session, agents, 0)).toBe("input");
});

test("an agent that works in silence does not end a wait for input or silence", async () => {
	const { session, agents } = await start();
	await write(session, "state=working:app=x\n");
	await eventually("work", async () => (await agents.read(session))?.state === "working");
	const { offset } = await session.end();
	const { signal } = new AbortController();
	const options = { from: offset, timeoutMs: 20_000, signal, agents };
	const waiting = waitFor(session, { input: true, idleMs: 10 }, options);
	// Silence alone is what its caller asked for.
	expect(await waitFor(session, { idleMs: 200 }, options)).toBe("idle");
	await write(session, "state=done:app=x\n");
	expect(["input", "idle"]).toContain(await waiting);
	expect((await agents.read(session))?.state).toBe("done");
});
