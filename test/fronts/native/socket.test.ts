import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { TestSocket } from "../../support/socket-client.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ principals: { reader: principalWith(["read"]), stranger: principalWith([]) } });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

const cat = async () => (await server.create({ argv: ["cat"], mode: "pipe" })).id;
/** A terminal that shows only printed output. */
const quietTerminal = async (script: string) =>
	(await server.create({ command: `stty -echo; printf READY; ${script}` })).id;

describe("a connection", () => {
	it("a connection gets a welcome, carries bytes both ways, and ends after everything was sent", async () => {
		const { id } = await server.create({ command: 'read line; printf "got $line"; exit 3', mode: "pipe" });
		const client = await TestSocket.open(server.url, id, { stream: "a" });
		expect(client.messages[0]).toEqual({
			type: "welcome",
			session: expect.objectContaining({ id, state: "running" }),
			output: { from: 0, oldest: 0, end: 0 },
			input: { next: 0, written: 0, window: 131072 },
			lease: { fence: 0, holder: null, exclusive: false, mine: false },
		});
		client.type(0, "hello\n");
		expect(await client.closed).toEqual({ code: 1000, reason: "the session has ended" });
		expect(client.output.toString()).toBe("got hello");
		expect(client.receipt).toEqual({ next: 6, written: 6 });
		expect(client.messages.slice(1)).toEqual([
			{ type: "exited", offset: expect.any(Number), exit: { code: 3, signal: null } },
			{ type: "closed", offset: 9 },
		]);
	});

	it("stdout and stderr are distinguished, and available output is joined into frames with their offset", async () => {
		const script = "head -c 300000 /dev/zero; sleep 0.1; printf oops >&2; sleep 0.1; printf end";
		const { id } = await server.create({ command: script, mode: "pipe" });
		const client = await TestSocket.open(server.url, id, { role: "viewer" });
		await client.closed;
		const frames = client.received.flatMap((one) => ("kind" in one && one.kind === "output" ? [one] : []));
		let next = 0;
		for (const { offset, bytes } of frames) {
			expect(offset).toBe(next);
			expect(bytes.byteLength).toBeLessThanOrEqual(65536);
			next += bytes.byteLength;
		}
		const stderr = frames.filter(({ stream }) => stream === "stderr").map(({ bytes }) => Buffer.from(bytes).toString());
		expect({ next, stderr }).toEqual({ next: 300_007, stderr: ["oops"] });
		const again = await TestSocket.open(server.url, id, { role: "viewer" });
		await again.closed;
		expect(again.output.equals(client.output)).toBe(true);
		expect(again.received.filter((one) => "kind" in one && one.kind === "output").length).toBeLessThan(10);
	});

	it("a connection starts where requested: inside, at the end, or at the end for offsets beyond it", async () => {
		const { id } = await server.create({ command: "printf 0123456789; read x; printf more", mode: "pipe" });
		const first = await TestSocket.open(server.url, id);
		await first.text((text) => text === "0123456789");
		const inside = await TestSocket.open(server.url, id, { since: 4 });
		const end = await TestSocket.open(server.url, id, { since: "end" });
		const beyond = await TestSocket.open(server.url, id, { since: 1000 });
		const from = (client: TestSocket) => client.messages[0]?.type === "welcome" && client.messages[0].output.from;
		expect([inside, end, beyond].map(from)).toEqual([4, 10, 10]);
		first.type(0, "\n");
		expect(await inside.text((text) => text.endsWith("more"))).toBe("456789more");
		expect(await end.text((text) => text.endsWith("more"))).toBe("more");
		expect(await beyond.text((text) => text.endsWith("more"))).toBe("more");
	});

	it("a connection to an ended session reports the exit, whatever it requests", async () => {
		const { id } = await server.create({ command: "printf x; exit 4", mode: "pipe" });
		await (await TestSocket.open(server.url, id)).closed;
		for (const since of [0, "end", 99] as const) {
			const client = await TestSocket.open(server.url, id, { since, role: "viewer" });
			expect((await client.closed).code).toBe(1000);
			expect(client.messages.map(({ type }) => type)).toEqual(["welcome", "exited", "closed"]);
		}
	});

	it("a ping is answered with its nonce", async () => {
		const client = await TestSocket.open(server.url, await cat());
		client.say({ type: "ping", nonce: "n1" });
		expect(await client.message("pong")).toEqual({ type: "pong", nonce: "n1" });
		client.cut();
	});
});

