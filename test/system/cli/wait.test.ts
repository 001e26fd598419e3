import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findSession } from "../../../src/cli/connect/find-session.ts";
import { openForReading } from "../../../src/journal/journal-reader.ts";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

function session(script: string): Promise<string> {
	return hawser.detached(script);
}

it("wait waits for the exit by default, and for the most recent session", async () => {
	const id = await session("read -r x");
	const waiting = result(hawser.start(["wait"]));
	await hawser.run(["send", id, "--enter"]);
	expect(await waiting).toEqual({ code: 0, stdout: "", stderr: "" });
	expect(await hawser.run(["wait", id, "--exit"])).toEqual({ code: 0, stdout: "", stderr: "" });
});

it.each([
	["exit 7", 7, { code: 7, signal: null }],
	["kill -TERM $$", 143, { code: null, signal: "SIGTERM" }],
])("wait exits with the program's code: %s", async (ending, code, exit) => {
	const id = await session(`read -r x; ${ending}`);
	const waiting = result(hawser.start(["wait", id, "--json"]));
	await hawser.run(["send", id, "--enter"]);
	const { stdout, ...how } = await waiting;
	expect(how).toEqual({ code, stderr: "" });
	expect(JSON.parse(stdout)).toEqual({ id, kind: "exit", exit });
	expect(await hawser.run(["wait", id, "--idle", "5s"])).toMatchObject({ code: 3 });
});

it("wait reports when the program did not end by itself", async () => {
	const id = await session("read -r x");
	expect(await hawser.run(["wait", id, "--timeout", "50ms"])).toMatchObject({ code: 255 });
	const waiting = result(hawser.start(["wait", id, "--json", "--match", "go \\d"]));
	await hawser.run(["send", id, "go 1"]);
	expect(JSON.parse((await waiting).stdout)).toEqual({ id, kind: "match", offset: 4 });
	const gone = result(hawser.start(["wait", id]));
	await hawser.run(["rm", "--force", id]);
	expect((await gone).code).toBeGreaterThan(127);
});

it("wait --match finds text across colors and chunks", async () => {
	const id = await session("printf '\\033[31mlis'; read -r x; printf '\\033[0mtening on 80\\n'; read -r x");
	const waiting = result(hawser.start(["wait", id, "--match", "listening on \\d+$", "--timeout", "20s"]));
	await hawser.run(["wait", id, "--match", "^lis"]);
	expect(await hawser.run(["wait", id, "--match", "listening", "--timeout", "50ms"])).toMatchObject({ code: 2 });
	await hawser.run(["send", id, "--enter"]);
	// The terminal's echo of Enter is between the two parts.
	expect(await hawser.run(["wait", id, "--match", "tening on \\d+$", "--timeout", "20s"])).toMatchObject({ code: 0 });
	await hawser.run(["kill", id]);
	expect(await waiting).toMatchObject({ code: 3, stderr: expect.stringContaining("the program ended") });
});

it("wait --since looks only at output after a send", async () => {
	const id = await session('stty -echo; echo done; while read -r x; do echo "did $x"; done');
	await hawser.run(["wait", id, "--match", "done"]);
	const { stdout: at } = await hawser.run(["send", id, "it", "--enter", "--offset"]);
	expect(await hawser.run(["wait", id, "--since", at.trim(), "--match", "did it", "--timeout", "20s"])).toMatchObject({
		code: 0,
	});
	expect(await hawser.run(["wait", id, "--since", at.trim(), "--match", "done", "--timeout", "50ms"])).toMatchObject({
		code: 2,
	});
});

it("send returns an offset after all earlier output, even when the keeper reports it late", async () => {
	const id = await session("read -r x; echo done; exec cat");
	const directory = join(hawser.stateDir, "sessions", id);
	const end = "\r\ndone\r\n".length;
	await (await hawser.client()).sessions.at(id).write("\r");
	// No reader has asked for this output, so the server does not know it yet.
	await eventually("all of it", async () => (await openForReading(join(directory, "journal"))).end.offset === end);
	const record = await readFile(join(directory, "session.json"), "utf8");
	const { pid } = (JSON.parse(record) as { keeper: { pid: number } }).keeper;
	const client = await hawser.client({
		fetch: async (address, init) => {
			if (!new URL(String(address)).pathname.endsWith("/sessions")) return fetch(address, init);
			process.kill(pid, "SIGSTOP");
			return fetch(address, init).finally(() => process.kill(pid, "SIGCONT"));
		},
	});
	const listed = await client.sessions.list();
	expect(listed.find((each) => each.id === id)?.offsets?.end).toBe(0);
	expect((await findSession(client, id)).offsets?.end).toBe(end);
});

it("wait --idle waits for silence", async () => {
	const id = await session("for i in $(seq 15); do date +%s%3N; sleep 0.1; done; read -r x");
	const { code, stdout } = await hawser.run(["wait", id, "--idle", "1s", "--timeout", "20s", "--json"]);
	const over = Date.now();
	expect(code).toBe(0);
	const { offset } = JSON.parse(stdout) as { offset: number };
	// All of it, unless the program paused this long in between.
	const lines = (await hawser.run(["logs", id])).stdout.slice(0, offset).trim().split("\r\n");
	expect(over - Number(lines.at(-1))).toBeGreaterThanOrEqual(1_000);
	expect(await hawser.run(["wait", id, "--idle", "20s", "--timeout", "50ms"])).toMatchObject({ code: 2 });
});

