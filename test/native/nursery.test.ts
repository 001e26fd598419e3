// @module-tag apart

/** Starts while their helper processes are killed. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startProgram } from "../support/programs.ts";
import { eventually } from "../support/run-program.ts";

type Found = { readonly pid: number; readonly parent: number; readonly state: string };

/**
 * The nursery of this process and the minders waiting in it for an order. A freshly forked minder is not asleep yet.
 */
function nursery(): { readonly pid: number; readonly waiting: readonly number[] } {
	const all = readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? (minder(Number(pid)) ?? []) : []));
	const { pid = 0 } = all.find(({ parent, state }) => parent === process.pid && state !== "Z") ?? {};
	return { pid, waiting: all.filter(({ parent, state }) => parent === pid && state === "S").map((each) => each.pid) };
}

function minder(pid: number): Found | undefined {
	try {
		const [, name, state = "", parent] =
			/^\d+ \((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
		return name === "minder" ? { pid, parent: Number(parent), state } : undefined;
	} catch {
		return undefined;
	}
}

async function expectStart(): Promise<void> {
	const started = await startProgram(["true"]);
	expect(await started.exited).toMatchObject({ code: 0 });
	await started.end();
}

test("minders killed while waiting for an order are replaced at once", async () => {
	await expectStart();
	await eventually(() => nursery().waiting.length === 2);
	const { pid, waiting } = nursery();
	for (const each of waiting) process.kill(each, "SIGKILL");
	await eventually(() => nursery().waiting.filter((each) => !waiting.includes(each)).length === 2);
	await expectStart();
	expect(nursery().pid).toBe(pid);
});

test("a killed nursery is replaced, and the next one runs its pending start", async () => {
	await expectStart();
	await eventually(() => nursery().waiting.length === 2);
	const { pid, waiting } = nursery();
	for (const each of [pid, ...waiting]) process.kill(each, "SIGSTOP");
	const unread = expectStart();
	process.kill(pid, "SIGKILL");
	await eventually(() => minder(pid)?.state !== "T");
	await Promise.all([unread, expectStart(), expectStart()]);
	expect(nursery().pid).not.toBe(pid);
});

test("a start whose minder was killed after it took the order does not run twice", async () => {
	const fails = startProgram(["sh", "-c", "kill -9 $PPID"], { env: [] }).then(
		async (started) => `started, then ${JSON.stringify(await started.exited)}`,
		({ step, code }) => `${step} ${code}`,
	);
	expect(["start ECHILD", "started, then undefined"]).toContain(await fails);
});

test("a stopped nursery is replaced after a start has timed out in it", async () => {
	await expectStart();
	await eventually(() => nursery().waiting.length === 2);
	const { pid, waiting } = nursery();
	for (const each of [pid, ...waiting]) process.kill(each, "SIGSTOP");
	await expect(startProgram(["true"], { startMs: 0 })).rejects.toMatchObject({ step: "order", code: "ETIMEDOUT" });
	await expectStart();
	await eventually(() => [pid, ...waiting].every((each) => minder(each) === undefined));
});