describe("input over a WebSocket", () => {
	it("typed bytes, resizes and signals stay in one order", async () => {
		const id = await quietTerminal('while read -r line; do echo "[$line $(stty size)]"; done');
		const client = await TestSocket.open(server.url, id, { stream: "s" });
		await client.text((text) => text.includes("READY"));
		client.type(0, "one\n");
		await client.text((text) => text.includes("[one 24 80]"));
		client.say({ type: "resize", position: 4, cols: 100, rows: 30 });
		client.type(5, "two\n");
		await client.text((text) => text.includes("[two 30 100]"));
		client.say({ type: "signal", position: 9, signal: "INT" });
		expect(await client.message("exited")).toMatchObject({ exit: { code: null, signal: "SIGINT" } });
		expect(client.messages.filter(({ type }) => type === "resized")).toMatchObject([{ cols: 100, rows: 30 }]);
		await client.until("receipt", () => client.receipt?.written === 10);
		expect(client.receipt).toEqual({ next: 10, written: 10 });
		expect((await client.closed).code).toBe(1000);
	});

	it("eof ends input", async () => {
		const client = await TestSocket.open(server.url, await cat());
		client.type(0, "last");
		client.say({ type: "eof", position: 4 });
		expect((await client.closed).code).toBe(1000);
		expect(client.output.toString()).toBe("last");
	});

	it("repeated input is applied once, over any number of connections", async () => {
		const id = await cat();
		const first = await TestSocket.open(server.url, id, { stream: "s" });
		first.type(0, "hello ");
		await first.until("receipt", () => first.receipt?.next === 6);
		first.cut();
		const second = await TestSocket.open(server.url, id, { stream: "s" });
		const [welcome] = second.messages;
		expect(welcome).toMatchObject({ input: { next: 6 } });
		second.type(0, "hello ");
		second.type(3, "lo world");
		expect(await second.text((text) => text.endsWith("world"))).toBe("hello world");
		second.cut();
	});

	it("input after a gap is refused with the expected position, and continues from there", async () => {
		const client = await TestSocket.open(server.url, await cat(), { stream: "s" });
		client.type(0, "ab");
		client.type(7, "too far");
		expect(await client.message("error")).toMatchObject({ code: "invalid_argument", position: 2 });
		client.say({ type: "eof", position: 9 });
		await client.until("second error", () => client.messages.filter(({ type }) => type === "error").length === 2);
		client.type(2, "cd");
		expect(await client.text((text) => text.length >= 4)).toBe("abcd");
		client.cut();
	});

	it("input that fails uses no position and is named by its position", async () => {
		const client = await TestSocket.open(server.url, await cat());
		client.say({ type: "resize", position: 0, cols: 1, rows: 1 });
		expect(await client.message("error")).toMatchObject({ code: "unsupported", position: 0 });
		client.type(0, "x");
		expect(await client.text((text) => text === "x")).toBe("x");
		client.cut();
	});

	it("input beyond the window is not accepted, and the connection is read on", async () => {
		const { id } = await server.create({ argv: ["sleep", "60"], mode: "pipe" });
		const client = await TestSocket.open(server.url, id);
		client.type(0, Buffer.alloc(1_000_000));
		client.say({ type: "ping" });
		await client.message("pong");
		await client.until("receipt", () => client.receipt);
		expect(client.receipt?.next).toBeLessThanOrEqual(131072 + 65536 * 16);
		expect(client.receipt?.next).toBeLessThan(1_000_000);
		client.cut();
	});

	it("input of a viewer, and of a caller with read rights, is refused and the connection stays", async () => {
		const id = await cat();
		const viewer = await TestSocket.open(server.url, id, { role: "viewer" });
		const reader = await TestSocket.open(server.url, id, { role: "writer" }, { token: "reader" });
		const writer = await TestSocket.open(server.url, id);
		for (const client of [viewer, reader]) {
			client.type(0, "no");
			client.say({ type: "signal", position: 2, signal: "KILL", urgent: true });
			client.say({ type: "take", exclusive: true, force: true });
			await client.until("errors", () => client.messages.filter(({ type }) => type === "error").length === 3);
		}
		const codes = (client: TestSocket) =>
			client.messages.flatMap((message) => (message.type === "error" ? [message.code] : []));
		expect(codes(viewer)).toEqual(["not_writable", "not_writable", "not_writable"]);
		expect(codes(reader)).toEqual(["permission_denied", "permission_denied", "permission_denied"]);
		writer.type(0, "yes");
		for (const client of [viewer, reader, writer]) {
			expect(await client.text((text) => text.length >= 3)).toBe("yes");
			client.cut();
		}
	});
});

