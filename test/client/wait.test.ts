/** Waiting for a session to end, to go quiet, or to write a text. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

it("wait finds an exit before and after it happens", async () => {
	const session = await client.sessions.create({ command: "read line; exit 7", mode: "pipe" });
	const waiting = session.wait({ exit: true });
	await session.write("go\n");
	expect(await waiting).toEqual({ kind: "exit", exit: { code: 7, signal: null }, offset: 0 });
	expect(await session.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { code: 7 } });
	expect(await session.wait({ idle: 60_000 })).toMatchObject({ kind: "exit", exit: { code: 7 } });
	expect(await session.wait({ match: /never/ })).toMatchObject({ kind: "exit", exit: { code: 7 } });
});

it("a match reports the next offset, also next to partial and invalid characters", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await session.write(Uint8Array.of(0xff, 0xe2, 0x82));
	await session.write(Uint8Array.of(0xac, 0x21, 0x21));
	const first = await session.wait({ match: /€!/g }, { since: 0 });
	expect(first).toMatchObject({ kind: "match", offset: 5 });
	expect(await session.wait({ match: /!/ }, { since: first.offset })).toMatchObject({ kind: "match", offset: 6 });
	expect(await session.wait({ match: /!/ }, { since: 6, timeoutMs: 20 })).toEqual({ kind: "timeout", offset: 6 });
});

it("wait takes a string literally, and after a write searches only later output", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await session.write("one (a.b)\n");
	expect(await session.wait({ match: "(a.b)" })).toMatchObject({ kind: "match", offset: 9 });
	const { from } = await session.write("two\n");
	expect(from).toBe(10);
	expect(await session.wait({ match: "one" }, { timeoutMs: 20 })).toMatchObject({ kind: "timeout" });
	expect(await session.wait({ match: /two/ })).toMatchObject({ kind: "match", offset: 13 });
	expect(await session.wait({ match: "one" }, { since: 0 })).toMatchObject({ kind: "match", offset: 3 });
	expect(await session.wait({ match: "axb" }, { since: 0, timeoutMs: 20 })).toMatchObject({ kind: "timeout" });
	await session.keys(["text:three\n"]);
	expect(await session.wait({ match: "two" }, { timeoutMs: 20 })).toMatchObject({ kind: "timeout" });
	// Another handle has written nothing, so it searches all output.
	expect(await client.sessions.at(session.id).wait({ match: "one" })).toMatchObject({ kind: "match", offset: 3 });
});

it.each(["bash", "zsh", "fish", "sh"])("in %s, wait does not match the echo of the line just written", async (name) => {
	const home = await temporaryDirectory();
	writeFileSync(join(home, ".zshrc"), "");
	const session = await client.sessions.create({ argv: [name], cwd: home, env: { HOME: home } });
	await session.send({ until: { input: true, end: true } });
	await session.write("sleep 0.2; echo finished\r");
	const found = await session.wait({ match: "finished" });
	expect(found.kind).toBe("match");
	expect((await session.text(0)).text).toMatch(/finished\n+finished/);
	// After the whole echo, so that the next byte is the one after the match.
	const { bytes } = await session.output(found.offset - "finished".length);
	expect(new TextDecoder().decode(bytes)).toMatch(/^finished\r\n/);
	await session.send({ until: { end: true } });
	await session.write("sleep 9; echo never\r");
	expect(await session.wait({ match: /never/ }, { timeoutMs: 300 })).toMatchObject({ kind: "timeout" });
	expect(await session.wait({ match: /never/ }, { includeEcho: true })).toMatchObject({ kind: "match" });
	await session.remove();
});

it("output on pipes does not count as echo, even if it is the line just written", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await session.write("same\n");
	expect(await session.wait({ match: "same" })).toMatchObject({ kind: "match", offset: 4 });
});

it("wait refuses an empty condition, and connects nowhere", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await expect(session.wait({} as never)).rejects.toThrow(
		new TypeError("wait needs a condition: exit, idle, match, screen or stable"),
	);
	expect(await session.attached()).toEqual([]);
});

it("wait for idle resolves after that long without output", async () => {
	const session = await client.sessions.create({
		command: "for i in 1 2 3 4 5 6 7 8; do date +%s%3N; sleep 0.05; done; exec cat",
		mode: "pipe",
	});
	const idle = 300;
	const { kind, offset } = await session.wait({ idle });
	const over = Date.now();
	expect(kind).toBe("idle");
	// All of them, unless the program paused for that long.
	const { bytes } = await session.output(0, { limit: offset });
	const lastWritten = Number(new TextDecoder().decode(bytes).trim().split("\n").at(-1));
	expect(over - lastWritten).toBeGreaterThanOrEqual(idle);
});

it("wait accepts timeouts of any length, and none", async () => {
	const session = await client.sessions.create({ command: "read line; exit 3", mode: "pipe" });
	const month = 40 * 24 * 3600 * 1000;
	const waiting = [
		session.wait({ exit: true }, { timeoutMs: month }),
		session.wait({ idle: month }),
		session.wait({ idle: Number.POSITIVE_INFINITY }, { timeoutMs: Number.POSITIVE_INFINITY }),
	];
	await session.wait({ idle: 50 });
	await session.write("go\n");
	for (const result of await Promise.all(waiting)) expect(result).toMatchObject({ kind: "exit", exit: { code: 3 } });
});

it("wait rejects with the signal's reason, or with the server's error", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	const controller = new AbortController();
	const waiting = session.wait({ match: /never/ }, { signal: controller.signal });
	controller.abort(new Error("enough"));
	await expect(waiting).rejects.toThrow("enough");
	await expect(session.wait({ exit: true }, { signal: controller.signal })).rejects.toThrow("enough");
	await expect(client.sessions.at("nosuchsession").wait({ exit: true })).rejects.toMatchObject({
		code: "session_not_found",
	});
});

it("resizes, signals and the end of input keep their order with writes", async () => {
	const session = await client.sessions.create({ command: "stty raw -echo; printf READY; exec cat" });
	await session.wait({ match: /READY/ });
	await Promise.all([session.write("x"), session.resize({ cols: 91, rows: 17 }), session.signal("TERM")]);
	expect(await session.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { signal: "SIGTERM" } });
	expect((await session.info()).size).toEqual({ cols: 91, rows: 17 });
	const pipe = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await Promise.all([pipe.write("abc"), pipe.eof()]);
	expect(await pipe.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { code: 0 } });
});
