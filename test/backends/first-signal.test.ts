/** The first signal of a kill goes once to the processes that exist then; only SIGKILL is repeated. */

import { describe, expect, test } from "vitest";
import { descendants, listProcesses } from "../../src/backends/process-table.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { LocalSession } from "../../src/core/session/local-session.ts";
import { isAlive } from "../support/alive.ts";
import { eventually, itemsUntil, outputUntil, textOf } from "../support/reading.ts";
import { Run } from "../support/run-program.ts";
import { type StartOptions, startOf } from "../support/starts.ts";

/** Longer than a trap's helper needs on a busy machine. */
const GRACE_MS = 20_000;
/** Longer than the minder's first scan intervals. */
const HELPER = "sleep 0.3; sleep 0.3; sh -c 'sleep 0.3; exit 5'; echo helper=\\$?; exit 3";

const shells = ["bash", "dash", "zsh"] as const;
const modes = [
	{ mode: "pty", signal: "HUP", first: undefined },
	{ mode: "pty", signal: "TERM", first: "SIGTERM" },
	{ mode: "pipe", signal: "TERM", first: undefined },
	{ mode: "pipe", signal: "INT", first: "SIGINT" },
] as const;
const cases = shells.flatMap((shell) => modes.map((each) => ({ shell, ...each })));

describe.concurrent("a program started by a trap runs to its end within the grace time", () => {
	test.each(cases)("$shell on a $mode, SIG$signal", async ({ shell, mode, signal, first }) => {
		const script = `trap "${HELPER}" ${signal}; echo ready; while :; do sleep 0.02; done`;
		const run = await Run.start(spawn, [shell, "-c", script], { mode });
		await run.untilText("ready");
		await run.process.kill({ graceMs: GRACE_MS, ...(first === undefined ? {} : { signal: first }) });
		expect(run.text()).toContain("helper=5");
		expect(run.exit).toEqual({ code: 3, signal: null });
	});

	const ends = [
		["a timeout", { timeoutMs: 300, timeoutGraceMs: GRACE_MS }, "timeout"],
		["an idle end", { idleTimeoutMs: 300 }, "idle"],
	] as const satisfies readonly (readonly [string, StartOptions, string])[];
	test.each(ends)("the trap's program finishes after %s", async (_, options, reason) => {
		const script = `trap "${HELPER}" HUP; echo ready; while :; do sleep 0.02; done`;
		const start = startOf(["bash", "-c", script], options);
		const session = await LocalSession.start(start, { spawn, clock: systemClock });
		const items = await itemsUntil(session, { offset: 0 });
		expect(textOf(items)).toContain("helper=5");
		expect(session.state.exit).toEqual({ code: 3, signal: null, reason });
	});
});

describe.concurrent("the first signal", () => {
	test("the first signal reaches an existing process once, even if the kill is repeated", async () => {
		const script = "trap 'echo got' TERM; echo ready; while :; do sleep 0.02; done";
		const run = await Run.start(spawn, ["bash", "-c", script]);
		await run.untilText("ready");
		const graceMs = 1_500;
		await Promise.all([run.process.kill({ graceMs }), run.process.kill({ graceMs })]);
		expect(run.text("stdout")).toBe("ready\ngot\n");
		expect(run.exit).toEqual({ code: null, signal: "SIGKILL" });
	});

	test("the first signal reaches hidden processes with a session and an environment of their own", async () => {
		const hidden =
			"(env -i setsid bash -c 'trap \"echo hidden; exit\" TERM; echo there; while :; do sleep 0.02; done' &)";
		const run = await Run.start(spawn, ["bash", "-c", `${hidden}; trap 'exit 3' TERM; while :; do sleep 0.02; done`]);
		await run.untilText("there");
		const began = performance.now();
		await run.process.kill({ graceMs: GRACE_MS });
		expect(performance.now() - began).toBeLessThan(GRACE_MS);
		expect(run.text()).toContain("hidden");
	});

	test("the first signal reaches every process of a large tree", async () => {
		const script = "for i in $(seq 200); do sleep 1000 & done; trap 'exit 3' TERM; echo ready; wait; exit 4";
		const run = await Run.start(spawn, ["bash", "-c", script]);
		await run.untilText("ready");
		const began = performance.now();
		await run.process.kill({ graceMs: GRACE_MS });
		expect(performance.now() - began).toBeLessThan(GRACE_MS);
		expect(run.exit).toEqual({ code: 3, signal: null });
	});
});

test("SIGKILL after the grace time ends processes started meanwhile, however they hide", async () => {
	const hide = `setsid sh -c 'trap "" TERM; env -i sleep 1000 & echo pid=$!; exec sleep 1000' & nohup sleep 1000 & echo pid=$!`;
	const script = `onTerm() { ${hide}; }; trap onTerm TERM; echo ready; while :; do sleep 0.02; done`;
	const session = await LocalSession.start(startOf(["bash", "-c", script], { mode: "pipe" }), {
		spawn,
		clock: systemClock,
	});
	await outputUntil(session, /ready/);
	const { pid } = await session.info();
	const minder = listProcesses().find((one) => one.pid === pid)?.parent ?? 0;
	const ended = session.kill({ graceMs: 2_000 });
	const pids = [...(await outputUntil(session, /(pid=\d+\n[^p]*){2}/)).matchAll(/pid=(\d+)/g)].map(([, one]) =>
		Number(one),
	);
	const tree = descendants(minder, listProcesses()).map((one) => one.pid);
	expect(pids).toHaveLength(2);
	expect(pids.filter(isAlive)).toEqual(pids);
	await ended;
	expect([...pids, ...tree].filter(isAlive)).toEqual([]);
	await eventually("the minder's end", () => !isAlive(minder));
});
