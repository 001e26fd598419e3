import { afterEach, describe, expect, it } from "vitest";
import type { SocketLimits } from "../../../src/fronts/native/limits.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { TestSocket } from "../../support/socket-client.ts";

let server: TestServer;
afterEach(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

const start = async (socketLimits: Partial<SocketLimits> = {}, options: Parameters<typeof startTestServer>[0] = {}) => {
	server = await startTestServer({ socketLimits, ...options });
	return (await server.create({ argv: ["cat"], mode: "pipe" })).id;
};
const hello = { type: "hello", since: 0, role: "writer", flow: "lossless" } as const;

describe("connections closed by the server", () => {
	it("a client without a hello in time is closed with 4001", async () => {
		const id = await start({ helloMs: 30 });
		const client = new TestSocket(server.url, id);
		expect(await client.closed).toEqual({ code: 4001, reason: "no hello within 30 ms" });
	});

	const violations: [what: string, sent: (string | Buffer)[], code: number][] = [
		["no JSON", ["{"], 4000],
		["no object", ["null"], 4000],
		["an unknown message first", ['{"type":"nothing"}'], 4000],
		["something else before hello", ['{"type":"ping"}'], 4000],
		["bytes before hello", [Buffer.alloc(9)], 4000],
		["hello with a negative offset", [JSON.stringify({ ...hello, since: -1 })], 4000],
		["hello with half an offset", [JSON.stringify({ ...hello, since: 0.5 })], 4000],
		["hello with an offset of 2^53", [JSON.stringify({ ...hello, since: 2 ** 53 })], 4000],
		["hello with an unknown key", [JSON.stringify({ ...hello, token: "x" })], 4000],
		["hello with an escape in its stream", [JSON.stringify({ ...hello, stream: "\u001b[31m" })], 4000],
		["hello twice", [JSON.stringify(hello), JSON.stringify(hello)], 4000],
		["an unknown message", [JSON.stringify(hello), '{"type":"shout"}'], 4000],
		["an unknown frame", [JSON.stringify(hello), Buffer.from([9, 0, 0, 0, 0, 0, 0, 0, 0])], 4000],
		["a frame that is too short", [JSON.stringify(hello), Buffer.from([0, 0, 0])], 4000],
		["an empty frame", [JSON.stringify(hello), Buffer.alloc(0)], 4000],
		["a position of 2^53", [JSON.stringify(hello), Buffer.from("000020000000000000", "hex")], 4000],
		["an acknowledgement of unsent bytes", [JSON.stringify(hello), Buffer.from("040000000000000001", "hex")], 4000],
		["a size of zero", [JSON.stringify(hello), '{"type":"resize","position":0,"cols":0,"rows":1}'], 4000],
		["an unknown signal", [JSON.stringify(hello), '{"type":"signal","position":0,"signal":"BANG"}'], 4000],
		["a text of more than 64 KiB", [`"${"x".repeat(65536)}"`], 4009],
		["a frame of more than 1 MiB", [JSON.stringify(hello), Buffer.alloc(1024 * 1024 + 1)], 4009],
		["a frame of 8 MiB", [JSON.stringify(hello), Buffer.alloc(8 * 1024 * 1024)], 4009],
	];
	it("a client that violates the protocol is closed, and others notice nothing", async () => {
		const id = await start();
		const other = await TestSocket.open(server.url, id);
		for (const [what, sent, code] of violations) {
			const client = new TestSocket(server.url, id);
			await client.opened();
			for (const message of sent) client.socket.send(message);
			expect({ what, code: (await client.closed).code }).toEqual({ what, code });
		}
		other.type(0, "fine");
		expect(await other.text((text) => text.length >= 4)).toBe("fine");
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.attachments).toBe(1);
		other.cut();
	});

	it("a client is closed with 4003 when its token is revoked", async () => {
		const revocation = new AbortController();
		const guest = principalWith(["read"], { revoked: revocation.signal });
		const id = await start({}, { principals: { guest } });
		const client = await TestSocket.open(server.url, id, { role: "viewer" }, { token: "guest" });
		const admin = await TestSocket.open(server.url, id);
		revocation.abort();
		expect((await client.closed).code).toBe(4003);
		admin.say({ type: "ping" });
		await admin.message("pong");
		admin.cut();
	});

	it("a client is closed with 1001 when the server closes", async () => {
		const id = await start();
		const client = await TestSocket.open(server.url, id);
		await server.close();
		expect((await client.closed).code).toBe(1001);
	});

	it("a client is closed when it does not answer a ping", async () => {
		const id = await start({ pingMs: 20, deadMs: 20 });
		const client = await TestSocket.open(server.url, id);
		const alive = await TestSocket.open(server.url, id);
		// A dead peer answers nothing at all.
		client.socket.pong = () => {};
		client.socket.pause();
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.attachments).toBe(1);
		alive.say({ type: "ping" });
		await alive.message("pong");
		client.cut();
		alive.cut();
	});
});

