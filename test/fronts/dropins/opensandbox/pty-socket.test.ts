/** Upstream's own tests of a PTY (sections 6.1 and 6.2 of the contract), and the frames. */

import { createConnection } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { type ExecdServer, type ExecdServerOptions, startExecd, untilItComes } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient, statusOf, upgradeHeaders } from "./support/pty-client.ts";

type Opened = { server: ExecdServer; id: string; client: PtyClient };

async function opened(query = "", body?: object, options: ExecdServerOptions = {}): Promise<Opened> {
	const server = await startExecd(options);
	const id = await createPty(server, body);
	return { server, id, client: await PtyClient.open(server, id, query) };
}

test("6.1.1: an unknown id is 404 before the upgrade", async () => {
	const server = await startExecd();
	expect((await handshake(server.url, "/pty/11111111-1111-4111-8111-111111111111/ws")).status).toBe(404);
});

test("6.1.2: a second client while the first is connected is 409", async () => {
	const { server, id, client } = await opened();
	expect((await handshake(server.url, `/pty/${id}/ws`)).status).toBe(409);
	client.type("echo still''here\n");
	await client.text(/stillhere/);
});

test("6.1.3: connected has the session and the mode", async () => {
	const { id, client } = await opened();
	expect(client.messages[0]).toEqual({ type: "connected", session_id: id, mode: "pty", role: "holder" });
});

test("6.1.4, 6.1.5: stdin works as bytes and as text, and ping gives pong", async () => {
	const { client } = await opened();
	client.type("echo hello''_ws\n");
	await client.text(/hello_ws\r\n/);
	client.say({ type: "stdin", data: "echo gr''üße\n" });
	await client.until("text", () => client.output.includes("grüße"));
	client.say({ type: "ping" });
	expect(await client.message("pong")).toEqual({ type: "pong" });
});

test("6.1.6, I-30: exit has the code 0, the close follows at once, and the lock is free", async () => {
	const { server, id, client } = await opened();
	client.type("exit 0\n");
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: 0 });
	expect(await client.closed).toEqual({ code: 1000, reason: "process exited" });
	await (await PtyClient.open(server, id)).close();
});

test("6.1.7, I-14: after a reconnect earlier output is replayed, including output in between", async () => {
	const { server, id, client } = await opened();
	client.type("echo be''fore; read x; echo mean''while\n");
	await client.text(/before\r\n/);
	expect((await statusOf(server, id)).output_offset).toBeGreaterThan(0);
	await client.close();
	const second = await eventually("a free lock", () => PtyClient.open(server, id, "since=0").catch(() => undefined));
	expect(second.replay?.offset).toBe(0);
	expect(second.replay?.bytes.toString()).toContain("before\r\n");
	second.type("\n");
	await second.text(/meanwhile\r\n/);
});

test("6.1.8: a take-over gets the same shell with its past, and the holder is informed", async () => {
	const { server, id, client } = await opened();
	client.type("marker=kept; echo mar''ked\n");
	await client.text(/marked\r\n/);
	const newcomer = await PtyClient.open(server, id, "takeover=1&since=0");
	expect(await client.closed).toEqual({ code: 4001, reason: "TAKEN_OVER" });
	expect(newcomer.received[0]).toMatchObject({ kind: "replay", offset: 0 });
	expect(newcomer.replay?.bytes.toString()).toContain("marked\r\n");
	newcomer.type("echo $marker''-$marker\n");
	await newcomer.text(/kept-kept/);
});

test("6.1.9: a take-over of a free session is a connect", async () => {
	const { client } = await opened("takeover=1");
	client.type("echo a''lone\n");
	await client.text(/alone/);
});

test("6.1.10, I-36: a plain GET or an invalid key with takeover=1 evicts no client", async () => {
	const { server, id, client } = await opened();
	expect((await server.request(`/pty/${id}/ws?takeover=1`)).status).toBe(409);
	const badKey = { ...upgradeHeaders, "sec-websocket-key": "bad" };
	expect((await handshake(server.url, `/pty/${id}/ws?takeover=1`, badKey)).status).toBe(400);
	expect((await handshake(server.url, `/pty/${id}/ws?takeover=true`)).status).toBe(409);
	client.type("echo still''here\n");
	await client.text(/stillhere/);
});

