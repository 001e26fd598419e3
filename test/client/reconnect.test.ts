/** How an attachment detects a dead connection, and what it does on the next one. */

import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { type Attachment, type AttachmentEvent, connect } from "../../src/client/index.ts";
import { type Fault, FaultProxy, type Plan } from "../support/fault-proxy.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

const times = { connectMs: 15_000, pingMs: 50, deadMs: 150, firstRetryMs: 1, lastRetryMs: 20 };

let server: TestServer;
let proxy: FaultProxy;
/** Faults of the next connections, in order; later ones have none. */
let plans: (Plan | undefined)[];
beforeEach(async () => {
	plans = [];
	server = await startTestServer();
	proxy = new FaultProxy({ target: () => new URL(server.url), plan: () => plans.shift() });
	await proxy.start();
});
afterEach(async () => {
	await proxy.close();
	await server.close();
});

async function readUntil(attachment: Attachment, wanted: string): Promise<string> {
	let text = "";
	while (!text.includes(wanted)) {
		const { value, done } = await attachment.next();
		if (done) throw new Error(`ended after ${JSON.stringify(text)}`);
		if (value.kind === "output") text += new TextDecoder().decode(value.bytes);
	}
	return text;
}

it.each<Fault>(["cut", "reset", "blackhole"])(
	"a connection that ends by %s is replaced, in the handshake or after it",
	async (fault) => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		plans = [
			// In the request, and in the response to the request for the error.
			{ fault, direction: "up", afterBytes: 20 },
			{ fault, direction: "down", afterBytes: 20 },
			// In the welcome, and again in that request.
			{ fault, direction: "down", afterBytes: 300 },
			{ fault, direction: "up", afterBytes: 20 },
			// In the input.
			{ fault, direction: "up", afterBytes: 1_500 },
		];
		const states: string[] = [];
		const impatient = { ...times, connectMs: 500 };
		const session = connect({ url: proxy.url, token: TOKEN, times: impatient }).sessions.at(id);
		const attachment = session.attach({ onConnection: ({ state }) => states.push(state) });
		const text = "0123456789".repeat(500);
		const writing = attachment.write(`${text}!`);
		expect(await readUntil(attachment, "!")).toBe(`${text}!`);
		await writing;
		expect(proxy.counts[fault]).toBeGreaterThanOrEqual(4);
		expect(states.at(-1)).toBe("connected");
		expect(states.filter((state) => state === "disconnected").length).toBeGreaterThanOrEqual(2);
		await attachment.detach();
	},
);

it("an idle connection does not count as dead", async () => {
	const { id } = await server.create({ command: "sleep 0.8; echo done; exec cat", mode: "pipe" });
	const states: string[] = [];
	// Shorter than the idle time, and long enough for an answer on a busy machine.
	const session = connect({ url: proxy.url, token: TOKEN, times: { ...times, deadMs: 600 } }).sessions.at(id);
	const attachment = session.attach({ onConnection: ({ state }) => states.push(state) });
	await readUntil(attachment, "done");
	expect(states).toEqual(["connected"]);
	await attachment.detach();
});

it("a session does not count as idle while the server is unreachable", async () => {
	const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
	// Half of that at least, which is longer than the idle time.
	const retryMs = 1_300;
	const slow = { ...times, firstRetryMs: retryMs, lastRetryMs: retryMs };
	const session = connect({ url: proxy.url, token: TOKEN, times: slow }).sessions.at(id);
	const idle = 600;
	const over = session.wait({ idle }).then((result) => ({ result, at: performance.now() }));
	await expect.poll(async () => (await session.info()).attachments).toBe(1);
	const cutAt = performance.now();
	proxy.cutAll();
	const { result, at } = await over;
	expect(result).toEqual({ kind: "idle", offset: 0 });
	expect(at - cutAt).toBeGreaterThanOrEqual(retryMs / 2 + idle);
});