describe("a client that does not consume", () => {
	const flood = { command: "head -c 20000000 /dev/zero; printf END", mode: "pipe" };

	it("a client that does not consume gets one window, costs no more, and delays no other", async () => {
		await start({ ackMs: 60_000 }, { memoryBytes: 1024 * 1024 });
		const { id } = await server.create({ ...flood, command: `read x; ${flood.command}` });
		const lazy = await TestSocket.open(server.url, id, { flow: "live", role: "viewer" }, { acks: false });
		const quick = await TestSocket.open(server.url, id, { flow: "lossless" });
		quick.type(0, "\n");
		await quick.closed;
		expect(quick.output.byteLength).toBe(20_000_003);
		await lazy.until("its window", () => lazy.output.byteLength >= 262_144);
		expect(lazy.output.byteLength).toBe(262_144);
		lazy.startAcking();
		const gap = await lazy.message("gap");
		expect(gap).toMatchObject({ from: expect.any(Number), to: expect.any(Number), reason: expect.any(String) });
		expect((await lazy.closed).code).toBe(1000);
		expect(lazy.output.byteLength + gapBytes(lazy)).toBe(20_000_003);
		expect(lazy.output.toString("latin1").endsWith("END")).toBe(true);
	});

	it("a client that does not consume is closed with 4008 after a while", async () => {
		await start({ ackMs: 50 });
		const { id } = await server.create(flood);
		const lazy = await TestSocket.open(server.url, id, { flow: "live", role: "viewer" }, { acks: false });
		expect((await lazy.closed).code).toBe(4008);
		expect(lazy.output.byteLength).toBe(262_144);
	});

	it("a client is closed with 4008 when its answers pile up", async () => {
		const id = await start({ cutBytes: 256 * 1024, closeMs: 50, textsPerSecond: 1_000_000 });
		const client = await TestSocket.open(server.url, id);
		client.socket.pause();
		let isOver = false;
		const over = client.closed.then(() => {
			isOver = true;
		});
		const nonce = "n".repeat(256);
		const flooding = setInterval(() => {
			for (let count = 0; count < 2000 && !isOver; count++) client.say({ type: "ping", nonce });
		}, 5);
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.attachments, { timeout: 20_000 }).toBe(0);
		clearInterval(flooding);
		client.cut();
		await over;
	});

	it("a client that does not consume the last output is still closed with 1000", async () => {
		await start({ lastAckMs: 30 });
		const { id } = await server.create({ command: "printf bye", mode: "pipe" });
		const client = await TestSocket.open(server.url, id, {}, { acks: false });
		expect((await client.closed).code).toBe(1000);
		expect(client.output.toString()).toBe("bye");
	});
});

function gapBytes(client: TestSocket): number {
	return client.messages.reduce((sum, one) => (one.type === "gap" ? sum + one.to - one.from : sum), 0);
}