test("6.1.12, I-43: a resize reaches the terminal, and an impossible size is ignored", async () => {
	const { client } = await opened();
	client.type("stty size\n");
	await client.text(/24 80\r\n/);
	client.say({ type: "resize", cols: 120, rows: 40 });
	for (const size of [
		{ cols: 65_536, rows: 30 },
		{ cols: 0, rows: 30 },
		{ cols: -1, rows: 30 },
		{ cols: 90 },
		{ cols: "90", rows: 30 },
		{ cols: 90.5, rows: 30 },
	])
		client.say({ type: "resize", ...size });
	client.type("stty size; echo do''ne\n");
	expect(await client.text(/done\r\n/)).toContain("40 120\r\n");
	expect(client.messages).toHaveLength(1);
});

test("6.1.13, 6.2, I-27: pipes have two channels, no terminal, no prompt and no echo", async () => {
	const { client } = await opened("pty=0");
	expect(client.messages[0]?.mode).toBe("pipe");
	client.type("echo out; echo err >&2; test -t 0 || echo none\n");
	await client.until("all", () => client.output.byteLength >= 13);
	const of = (kind: string) =>
		Buffer.concat(
			client.received.flatMap((one) => (one.kind === kind && "bytes" in one ? [one.bytes] : [])),
		).toString();
	expect([of("stdout"), of("stderr")]).toEqual(["out\nnone\n", "err\n"]);
});

test("I-31: the mode is the running program's, not the query's", async () => {
	const { server, id, client } = await opened();
	const asPipe = await PtyClient.open(server, id, "takeover=1&pty=0");
	expect(asPipe.messages[0]?.mode).toBe("pty");
	asPipe.say({ type: "resize", cols: 100, rows: 30 });
	asPipe.type("stty size\n");
	await asPipe.text(/30 100\r\n/);
	await client.closed;
});

test("I-09, 2.15: after an exit the next client starts a new program with its own mode and size, after the old output", async () => {
	const { server, id, client } = await opened("pty=1");
	client.say({ type: "resize", cols: 120, rows: 40 });
	client.type("stty size; exit 42\n");
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: 42 });
	await client.closed;
	const first = client.output;
	expect(await statusOf(server, id)).toEqual({ session_id: id, running: false, output_offset: first.byteLength });

	const second = await PtyClient.open(server, id, "pty=0");
	expect(second.messages[0]?.mode).toBe("pipe");
	expect(second.replay?.offset).toBe(0);
	expect(second.replay?.bytes.subarray(0, first.byteLength).equals(first)).toBe(true);
	second.say({ type: "resize", cols: 10, rows: 10 });
	second.type("echo piped\nexit 3\n");
	expect(await second.message("exit")).toEqual({ type: "exit", exit_code: 3 });
	expect(second.output.toString().slice(first.byteLength)).toBe("piped\n");

	const third = await PtyClient.open(server, id, `since=${first.byteLength}`);
	third.type("stty size\n");
	expect(await third.text(/24 80\r\n/)).toMatch(/^piped\n/);
	expect(third.replay?.offset).toBe(first.byteLength);
});

test("6.2: a command runs, prints and exits, and a new connection runs it again", async () => {
	const { server, id, client } = await opened("", { command: "echo hello_command" });
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: 0 });
	expect(client.output.toString()).toBe("hello_command\r\n");
	expect((await statusOf(server, id)).running).toBe(false);
	const again = await PtyClient.open(server, id, `since=${client.position}`);
	await again.message("exit");
	expect(again.output.toString()).toBe("hello_command\r\n");
});

test("2.15: programs without output leave nothing in the record, and the end of the PTY ends them all", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "echo once; sleep 1007 & exit" });
	const quiet = await createPty(server, { command: "exit 1" });
	for (const pty of [id, quiet, quiet, quiet, id]) {
		const client = await PtyClient.open(server, pty, "pty=0");
		await client.closed;
	}
	expect(await statusOf(server, id)).toMatchObject({ running: false, output_offset: 10 });
	expect(await statusOf(server, quiet)).toMatchObject({ running: false, output_offset: 0 });
	// The last of each, and the first that a client may still want to read.
	expect(server.sessions.list()).toHaveLength(3);
	for (const pty of [id, quiet]) await server.request(`/pty/${pty}`, { method: "DELETE" });
	await eventually("no session", () => server.sessions.list().length === 0);
});

test("6.2, I-03: running means that a program is alive now", async () => {
	const { server, id, client } = await opened();
	expect((await statusOf(server, id)).running).toBe(true);
	await client.close();
	expect((await statusOf(server, id)).running).toBe(true);
});

test("6.2, I-19: escape bytes pass unchanged, without waiting for a newline", async () => {
	const { client } = await opened("", { command: "printf '\\033[31mred\\033[0m\\377\\000no newline'; exec cat" });
	await client.until("all", () =>
		client.output.includes(Buffer.from("\u001b[31mred\u001b[0m\u00ff\u0000no newline", "latin1")),
	);
});

