/** Attachments with tickets: the ticket function is called again only where that can help. */

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { type Client, connect, HawserError } from "../../src/client/index.ts";
import { CrashingServer } from "../support/crashing-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const times = { firstRetryMs: 1, lastRetryMs: 5 };

/** A browser's WebSocket does not report the status of a refused upgrade. */
class SilentSocket extends WebSocket {
	override emit(name: string | symbol, ...rest: unknown[]): boolean {
		if (name === "error") return super.emit("error", new Error("the connection failed"));
		return super.emit(name, ...rest);
	}
}

async function served(): Promise<{ server: CrashingServer; owner: Client; id: string }> {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const owner = connect({ url: server.url, token: await server.token() });
	const { id } = await owner.sessions.create({ argv: ["cat"], mode: "pipe" });
	return { server, owner, id };
}

test("an attachment calls a failing ticket function again, and reports why it waits", async () => {
	const { server, owner, id } = await served();
	const seen: string[] = [];
	let calls = 0;
	const ticket = async () => {
		if (++calls <= 2) throw new TypeError("fetch failed");
		// A proxy answers with a page while the backend is away.
		if (calls === 3) return JSON.parse("<html>login</html>").ticket;
		return (await owner.tickets.create({ session: id, right: "operate" })).ticket;
	};
	const attachment = connect({ url: server.url, times })
		.sessions.at(id)
		.attach({
			ticket,
			onConnection: (event) => seen.push(event.state === "connected" ? "connected" : event.error.message),
		});
	await attachment.write("hello\n");
	const failed = "the ticket function failed: fetch failed";
	expect(seen).toEqual([
		failed,
		failed,
		expect.stringContaining("the ticket function failed: Unexpected token"),
		"connected",
	]);
	expect(calls).toBe(4);
	await attachment.detach();
});

test("an attachment ends with a permanent error of its ticket function, and calls it once", async () => {
	const { server, id } = await served();
	const ticket = vi.fn(async (): Promise<string> => {
		throw new HawserError("permission_denied", "this user may not attach");
	});
	const attachment = connect({ url: server.url, times }).sessions.at(id).attach({ ticket });
	await expect(attachment.next()).rejects.toMatchObject({
		code: "permission_denied",
		message: "this user may not attach",
	});
	expect(ticket).toHaveBeenCalledTimes(1);
});

test("an attachment ends with a bug of its ticket function, and calls it once", async () => {
	const { server, id } = await served();
	const ticket = vi.fn(async (): Promise<string> => (undefined as unknown as { ticket: string }).ticket);
	const attachment = connect({ url: server.url, times }).sessions.at(id).attach({ ticket });
	await expect(attachment.next()).rejects.toMatchObject({
		code: "internal",
		message: expect.stringContaining("the ticket function failed: Cannot read properties of undefined"),
	});
	expect(ticket).toHaveBeenCalledTimes(1);
});

test.each([
	[undefined, "a value of type undefined"],
	[{ ticket: "abc" }, "a value of type object"],
	["", "not a valid ticket"],
	["two words", "not a valid ticket"],
	["a,b", "not a valid ticket"],
	["x".repeat(201), "not a valid ticket"],
])("an attachment sends nothing for the ticket %j and ends with invalid_argument", async (given, what) => {
	const listener = createServer().listen(0, "127.0.0.1");
	await once(listener, "listening");
	onTestFinished(() => void listener.close());
	let connections = 0;
	listener.on("connection", (socket) => {
		connections++;
		socket.destroy();
	});
	const { sessions } = connect({ url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, times });
	for (const ticket of [given as string, async () => given as string]) {
		await expect(
			sessions
				.at("one")
				.attach({ ticket: ticket ?? (() => ticket) })
				.next(),
		).rejects.toMatchObject({
			code: "invalid_argument",
			message: `the ticket of this attachment is ${what}`,
			hint: expect.stringContaining("POST /v1/tickets"),
		});
	}
	expect(connections).toBe(0);
});

test.each([
	["Node", undefined],
	["a browser", SilentSocket],
])(
	"an attachment in %s ends as unauthenticated when the server refuses two tickets in a row",
	async (_name, Socket) => {
		const { server, id } = await served();
		const ticket = vi.fn(() => "not-a-good-ticket");
		const own = Socket === undefined ? {} : { WebSocket: Socket };
		const attachment = connect({ url: server.url, times, ...own })
			.sessions.at(id)
			.attach({ ticket });
		const events: string[] = [];
		const reading = (async () => {
			for await (const event of attachment) if (event.kind === "connection") events.push(event.state);
		})();
		await expect(reading).rejects.toMatchObject({
			code: "unauthenticated",
			message: "the server did not accept the ticket",
			hint: expect.stringContaining("must create a new ticket"),
		});
		expect(ticket).toHaveBeenCalledTimes(2);
		expect(events).toEqual(["disconnected"]);
	},
);

test("an attachment continues if the server restarts between a ticket and its use", async () => {
	const { server, owner, id } = await served();
	let calls = 0;
	const ticket = async () => {
		const made = await owner.tickets.create({ session: id, right: "operate" });
		if (++calls > 1) return made.ticket;
		await server.kill();
		await server.start();
		return made.ticket;
	};
	const attachment = connect({ url: server.url, times }).sessions.at(id).attach({ ticket });
	await attachment.write("hello\n");
	expect(calls).toBe(2);
	await attachment.detach();
});

/** An address without a server. */
async function emptyAddress(): Promise<string> {
	const listener = createServer().listen(0, "127.0.0.1");
	await once(listener, "listening");
	const { port } = listener.address() as AddressInfo;
	listener.close();
	await once(listener, "close");
	return `http://127.0.0.1:${port}`;
}

test("attach and wait end with node_unavailable when no server responds within the caller's timeout", async () => {
	const url = await emptyAddress();
	const session = connect({ url, token: "any", times }).sessions.at("one");
	const unavailable = { code: "node_unavailable", message: `can't reach a server at ${url}` };
	const attachment = session.attach({ reconnectTimeoutMs: 50 });
	const reading = (async () => {
		for await (const event of attachment) expect(event).toMatchObject({ kind: "connection", state: "disconnected" });
	})();
	await expect(reading).rejects.toMatchObject(unavailable);
	await expect(session.wait({ exit: true }, { reconnectTimeoutMs: 50 })).rejects.toMatchObject(unavailable);
	await expect(session.wait({ match: /x/ }, { reconnectTimeoutMs: 50 })).rejects.toMatchObject(unavailable);
});

test("an attachment that never reached a server ends after a minute, and not before", async () => {
	const url = await emptyAddress();
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	onTestFinished(() => void vi.useRealTimers());
	const attachment = connect({ url, token: "any" }).sessions.at("one").attach();
	const begin = performance.now();
	const ended = (async () => {
		for await (const _ of attachment);
	})().then(
		() => undefined,
		(error: unknown) => ({ error, afterMs: performance.now() - begin }),
	);
	let outcome: Awaited<typeof ended>;
	void ended.then((value) => {
		outcome = value;
	});
	while (outcome === undefined) {
		await new Promise((resolve) => setImmediate(resolve));
		vi.advanceTimersByTime(250);
	}
	expect(outcome.error).toMatchObject({ code: "node_unavailable" });
	expect(outcome.afterMs).toBeGreaterThanOrEqual(60_000);
	expect(outcome.afterMs).toBeLessThan(120_000);
});
