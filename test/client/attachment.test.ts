/** Attachments over a WebSocket, against a server as it runs in production. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type Attachment, type AttachmentEvent, type Client, connect, offsetsOf } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN, times: { firstRetryMs: 5, lastRetryMs: 50 } });
});
afterAll(() => server.close());

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Reads without detaching until the text arrives. */
async function readUntil(attachment: Attachment, wanted: string): Promise<string> {
	let text = "";
	while (!text.includes(wanted)) {
		const { value, done } = await attachment.next();
		if (done) throw new Error(`ended after ${JSON.stringify(text)}`);
		if (value.kind === "output") text += decode(value.bytes);
	}
	return text;
}

async function kindOf<K extends AttachmentEvent["kind"]>(
	attachment: Attachment,
	kind: K,
): Promise<Extract<AttachmentEvent, { kind: K }>> {
	for (;;) {
		const { value, done } = await attachment.next();
		if (done) throw new Error(`ended without ${kind}`);
		if (value.kind === kind) return value as Extract<AttachmentEvent, { kind: K }>;
	}
}

describe("reading", () => {
	it("an attachment yields all events in order, and ends after closed", async () => {
		const session = await client.sessions.create({
			command: "echo out; sleep 0.1; echo err >&2; exit 3",
			mode: "pipe",
		});
		const seen: AttachmentEvent[] = [];
		for await (const event of session.attach()) if (event.kind !== "connection") seen.push(event);
		expect(seen.map((event) => ("bytes" in event ? { ...event, bytes: decode(event.bytes) } : event))).toEqual([
			{ kind: "output", stream: "stdout", offset: 0, bytes: "out\n" },
			{ kind: "output", stream: "stderr", offset: 4, bytes: "err\n" },
			{ kind: "exited", offset: 8, exit: { code: 3, signal: null } },
			{ kind: "closed", offset: 8 },
		]);
	});

	it("an attachment starts with the screen if requested, and continues with the first byte after it", async () => {
		const session = await client.sessions.create({
			command: "stty -echo; printf shown; read -r x; printf ' more'; read -r x",
		});
		// A screen that is not available at once is replaced by output.
		await session.wait({ screen: "shown" });
		const attachment = session.attach({ from: "screen" });
		const screen = await kindOf(attachment, "screen");
		expect(screen).toMatchObject({ offset: 5, cols: 80, rows: 24, isFirst: true });
		expect(decode(screen.bytes)).toContain("shown");
		await attachment.write("\n");
		const output = await kindOf(attachment, "output");
		expect([output.offset, decode(output.bytes)]).toEqual([5, " more"]);
		await session.kill();
	});

	it("reconnect starts with the screen again, skips output in it, and sends pending input once", async () => {
		const session = await client.sessions.create({
			command: 'stty -echo; printf shown; while read -r x; do printf "<$x>"; done',
		});
		await session.wait({ screen: "shown" });
		const states: string[] = [];
		const attachment = session.attach({ from: "screen", onConnection: ({ state }) => states.push(state) });
		await kindOf(attachment, "screen");
		await attachment.write("one\n");
		await session.wait({ match: /<one>/ });
		const writing = attachment.write("two\n");
		attachment.reconnect({ from: "screen" });
		await writing;
		const { offset, bytes, isFirst } = await kindOf(attachment, "screen");
		expect(isFirst).toBe(true);
		expect(decode(bytes)).toContain("shown<one>");
		const rest = offset === 10 ? await readUntil(attachment, "<two>") : decode(bytes);
		expect(rest.match(/<two>/g)).toHaveLength(1);
		await attachment.write("three\n");
		expect(await readUntil(attachment, "<three>")).toBe("<three>");
		// A requested reconnect is not a loss.
		expect(states).toEqual(["connected", "connected"]);
		await session.kill();
	});

	it("an attachment sends a size that was set while it was connecting", async () => {
		const session = await client.sessions.create({ argv: ["cat"], cols: 80, rows: 24 });
		let attachment: Attachment | undefined;
		class Eager extends WebSocket {
			override send(data: string): void {
				super.send(data);
				if (data.includes('"hello"')) attachment?.setSize({ cols: 101, rows: 31 });
			}
		}
		const eager = connect({ url: server.url, token: TOKEN, WebSocket: Eager as never });
		attachment = eager.sessions.at(session.id).attach();
		expect(await kindOf(attachment, "resized")).toMatchObject({ cols: 101, rows: 31 });
		await session.kill();
	});

	it("an attachment starts with the output if there is no screen or the server is too old", async () => {
		const pipes = await client.sessions.create({ command: "printf abc", mode: "pipe" });
		expect((await kindOf(pipes.attach({ from: "screen" }), "output")).offset).toBe(0);
		// A server refuses unknown fields, whatever they are.
		const session = await client.sessions.create({ command: "printf abc" });
		const unknown = session.attach({ from: "scroll" as "screen" });
		expect(decode((await kindOf(unknown, "output")).bytes)).toBe("abc");
	});

	it("an attachment starts at any offset, also at the end and beyond", async () => {
		const session = await client.sessions.create({ command: "printf abcdef", mode: "pipe" });
		await session.wait({ exit: true });
		expect(await new Response(session.attach({ since: 4 }).bytes).text()).toBe("ef");
		expect(await new Response(session.attach({ since: 400 }).bytes).text()).toBe("");
		expect(await new Response(session.attach({ since: "end" }).bytes).text()).toBe("");
	});

	it("dropped output is a gap among events, and an error in a byte stream", async () => {
		const small = await client.sessions.create({
			command: "head -c 300000 /dev/zero",
			mode: "pipe",
			retain: { memoryBytes: 65_536 },
		});
		await small.wait({ exit: true });
		const attachment = small.attach();
		const { from, to, reason } = await kindOf(attachment, "gap");
		expect({ from, reason }).toEqual({ from: 0, reason: "retention" });
		expect((await kindOf(attachment, "output")).offset).toBe(to);
		await attachment.detach();
		await expect(new Response(small.attach().bytes).text()).rejects.toMatchObject({ code: "limit_exceeded" });
	});

	it("the server sends at most one window ahead of the reader", async () => {
		const session = await client.sessions.create({
			command: "read go; head -c 3000000 /dev/zero; echo done",
			mode: "pipe",
		});
		const attachment = session.attach();
		await attachment.write("go\n");
		let bytes = 0;
		for await (const event of attachment) {
			if (event.kind !== "output") continue;
			bytes += event.bytes.byteLength;
			const offsets = offsetsOf(await session.info());
			// One window in flight, and what the server keeps for a lossless reader.
			expect(offsets.end - bytes).toBeLessThan(262_144 + 2 * 1024 * 1024);
		}
		expect(bytes).toBe(3_000_005);
	});

	it("an attachment ends quietly when aborted, and when its loop ends", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const controller = new AbortController();
		const attachment = session.attach({ signal: controller.signal });
		const reading = readUntil(attachment, "never");
		await expect.poll(async () => (await session.info()).attachments).toBe(1);
		controller.abort();
		await expect(reading).rejects.toThrow("ended after");
		await expect(attachment.write("x")).rejects.toMatchObject({ name: "AbortError" });
		for await (const event of session.attach()) if (event.kind === "connection") break;
		await expect.poll(async () => (await session.info()).attachments).toBe(0);
	});
});

