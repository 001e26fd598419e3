import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/local/index.ts";
import { eventually } from "../helpers/reading.ts";
import { Installation } from "./hawser.ts";

type Line = { cursor: string; type: string; session?: { name: string } };

/** `hawser events` with these options, and what it has printed so far. */
function follow(site: Installation, ...options: string[]) {
	const child = site.start(["events", "--json", ...options]);
	const lines: Line[] = [];
	let remarks = "";
	child.stderr?.on("data", (chunk: Buffer) => {
		remarks += chunk.toString();
	});
	if (!child.stdout) throw new Error("no stdout");
	createInterface(child.stdout).on("line", (line) => lines.push(JSON.parse(line) as Line));
	const told = () => lines.map(({ type, session }) => [type, session?.name]);
	const end = async () => {
		child.kill("SIGKILL");
		await once(child, "exit");
	};
	return { lines, told, end, remarks: () => remarks };
}

test("hawser events goes on over a restart of the server, and over its own with --cursor-file", async () => {
	const site = await Installation.create();
	onTestFinished(() => site.remove());
	const file = join(site.stateDir, "cursor");
	const first = follow(site, "--type", "failed", "--cursor-file", file);
	await eventually("the beginning", () => first.lines.length === 1);
	await site.detached("exit 0", { name: "good" });
	await site.detached("exit 3", { name: "bad" });
	await eventually("a failure", () => first.lines.length === 2);
	await site.stopServer("SIGKILL");
	await eventually("a remark", () => first.remarks().includes("away"));
	await site.startServer();
	await site.detached("exit 4", { name: "worse" });
	await eventually("another one", () => first.lines.length === 3);
	expect(first.told()).toEqual([
		["begin", undefined],
		["exited", "bad"],
		["exited", "worse"],
	]);
	const last = first.lines.at(-1)?.cursor;
	await eventually("the cursor", async () => (await readFile(file, "utf8")) === `${last}\n`);
	await first.end();
	await site.detached("exit 5", { name: "worst" });
	const second = follow(site, "--type", "failed", "--cursor-file", file);
	await eventually("what came meanwhile", () => second.lines.length > 0);
	expect(second.told()).toEqual([["exited", "worst"]]);
	await second.end();
	expect((await site.run(["events", "--since", "x", "--cursor-file", file])).stderr).toContain("exclude each other");
	// A server that refuses is not away.
	const over = new AbortController();
	onTestFinished(() => over.abort());
	const client = connect({ stateDir: site.stateDir });
	const silences = Array.from({ length: 8 }, (_, index) =>
		client.events({ quietMs: 10_000 + index, signal: over.signal }),
	);
	await Promise.all(silences.map((events) => events.next()));
	const refused = follow(site, "--type", "quiet", "--quiet-for", "99s");
	await eventually("the reason", () => refused.remarks().includes("no more kinds of silence are listened for"));
	expect(refused.remarks()).not.toContain("away");
	await refused.end();
}, 40_000);
