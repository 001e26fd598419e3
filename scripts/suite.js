/**
 * Runs the tests and counts them, and does not wait for ever: a worker of vitest can hang outside of every test, where
 * no test's time limit reaches. That has been seen once, with nothing to learn from it.
 *
 * When nothing was heard for a while, it says what every process of the run is doing, ends them, and runs the files that
 * gave no result once more. What has failed is never run again, and what gives no result twice has failed.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, processesBelow } from "./processes.js";

const VITEST = "node_modules/vitest/vitest.mjs";
/** No test is silent for a quarter of this; what is left is for a machine that has other things to do. */
const QUIET_MS = 150_000;
/** What a process has for its report; one that waits within a call of the system gives none. */
const REPORT_MS = 5000;

/** How long what was told before the end may take to come; a moment, unless somebody else has got the channel. */
const LAST_WORDS_MS = 5000;

/** `args` are vitest's; a file or a folder among them is there. */
export async function runTests(args, { quietMs = QUIET_MS } = {}) {
	const first = await runOnce(args, quietMs);
	if (first.status !== undefined) return { ...sum(first.results), status: first.status };

	const missing = first.files.filter((file) => !first.results.has(file));
	// It hung after its last file: all is known, and a run without a file would be one of all.
	if (first.files.length > 0 && missing.length === 0) {
		console.error(`\nevery file gave its result; errors outside of tests: ${first.unhandled}`);
		return { ...sum(first.results), status: first.unhandled === 0 ? 0 : "SIGKILL" };
	}
	console.error(`\nno result: ${named(missing)}; once more:`);
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

/** The files, the results of those that ended, and vitest's exit code: none when nothing was heard of it any more. */
async function runOnce(args, quietMs) {
	const folder = mkdtempSync(join(tmpdir(), "hawser-test-"));
	try {
		// Where it is, on SIGUSR2; of its workers by vitest.config.ts.
		const reports = ["--report-on-signal", "--report-compact", `--report-directory=${folder}`];
		const reporters = ["--reporter=default", "--reporter=./scripts/progress.js"];
		const child = spawn(process.execPath, [...reports, VITEST, "run", ...reporters, ...args], {
			stdio: ["inherit", "inherit", "inherit", "ipc"],
			env: { ...process.env, HAWSER_TEST_REPORTS: folder },
		});
		const told = listen(child);
		const ended = once(child, "exit").then(([code, signal]) => code ?? signal);
		const heardAll = once(child, "disconnect");
		for (let status; told.quietMs() <= quietMs; ) {
			status = await Promise.race([ended, sleep(Math.min(1000, quietMs))]);
			if (status === undefined) continue;
			// The last that it told may come after its end.
			await Promise.race([heardAll, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
			return { ...told, status };
		}
		console.error(`\nnothing was heard for ${Math.round(quietMs / 1000)} s; what was last:`);
		for (const [file, heard] of told.heard) if (!told.results.has(file)) console.error(`${named([file])}: ${heard}`);
		await tellWhere(child.pid, folder);
		for (const { pid } of processesBelow(child.pid)) kill(pid, "SIGKILL");
		child.kill("SIGKILL");
		await ended;
		return { ...told, status: undefined };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** What a run tells of itself by its reporter. */
function listen(child) {
	let heardAt = performance.now();
	const told = {
		files: [],
		heard: new Map(),
		results: new Map(),
		unhandled: 0,
		quietMs: () => performance.now() - heardAt,
	};
	child.on("message", ({ files, file, heard, result, unhandled }) => {
		heardAt = performance.now();
		if (files) told.files = files;
		if (heard) told.heard.set(file, heard);
		if (result) told.results.set(file, result);
		told.unhandled = unhandled ?? told.unhandled;
	});
	return told;
}

/** Says of each process of a run what it is doing, and of those of vitest where in its code. */
async function tellWhere(pid, folder) {
	const below = processesBelow(pid);
	for (const each of [pid, ...below.map((process) => process.pid)]) console.error(describe(each));
	// Whoever was started without a handler for the signal would be ended by it.
	const workers = below.filter(({ command }) => command.includes("--report-on-signal"));
	const asked = [pid, ...workers.map((worker) => worker.pid)];
	for (const each of asked) kill(each, "SIGUSR2");
	const deadline = performance.now() + REPORT_MS;
	for (const each of asked) {
		let report = reportOf(each, folder);
		for (; !report && performance.now() < deadline; report = reportOf(each, folder)) await sleep(50);
		console.error(`${each}: ${report ? whereItIs(report) : "no report; it waits within a call"}`);
	}
}

/** Nothing while it is not there, or not whole. */
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
		// It has gone meanwhile.
	}
}