describe("acting", () => {
	it("a write resolves when the kernel has it", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const attachment = session.attach();
		await Promise.all(["a", "b", "c"].map((text) => attachment.write(text)));
		expect(await readUntil(attachment, "abc")).toBe("abc");
		await attachment.eof();
		expect((await kindOf(attachment, "exited")).exit).toEqual({ code: 0, signal: null });
		await kindOf(attachment, "closed");
		await expect(attachment.write("x")).rejects.toMatchObject({ code: "session_closed" });
	});

	it("a write larger than the window waits for the program, and an urgent signal overtakes it", async () => {
		const session = await client.sessions.create({ argv: ["sleep", "1000"], mode: "pipe" });
		const attachment = session.attach();
		const writing = attachment.write(new Uint8Array(1_000_000));
		writing.catch(() => {});
		const reading = kindOf(attachment, "exited");
		await attachment.signal("TERM", { urgent: true }).catch(() => {});
		expect((await reading).exit).toMatchObject({ signal: "SIGTERM" });
		await kindOf(attachment, "closed");
		await expect(writing).rejects.toMatchObject({ code: "session_closed" });
	});

	it("resizes and signals keep their order with writes", async () => {
		const session = await client.sessions.create({
			command: "stty raw -echo; printf READY; exec cat",
			cols: 80,
			rows: 24,
		});
		const attachment = session.attach();
		await readUntil(attachment, "READY");
		await attachment.resize({ cols: 100, rows: 30 });
		expect(await kindOf(attachment, "resized")).toMatchObject({ cols: 100, rows: 30 });
		await attachment.signal("int");
		expect((await kindOf(attachment, "exited")).exit).toEqual({ code: null, signal: "SIGINT" });
		expect(() => attachment.signal("NONSENSE")).toThrow("unknown signal");
		expect(() => attachment.resize({ cols: 0, rows: 1 })).toThrow("cols");
	});

	it("an aborted write that was not sent is removed", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const attachment = session.attach();
		const controller = new AbortController();
		const taken = attachment.write("no", { signal: controller.signal });
		controller.abort();
		await expect(taken).rejects.toMatchObject({ name: "AbortError" });
		await attachment.write("yes");
		expect(await readUntil(attachment, "yes")).toBe("yes");
		await attachment.detach();
	});
});

