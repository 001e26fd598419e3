/** Waiting for a session to end, to go quiet, or to say something. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../fronts/native/test-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

it("an exit is found whether it comes or has been", async () => {
	const session = await client.sessions.create({ command: "read line; exit 7", mode: "pipe" });
	const waiting = session.wait({ exit: true });
	await session.write("go\n");
	expect(await waiting).toEqual({ kind: "exit", exit: { code: 7, signal: null }, offset: 0 });
	expect(await session.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { code: 7 } });
	expect(await session.wait({ idle: 60_000 })).toMatchObject({ kind: "exit", exit: { code: 7 } });
	expect(await session.wait({ match: /never/ })).toMatchObject({ kind: "exit", exit: { code: 7 } });
});

it("a match says where to go on, also in the middle of a character and of bytes that are none", async () => {
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await session.write(Uint8Array.of(0xff, 0xe2, 0x82));
	await session.write(Uint8Array.of(0xac, 0x21, 0x21));
	const first = await session.wait({ match: /€!/g });
	expect(first).toMatchObject({ kind: "match", offset: 5 });
	expect(await session.wait({ match: /!/ }, { since: first.offset })).toMatchObject({ kind: "match", offset: 6 });
	expect(await session.wait({ match: /!/ }, { since: 6, timeoutMs: 20 })).toEqual({ kind: "timeout", offset: 6 });
});

it("a session is idle when nothing was written for so long", async () => {
	const session = await client.sessions.create({
		command: "for i in 1 2 3 4 5 6 7 8; do date +%s%3N; sleep 0.05; done; exec cat",
		mode: "pipe",
	});
	const idle = 300;
	const { kind, offset } = await session.wait({ idle });
	const over = Date.now();
	expect(kind).toBe("idle");
	// All of them, unless the program stood still for so long meanwhile.
	const { bytes } = await session.output(0, { limit: offset });
	const lastWritten = Number(new TextDecoder().decode(bytes).trim().split("\n").at(-1));
	expect(over - lastWritten).toBeGreaterThanOrEqual(idle);
});

it("times of any length can be waited for, as well as for ever", async () => {
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

it("is given up with the signal's reason, and fails with the server's words", async () => {
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

it("resizes, signals and the end of input go in line with what was written", async () => {
	const session = await client.sessions.create({ command: "stty raw -echo; printf READY; exec cat" });
	await session.wait({ match: /READY/ });
	await Promise.all([session.write("x"), session.resize({ cols: 91, rows: 17 }), session.signal("TERM")]);
	expect(await session.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { signal: "SIGTERM" } });
	expect((await session.info()).size).toEqual({ cols: 91, rows: 17 });
	const pipe = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	await Promise.all([pipe.write("abc"), pipe.eof()]);
	expect(await pipe.wait({ exit: true })).toMatchObject({ kind: "exit", exit: { code: 0 } });
});
