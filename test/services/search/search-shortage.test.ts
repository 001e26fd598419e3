// @module-tag apart

/** Searches when the machine runs out of resources; in a separate file, and so a separate process. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { BATCH_MS, SearchProcess } from "../../../src/services/search/search-process.ts";

const setLimit = (soft: number) => execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`]);
afterEach(() => setLimit(10_000));

test("without a free descriptor a search is refused as a limit, and works again later", async () => {
	setLimit(120);
	const opened: number[] = [];
	for (let fd = open(); fd >= 0; fd = open()) opened.push(fd);
	const seen: string[] = [];
	for (let free = 0; free < 12; free++) {
		seen.push(await search());
		closeSync(opened.pop() ?? -1);
	}
	for (const fd of opened) closeSync(fd);
	expect(seen[0]).toBe("limit_exceeded: cannot start a search: the server has too many files open (EMFILE)");
	expect(new Set(seen)).toEqual(new Set([seen[0], "found"]));
});

test("a search that gets no CPU for longer than its CPU limit is not killed", async () => {
	const searching = new SearchProcess({ source: "b", flags: "", isLiteral: false, limit: 1, isExact: true });
	onTestFinished(() => searching.end());
	const ask = () =>
		searching.ask(
			{ bytes: Buffer.from("abc"), marks: [], isLast: true },
			{ signal: new AbortController().signal, where: "it" },
		);
	expect((await ask()).isFull).toBe(true);
	const [child = ""] = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" ");
	process.kill(Number(child), "SIGSTOP");
	setTimeout(() => process.kill(Number(child), "SIGCONT"), BATCH_MS + 300);
	expect((await ask()).isFull).toBe(true);
});

async function search(): Promise<string> {
	let searching: SearchProcess | undefined;
	try {
		searching = new SearchProcess({ source: "b", flags: "", isLiteral: false, limit: 1 });
		const batch = { bytes: Buffer.from("abc"), marks: [{ at: 0, offset: 0, time: 0 }], isLast: true };
		const { matches } = await searching.ask(batch, { signal: new AbortController().signal, where: "it" });
		return matches.length === 1 ? "found" : "nothing";
	} catch (error) {
		const { code, message } = error as { code?: string; message: string };
		return `${code}: ${message}`;
	} finally {
		searching?.end();
	}
}

function open(): number {
	try {
		return openSync("/dev/null", "r");
	} catch {
		return -1;
	}
}