describe("control", () => {
	it("exclusive control blocks other writers until it is released or taken by force", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const other = session.attach();
		// A later client learns it from the welcome, not from an event.
		await kindOf(other, "connection");
		const mine = session.attach({ exclusive: true });
		expect(await kindOf(mine, "lease")).toMatchObject({ lease: { mine: true, exclusive: true } });
		expect(await kindOf(other, "lease")).toMatchObject({ lease: { mine: false, exclusive: true } });
		await expect(other.write("x")).rejects.toMatchObject({ code: "not_writable" });
		await expect(other.take()).rejects.toMatchObject({ code: "not_writable" });
		expect(await other.take({ force: true })).toMatchObject({ mine: true });
		expect(await kindOf(mine, "lease")).toMatchObject({ lease: { mine: false, exclusive: true } });
		await expect(mine.write("x")).rejects.toMatchObject({ code: "not_writable" });
		await other.write("other");
		expect(await other.release()).toMatchObject({ mine: false, exclusive: false });
		await expect
			.poll(() =>
				mine.write(" mine").then(
					() => true,
					() => false,
				),
			)
			.toBe(true);
		expect(await readUntil(mine, "mine")).toBe("other mine");
		await Promise.all([mine.detach(), other.detach()]);
	});

	it("viewers can't take control", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const viewer = session.attach({ role: "viewer" });
		await expect(viewer.write("x")).rejects.toMatchObject({ code: "not_writable" });
		await expect(viewer.take()).rejects.toMatchObject({ code: "not_writable" });
		await viewer.detach();
	});
});

describe("a permanent error", () => {
	it("a permanent error is thrown with the server's message", async () => {
		await expect(client.sessions.at("nosuchsession").attach().next()).rejects.toMatchObject({
			code: "session_not_found",
		});
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const stranger = connect({ url: server.url, token: "wrong" });
		await expect(stranger.sessions.at(session.id).attach().next()).rejects.toMatchObject({ code: "unauthenticated" });
		const attachment = session.attach();
		await kindOf(attachment, "connection");
		await session.remove();
		const ending = (async () => {
			for await (const event of attachment) if (event.kind === "closed") return "closed";
			return "ended";
		})();
		// Whichever comes first: the exit caused by the removal, or the removal.
		expect(await ending.catch((error: { code: string }) => error.code)).toMatch(/closed|session_not_found/);
	});

	it("a server unreachable for longer than the timeout is a permanent error", async () => {
		const states: string[] = [];
		const lost = connect({ url: "http://127.0.0.1:9", times: { firstRetryMs: 1, lastRetryMs: 5 } });
		const attachment = lost.sessions
			.at("x")
			.attach({ reconnectTimeoutMs: 50, onConnection: ({ state }) => states.push(state) });
		await expect(kindOf(attachment, "output")).rejects.toMatchObject({ code: "node_unavailable" });
		expect(new Set(states)).toEqual(new Set(["disconnected"]));
	});
});