describe("control over a WebSocket", () => {
	it("control is taken, refused to others, taken by force, and free again when its holder leaves", async () => {
		const id = await cat();
		const ada = await TestSocket.open(server.url, id, { stream: "ada" });
		const bob = await TestSocket.open(server.url, id, { stream: "bob" });
		ada.say({ type: "take", exclusive: true, force: false });
		ada.type(0, "ada ");
		const taken = await ada.message("lease");
		expect(taken.lease).toMatchObject({ mine: true, exclusive: true });
		expect((await bob.message("lease")).lease).toEqual({ ...taken.lease, mine: false });
		await ada.text((text) => text === "ada ");

		bob.type(0, "bob ");
		expect(await bob.message("error")).toMatchObject({ code: "not_writable", position: 0 });
		bob.say({ type: "take", exclusive: true, force: false });
		await bob.until("refusal", () => bob.messages.filter(({ type }) => type === "error").length === 2);
		bob.say({ type: "take", exclusive: true, force: true });
		bob.type(0, "bob ");
		expect((await ada.message("lease", ({ lease }) => !lease.mine)).lease.fence).toBe(taken.lease.fence + 1);
		ada.type(4, "late");
		expect(await ada.message("error")).toMatchObject({ code: "not_writable", position: 4 });

		bob.cut();
		await ada.message("lease", ({ lease }) => lease.holder === null);
		ada.type(4, "back");
		expect(await ada.text((text) => text.endsWith("back"))).toBe("ada bob back");
		ada.cut();
	});

	it("control returns to a client that reconnects, without force", async () => {
		const id = await cat();
		const first = await TestSocket.open(server.url, id, { stream: "same" });
		first.say({ type: "take", exclusive: true, force: false });
		await first.message("lease");
		const second = await TestSocket.open(server.url, id, { stream: "same" });
		second.say({ type: "take", exclusive: true, force: false });
		expect((await second.message("lease")).lease.mine).toBe(true);
		expect((await first.message("lease", ({ lease }) => !lease.mine)).lease.exclusive).toBe(true);
		first.cut();
		second.say({ type: "release" });
		expect((await second.message("lease", ({ lease }) => !lease.mine)).lease).toMatchObject({ holder: null });
		second.cut();
	});
});

describe("an upgrade", () => {
	const refusal = (id: string, options: ConstructorParameters<typeof TestSocket>[2]) =>
		new Promise<{ status: number; protocol: unknown; body: string }>((resolve, reject) => {
			const { socket } = new TestSocket(server.url, id, options);
			socket.on("open", () => reject(new Error("it was opened")));
			socket.on("unexpected-response", (_request, response) => {
				const protocol = response.headers["sec-websocket-protocol"];
				text(response).then((body) => resolve({ status: response.statusCode ?? 0, protocol, body }), reject);
			});
		});

	it.each([
		["to a missing session", "nosuchsession", {}, 404, "session_not_found"],
		["to an invisible session", "", { token: "stranger" }, 404, "session_not_found"],
		["without a valid token", "", { token: "wrong" }, 401, "unauthenticated"],
		["without the subprotocol", "", { protocols: [] }, 400, "invalid_argument"],
		["with another subprotocol", "", { protocols: ["ticket.abc", "tty"] }, 400, "invalid_argument"],
		["for another host", "", { headers: { host: "evil.example" } }, 403, "permission_denied"],
	])("%s is refused before the upgrade", async (_, given, options, status, code) => {
		const id = given || (await cat());
		const answer = await refusal(id, options);
		expect(answer).toMatchObject({ status, protocol: undefined });
		expect(JSON.parse(answer.body).error.code).toBe(code);
	});

	it.each(["/v1/nothing", "/healthz"])("an upgrade to %s is answered, and its connection ends", async (path) => {
		const { port } = new URL(server.url);
		const client = connect({ port: Number(port), host: "127.0.0.1" });
		const lines = [
			`GET ${path} HTTP/1.1`,
			"Host: localhost",
			"Connection: Upgrade",
			"Upgrade: websocket",
			"Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
			"Sec-WebSocket-Protocol: hawser.v1",
		];
		client.write(`${lines.join("\r\n")}\r\n\r\n`);
		expect(await text(client)).toMatch(/^HTTP\/1.1 (404|200) /);
	});

	it("an error never repeats a ticket", async () => {
		const client = new TestSocket(server.url, await cat(), { protocols: ["ticket.secret", "hawser.v1"] });
		await client.opened();
		expect(client.socket.protocol).toBe("hawser.v1");
		client.cut();
	});

	it("a request without a credential is asked for one", async () => {
		const response = await server.request(`/v1/sessions/${await cat()}/attach`);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { code: "invalid_argument" } });
	});
});