test("6.2, 2.14: SIGINT leaves an interactive bash alive, and stops its foreground job", async () => {
	const { client } = await opened();
	await client.text(/# $|\$ $/);
	client.say({ type: "signal", signal: "SIGINT" });
	// The line editor may notice it only at the next key, which it then drops.
	client.type("\n");
	await client.text(/\^C.*[#$] $/s);
	client.type("bash -c 'echo al\"\"ive; exec sleep 1000'\n");
	await client.text(/alive\r\n/);
	client.say({ type: "signal", signal: "SIGINT" });
	await client.text(/alive\r\n.*[#$] $/s);
	client.type("echo st''ill\n");
	await client.text(/still\r\n/);
});

test("2.14: names other than the five are ignored, and SIGKILL ends the shell whatever its foreground job", async () => {
	const { client } = await opened();
	client.say({ type: "signal", signal: "SIGSTOP" });
	client.say({ type: "signal", signal: "INT" });
	client.type("echo rea''dy; sleep 1000\n");
	await client.text(/ready\r\n/);
	client.say({ type: "signal", signal: "SIGKILL" });
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: -1 });
	expect((await client.closed).code).toBe(1000);
	expect(client.messages.map(({ type }) => type)).toEqual(["connected", "exit"]);
});

test("2.14: a signal on pipes reaches the children, too", async () => {
	const { client } = await opened("pty=0", undefined, { times: untilItComes });
	client.type("(trap 'echo caught; exit' TERM; echo ready; while :; do sleep 0.01; done)& wait\n");
	await client.text(/ready/);
	client.say({ type: "signal", signal: "SIGTERM" });
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: -1 });
	expect(client.output.toString()).toContain("caught");
});

test("2.9: other messages are answered or ignored, and the connection continues", async () => {
	const { client } = await opened();
	client.say({ type: "nonsense" });
	client.say({});
	client.socket.send("no json");
	client.say([1]);
	client.say({ type: "stdin", data: 5 });
	client.say({ type: "ping", cols: "80" });
	client.socket.send(Buffer.of(7, 65, 66));
	client.socket.send(Buffer.alloc(0));
	client.say({ type: "ping" });
	await client.message("pong");
	expect(client.messages.slice(1)).toEqual([
		{ type: "error", code: "INVALID_FRAME", error: 'unknown frame type "nonsense"' },
		{ type: "error", code: "INVALID_FRAME", error: 'unknown frame type ""' },
		{ type: "pong" },
	]);
});

test("2.7: a message that arrives in one piece with the handshake is read", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const socket = createConnection(Number(new URL(server.url).port), "127.0.0.1");
	const head = Object.entries({ host: "localhost", ...upgradeHeaders }).map(([name, value]) => `${name}: ${value}`);
	const ping = Buffer.from('{"type":"ping"}');
	// A text frame with a mask of zeros (RFC 6455 §5.2).
	const frame = Buffer.concat([Buffer.of(0x81, 0x80 | ping.length, 0, 0, 0, 0), ping]);
	socket.write(Buffer.concat([Buffer.from(`GET /pty/${id}/ws HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`), frame]));
	let text = "";
	for await (const chunk of socket) {
		text += String(chunk);
		if (text.includes('{"type":"pong"}')) break;
	}
	expect(text.indexOf('"connected"')).toBeLessThan(text.indexOf('"pong"'));
	expect(text.indexOf('"connected"')).toBeGreaterThan(0);
});

test("2.6: since is parsed leniently", async () => {
	const { server, id, client } = await opened("", { command: "printf 0123456789; exec cat" });
	await client.until("all", () => client.output.byteLength === 10);
	for (const [since, offset] of [
		["4", 4],
		["7abc", 7],
		["%2B3", 3],
		["-5", 0],
		["", 0],
		["abc", 0],
		["99999999999999999999", 0],
		["5&since=9", 5],
		["10", undefined],
		["11", undefined],
	] as const) {
		const other = await PtyClient.open(server, id, `takeover=1&since=${since}`);
		expect([since, other.replay?.offset]).toEqual([since, offset]);
		expect(other.replay?.bytes.toString()).toBe(offset === undefined ? undefined : "0123456789".slice(offset));
	}
});

test("2.17: a client's close is echoed, and the program continues", async () => {
	const { server, id, client } = await opened();
	client.socket.close(1000, "bye");
	expect((await client.closed).code).toBe(1000);
	expect((await statusOf(server, id)).running).toBe(true);
});