/** Resolves once a waiting command is connected. */
async function untilAttached(id: string): Promise<void> {
	const waited = (await hawser.client()).sessions.at(id);
	await expect.poll(() => waited.info()).toMatchObject({ attachments: 1 });
}

it("wait exits with 3 when the session disappears, and with 255 when waiting could not begin", async () => {
	const id = await session("read -r x");
	const waiting = result(hawser.start(["wait", id, "--match", "never"]));
	await untilAttached(id);
	await hawser.run(["rm", "--force", id]);
	expect(await waiting).toMatchObject({ code: 3 });
	expect(await hawser.run(["wait", "nosuch"])).toMatchObject({
		code: 255,
		stderr: expect.stringContaining('hawser: no session "nosuch"'),
	});
	const away = { env: { HAWSER_STATE_DIR: `${hawser.stateDir}/none` } };
	expect(await hawser.run(["wait", "any"], away)).toMatchObject({
		code: 255,
		stderr: expect.stringContaining("no server is running"),
	});
	const senseless = [["--bogus"], ["--idle", "1s", "--match", "x"], ["--match", "("]];
	const codes = await Promise.all(senseless.map(async (flags) => (await hawser.run(["wait", ...flags])).code));
	expect(codes).toEqual([255, 255, 255]);
});

it("wait exits with 254 when it loses the session", async () => {
	const id = await session("read -r x");
	const { stdout, stderr } = await hawser.run(["token", "create"]);
	const [, token = ""] = /token (\w+) \(/.exec(stderr) ?? [];
	const waiting = result(hawser.start(["wait", id, "--match", "never"], { HAWSER_TOKEN: stdout.trim() }));
	await untilAttached(id);
	await hawser.run(["token", "revoke", token]);
	expect(await waiting).toMatchObject({ code: 254, stderr: expect.stringContaining("token") });
});

it.each([
	[[], 255, "timed out: session quiet is still running"],
	[["--match", "never"], 2, "timed out: session quiet wrote no match"],
	[["--idle", "1m"], 2, "timed out: session quiet kept writing"],
])("wait reports a timeout: %s", async (flags, code, sentence) => {
	const id = await hawser.detached("exec cat", { name: "quiet" });
	const waited = await hawser.run(["wait", "quiet", "--timeout", "50ms", ...flags]);
	expect(waited).toEqual({ code, stdout: "", stderr: `hawser: ${sentence}\n` });
	await (await hawser.client()).sessions.at(id).remove({ force: true });
});

it("resize changes the terminal's size and nothing else", async () => {
	const id = await session("read -r x; stty size; read -r x");
	expect(await hawser.run(["resize", id, "101x37"])).toEqual({ code: 0, stdout: "", stderr: "" });
	await hawser.run(["send", id, "--enter"]);
	expect(await hawser.run(["wait", id, "--match", "37 101", "--timeout", "20s"])).toMatchObject({ code: 0 });
	expect(await hawser.run(["resize", id, "big"])).toMatchObject({ code: 1, stderr: expect.stringContaining("120x40") });
	const { stdout } = await hawser.run(["run", "-d", "--pipe", "cat"]);
	expect(await hawser.run(["resize", stdout.trim(), "80x24"])).toMatchObject({ code: 1 });
});

it.each([["bash", "--norc"], ["sh"], ["cat"]])(
	"wait --match does not match the echo of the line that send typed: %s",
	async (...shell) => {
		const id = await hawser.detached(["exec", ...shell].join(" "));
		await hawser.run(["send", id, ": never", "--enter"]);
		const isEcho = shell[0] !== "cat";
		// `cat` prints the line itself, after the terminal's echo.
		const found = await hawser.run(["wait", id, "--match", ": never", "--timeout", isEcho ? "1s" : "20s", "--json"]);
		expect(found.code).toBe(isEcho ? 2 : 0);
		const echoed = await hawser.run(["wait", id, "--match", ": never", "--include-echo", "--timeout", "20s"]);
		expect(echoed).toEqual({ code: 0, stdout: "", stderr: "" });
		await hawser.run(["send", id, "echo after $((1+1))", "--enter"]);
		expect(await hawser.run(["wait", id, "--match", "after", "--timeout", "20s"])).toMatchObject({ code: 0 });
	},
);

it("send stores where its line was shown, never the line, and nothing for a line without echo", async () => {
	const id = await hawser.detached(
		"stty -echo; printf ready; read -r line; stty echo; printf again; read -r line; sleep 60",
	);
	await hawser.run(["wait", id, "--match", "ready"]);
	await hawser.run(["send", id, "hidden-line", "--enter"]);
	await hawser.run(["wait", id, "--match", "again"]);
	const file = join(hawser.stateDir, "typed", id);
	await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
	await hawser.run(["send", id, "shown-line", "--enter"]);
	const { from, to } = JSON.parse(await readFile(file, "utf8")) as { from: number; to: number };
	expect((await hawser.run(["logs", id])).stdout.slice(from, to)).toBe("shown-line\r\n");
	expect(await readFile(file, "utf8")).not.toContain("shown");
});

it("wait refuses --include-echo without --match", async () => {
	const { code, stderr } = await hawser.run(["wait", "any", "--include-echo"]);
	expect(code).toBe(255);
	expect(stderr).toContain("--include-echo needs --match");
});
