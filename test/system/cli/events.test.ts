import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/client/node/index.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";

type Line = { cursor: string; type: string; session?: { name: string } };

/** Runs `hawser events` with these options and collects its output. */
function follow(site: TestHawser, ...options: string[]) {
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

test("events continues after a restart of the server, and with --cursor-file after its own", async () => {
	const site = await TestHawser.create();
	onTestFinished(() => site.remove());
	const file = join(site.stateDir, "cursor");
	const first = follow(site, "--type", "failed", "--cursor-file", file);
	await eventually("the beginning", () => first.lines.length === 1);
	await site.detached("exit 0", { name: "good" });
	await site.detached("exit 3", { name: "bad" });
	await eventually("a failure", () => first.lines.length === 2);
	await site.stopServer("SIGKILL");
	await eventually("a remark", () => first.remarks().includes("server unreachable"));
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
	await eventually("the events in between", () => second.lines.length > 0);
	expect(second.told()).toEqual([["exited", "worst"]]);
	await second.end();
	expect((await site.run(["events", "--since", "x", "--cursor-file", file])).stderr).toContain(
		"cannot be used together",
	);
	// A server that refuses requests is not away.
	const over = new AbortController();
	onTestFinished(() => over.abort());
	const client = connect({ stateDir: site.stateDir });
	const silences = Array.from({ length: 8 }, (_, index) =>
		client.events({ quietMs: 10_000 + index, signal: over.signal }),
	);
	await Promise.all(silences.map((events) => events.next()));
	const refused = follow(site, "--type", "quiet", "--quiet-for", "99s");
	await eventually("the reason", () => refused.remarks().includes("no more distinct `quietMs` values"));
	expect(refused.remarks()).not.toContain("unreachable");
	await refused.end();
}, 40_000);
