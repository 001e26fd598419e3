// @module-tag apart

/** Starts while their helper processes are killed. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
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

test("a program that kills its minder at once was started, runs once, and its end is unknown", async () => {
	const folder = mkdtempSync(join(tmpdir(), "hawser-suicide-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	const [source, program] = [join(folder, "suicide.c"), join(folder, "suicide")];
	const includes = "#include <signal.h>\n#include <unistd.h>\n";
	writeFileSync(
		source,
		`${includes}int main(void) { write(1, "ran", 3); kill(getppid(), SIGKILL); for (;;) pause(); }`,
	);
	// Statically linked, so that most runs kill the minder before it reports the start.
	execFileSync(process.env.CC || "cc", ["-static", "-o", program, source]);
	const runs = Array.from({ length: 16 }, async () => {
		const started = await startProgram([program]);
		const exit = await started.exited;
		await started.end();
		return exit;
	});
	expect(await Promise.all(runs)).toEqual(runs.map(() => undefined));
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
