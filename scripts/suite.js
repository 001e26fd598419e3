/**
 * Runs the tests and counts them, with a limit for silence: a vitest worker can hang outside of every test, where no
 * test's timeout applies. This has been seen once; its cause is unknown.
 *
 * After a silence, it prints what each process of the run is doing, kills them, and runs the files without a result once
 * more. Failed tests never run again, and a file without a result twice has failed.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, processesBelow } from "./processes.js";

const VITEST = "node_modules/vitest/vitest.mjs";
/** No test is silent for a quarter of this; the rest is reserve for a busy machine. */
const QUIET_MS = 150_000;
/** Time for a process to write its report. A process blocked in a system call writes none. */
const REPORT_MS = 5000;

/** Time for messages sent before the end to arrive. It is short, unless another process holds the channel. */
const EXIT_FLUSH_MS = 5000;

/** `args` are vitest's. Files and folders among them must exist. */
export async function runTests(args, { quietMs = QUIET_MS } = {}) {
	const first = await runOnce(args, quietMs);
	if (first.status !== undefined) return { ...sum(first.results), status: first.status };

	const missing = first.files.filter((file) => !first.results.has(file));
	// The run hung after its last file: all results are known, and a run without files would run all of them.
	if (first.files.length > 0 && missing.length === 0) {
		console.error(`\nevery file gave its result; errors outside of tests: ${first.unhandled}`);
		return { ...sum(first.results), status: first.unhandled === 0 ? 0 : "SIGKILL" };
	}
	console.error(`\nno result: ${named(missing)}; running again:`);
	const again = await runOnce([...args.filter((arg) => !existsSync(arg)), ...missing], quietMs);
	const lost = again.files.filter((file) => !again.results.has(file));
	if (lost.length > 0) console.error(`\nno result again: ${named(lost)}`);
	const results = new Map([
		...lost.map((file) => [file, { passed: 0, failed: 1 }]),
		...again.results,
		...first.results,
	]);
	return { ...sum(results), status: first.unhandled === 0 ? again.status : "SIGKILL" };
}

function sum(results) {
	const total = { passed: 0, failed: 0 };
	for (const { passed, failed } of results.values()) {
		total.passed += passed;
		total.failed += failed;
	}
	return total;
}

function named(files) {
	return files.map((file) => relative(process.cwd(), file)).join(", ");
}

/** The files, the results of those that ended, and vitest's exit code, which is undefined if it hung. */
async function runOnce(args, quietMs) {
	const folder = mkdtempSync(join(tmpdir(), "hawser-test-"));
	try {
		// Reports on SIGUSR2; vitest.config.ts sets the same for workers.
		const reports = ["--report-on-signal", "--report-compact", `--report-directory=${folder}`];
		const reporters = ["--reporter=default", "--reporter=./scripts/progress.js"];
		const child = spawn(process.execPath, [...reports, VITEST, "run", ...reporters, ...args], {
			stdio: ["inherit", "inherit", "inherit", "ipc"],
			env: { ...process.env, HAWSER_TEST_REPORTS: folder },
		});
		const progress = listen(child);
		const ended = once(child, "exit").then(([code, signal]) => code ?? signal);
		const allReceived = once(child, "disconnect");
		for (let status; progress.quietMs() <= quietMs; ) {
			status = await Promise.race([ended, sleep(Math.min(1000, quietMs))]);
			if (status === undefined) continue;
			// The last message may arrive after the exit.
			await Promise.race([allReceived, sleep(EXIT_FLUSH_MS, undefined, { ref: false })]);
			return { ...progress, status };
		}
		console.error(`\nno progress for ${Math.round(quietMs / 1000)} s; last messages:`);
		for (const [file, step] of progress.steps)
			if (!progress.results.has(file)) console.error(`${named([file])}: ${step}`);
		await printWhere(child.pid, folder);
		for (const { pid } of processesBelow(child.pid)) kill(pid, "SIGKILL");
		child.kill("SIGKILL");
		await ended;
		return { ...progress, status: undefined };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Collects the reporter's messages. */
function listen(child) {
	let lastMessageAt = performance.now();
	const progress = {
		files: [],
		steps: new Map(),
		results: new Map(),
		unhandled: 0,
		quietMs: () => performance.now() - lastMessageAt,
	};
	child.on("message", ({ files, file, step, result, unhandled }) => {
		lastMessageAt = performance.now();
		if (files) progress.files = files;
		if (step) progress.steps.set(file, step);
		if (result) progress.results.set(file, result);
		progress.unhandled = unhandled ?? progress.unhandled;
	});
	return progress;
}

/** Prints what each process of a run is doing, with the JavaScript stack of vitest's processes. */
async function printWhere(pid, folder) {
	const below = processesBelow(pid);
	for (const each of [pid, ...below.map((process) => process.pid)]) console.error(describe(each));
	// A process without a handler for the signal would be killed by it.
	const workers = below.filter(({ command }) => command.includes("--report-on-signal"));
	const asked = [pid, ...workers.map((worker) => worker.pid)];
	for (const each of asked) kill(each, "SIGUSR2");
	const deadline = performance.now() + REPORT_MS;
	for (const each of asked) {
		let report = reportOf(each, folder);
		for (; !report && performance.now() < deadline; report = reportOf(each, folder)) await sleep(50);
		console.error(`${each}: ${report ? whereItIs(report) : "no report; it is blocked in a system call"}`);
	}
}

/** Undefined while the report is missing or incomplete. */
function reportOf(pid, folder) {
	const name = readdirSync(folder).find((name) => name.split(".").includes(String(pid)));
	try {
		return name && JSON.parse(readFileSync(join(folder, name), "utf8"));
	} catch {
		return undefined;
	}
}

function whereItIs({ javascriptStack, libuv }) {
	const active = libuv.filter((handle) => handle.is_active && handle.is_referenced);
	return [
		javascriptStack.message || "waits for one of these",
		...(javascriptStack.stack ?? []).slice(0, 20),
		...active.map(({ type, pid, fd, localEndpoint, remoteEndpoint, firesInMsFromNow }) =>
			JSON.stringify({ type, pid, fd, localEndpoint, remoteEndpoint, firesInMsFromNow }),
		),
	].join("\n  ");
}

function kill(pid, signal) {
	try {
		process.kill(pid, signal);
	} catch {
		// The process has ended.
	}
}