it("an attachment finds a server that moved, and requests exclusive control again", async () => {
	const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
	let asked = 0;
	const locate = async () => {
		asked++;
		return { url: proxy.url, token: TOKEN, mustProve: false };
	};
	// The first connection asks whether a server is there.
	plans = [undefined, { fault: "cut", direction: "up", afterBytes: 1_500 }];
	const client = connect({ url: "http://127.0.0.1:9", token: TOKEN, locate, times });
	const attachment = client.sessions.at(id).attach({ exclusive: true });
	const events: AttachmentEvent["kind"][] = [];
	const writing = attachment.write("x".repeat(5_000)).then(() => attachment.write("!"));
	for (let text = ""; !text.includes("!"); ) {
		const { value } = await attachment.next();
		if (value) events.push(value.kind);
		if (value?.kind === "output") text += new TextDecoder().decode(value.bytes);
		if (value?.kind === "lease" && value.lease.exclusive) expect(value.lease.mine).toBe(true);
	}
	await writing;
	expect(asked).toBeGreaterThanOrEqual(2);
	expect((await (await server.request(`/v1/sessions/${id}`)).json()) as object).toMatchObject({
		lease: { exclusive: true },
	});
	await attachment.detach();
});

it("output that arrived before a lost connection can be read without a connection", async () => {
	const { id } = await server.create({ command: "printf before; exec cat", mode: "pipe" });
	let told: () => void = () => {};
	const disconnected = new Promise<void>((resolve) => {
		told = resolve;
	});
	const slow = { ...times, firstRetryMs: 60_000, lastRetryMs: 60_000 };
	plans = [{ fault: "blackhole", direction: "up", afterBytes: 1_200 }];
	const printed = connect({ url: server.url, token: TOKEN }).sessions.at(id);
	await expect.poll(async () => (await printed.info()).offsets?.end).toBe("before".length);
	const session = connect({ url: proxy.url, token: TOKEN, times: slow }).sessions.at(id);
	const attachment = session.attach({ onConnection: ({ state }) => state === "disconnected" && told() });
	attachment.write("x".repeat(2_000)).catch(() => {});
	await disconnected;
	expect(await readUntil(attachment, "before")).toMatch(/^before/);
	await attachment.detach();
});

it("a reader dropped by the server continues at its position when it reads again", async () => {
	const impatient = await startTestServer({ memoryBytes: 4 * 1024 * 1024, socketLimits: { ackMs: 100 } });
	onTestFinished(() => impatient.close());
	const { id } = await impatient.create({ command: "head -c 2000000 /dev/zero", mode: "pipe" });
	const states: string[] = [];
	// Only the server gives up.
	const session = connect({ url: impatient.url, token: TOKEN, times: { ...times, deadMs: 10_000 } }).sessions.at(id);
	const attachment = session.attach({ onConnection: ({ state }) => states.push(state) });
	// The connected state may be over before it is polled.
	await expect.poll(() => states).toEqual(["connected"]);
	await expect.poll(async () => (await session.info()).attachments).toBe(0);
	expect((await new Response(attachment.bytes).arrayBuffer()).byteLength).toBe(2_000_000);
	// Once, unless this process was suspended for that long again.
	expect(states.slice(0, 3)).toEqual(["connected", "disconnected", "connected"]);
	expect(states.at(-1)).toBe("connected");
});

it("an attachment waits for a server that restarts", async () => {
	const first = await startTestServer();
	const { id } = await first.create({ argv: ["cat"], mode: "pipe" });
	const seen: { state: string; message?: string }[] = [];
	let told: () => void = () => {};
	const disconnected = new Promise<void>((resolve) => {
		told = resolve;
	});
	const attachment = connect({ url: first.url, token: TOKEN, times })
		.sessions.at(id)
		.attach({
			onConnection: (event) => {
				seen.push(
					event.state === "connected" ? { state: event.state } : { state: event.state, message: event.error.message },
				);
				if (event.state === "disconnected") told();
				else void first.close();
			},
		});
	await disconnected;
	expect(seen.slice(0, 2)).toEqual([
		{ state: "connected" },
		{ state: "disconnected", message: expect.stringContaining("shutting down") },
	]);
	await attachment.detach();
});

it("reconnect() makes the next attempt at once", async () => {
	const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
	plans = [{ fault: "cut", direction: "up", afterBytes: 0 }];
	const patient = { ...times, firstRetryMs: 600_000, lastRetryMs: 600_000 };
	const attachment = connect({ url: proxy.url, token: TOKEN, times: patient }).sessions.at(id).attach();
	const { value } = await attachment.next();
	expect(value).toMatchObject({ kind: "connection", state: "disconnected" });
	attachment.reconnect();
	await attachment.write("here\n");
	expect(await readUntil(attachment, "here\n")).toBe("here\n");
	await attachment.detach();
});
