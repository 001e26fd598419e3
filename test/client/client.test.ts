import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Client, connect, follow, HawserError, type Output } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

const encode = (text: string) => new TextEncoder().encode(text);

async function all(parts: AsyncIterable<Output>): Promise<string> {
	let text = "";
	for await (const { bytes } of parts) text += new TextDecoder().decode(bytes);
	return text;
}

describe("sessions", () => {
	it("sessions are created, listed over all pages, read, killed and deleted", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe", labels: { made: "here" } });
		expect(await session.info()).toMatchObject({ id: session.id, state: "running" });
		expect((await client.sessions.list({ label: ["made=here"] })).map(({ id }) => id)).toEqual([session.id]);
		expect((await client.sessions.get(session.id)).id).toBe(session.id);
		expect(await session.kill({ killSignal: "TERM", graceMs: 5000 })).toMatchObject({
			state: "closed",
			exit: { signal: "SIGTERM" },
		});
		await session.remove();
		await expect(client.sessions.get(session.id)).rejects.toMatchObject({ code: "session_not_found", status: 404 });
	});

	it("writes use a new stream after a long rest, because the server may have forgotten the old one", async () => {
		const keys: string[] = [];
		const noting: typeof fetch = (input, init) => {
			const key = new Headers(init?.headers).get("idempotency-key");
			if (key !== null) keys.push(key);
			return fetch(input, init);
		};
		const resting = connect({ url: server.url, token: TOKEN, fetch: noting });
		const session = await resting.sessions.create({ argv: ["cat"], mode: "pipe" });
		const minutes = (count: number) => {
			const past = performance.now();
			vi.spyOn(performance, "now").mockImplementation(() => past + count * 60_000);
		};
		try {
			await session.write("a");
			minutes(29);
			await session.write("b");
			minutes(31);
			await session.write("c");
		} finally {
			vi.restoreAllMocks();
		}
		const [first, second, third] = keys.map((key) => key.split(":"));
		expect([first?.[1], second?.[1], third?.[1]]).toEqual(["0", "1", "0"]);
		expect(second?.[0]).toBe(first?.[0]);
		expect(third?.[0]).not.toBe(first?.[0]);
		await session.remove();
	});

	it("errors have the server's code and message", async () => {
		const failed = client.sessions.create({ argv: ["cat"], cols: 0 });
		await expect(failed).rejects.toBeInstanceOf(HawserError);
		await expect(failed).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("cols") });
		const stranger = connect({ url: server.url });
		await expect(stranger.sessions.list()).rejects.toMatchObject({ code: "unauthenticated", hint: expect.any(String) });
	});
});

describe("write", () => {
	it("writes keep the order of the calls, and are split if too large for one request", async () => {
		const session = await client.sessions.create({ command: "wc -c; exec cat", mode: "pipe" });
		const echo = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		await Promise.all(["a", "b", "c", "d"].map((text) => echo.write(encode(text), { untilWritten: true })));
		let text = "";
		while (text.length < 4) text += new TextDecoder().decode((await echo.output(text.length, { wait: 10_000 })).bytes);
		expect(text).toBe("abcd");
		expect(await session.write(new Uint8Array(3 * 1024 * 1024))).toMatchObject({ next: 3 * 1024 * 1024 });
		await session.kill();
		await expect(session.write(encode("x"))).rejects.toMatchObject({ code: "session_closed" });
	});

	it("a write with a position takes effect once, however often it is sent", async () => {
		const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		for (let round = 0; round < 3; round++) {
			await session.write(encode("once"), { stream: "mine", position: 0, untilWritten: true });
		}
		await session.write(encode("!"), { stream: "mine", position: 4 });
		let text = "";
		while (!text.endsWith("!"))
			text += new TextDecoder().decode((await session.output(text.length, { wait: 10_000 })).bytes);
		expect(text).toBe("once!");
		expect(() => session.write(encode("x"), { stream: "mine" })).toThrow(TypeError);
	});
});

describe("follow", () => {
	it("follow reads to the end, and ends quietly when aborted", async () => {
		const session = await client.sessions.create({
			command: "for i in 1 2 3; do echo $i; sleep 0.05; done",
			mode: "pipe",
		});
		expect(await all(follow(session, 0))).toBe("1\n2\n3\n");
		expect(await all(follow(session, 4))).toBe("3\n");
		const quiet = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const controller = new AbortController();
		const reading = all(follow(quiet, 0, { signal: controller.signal }));
		await expect.poll(async () => (await quiet.info()).attachments).toBe(1);
		controller.abort();
		expect(await reading).toBe("");
	});

	it("follow finds a server that moved, and gives up on one that does not come back", async () => {
		const other = await startTestServer();
		const { id } = await other.create({ command: "echo before; sleep 0.2; echo after", mode: "pipe" });
		const said: string[] = [];
		let url = "http://127.0.0.1:9";
		const moving = connect({ url, token: TOKEN, locate: async () => ({ url, token: TOKEN, mustProve: false }) });
		const options = {
			reconnectTimeoutMs: 20_000,
			onLost: () => {
				said.push("lost");
				url = other.url;
			},
			onFound: () => said.push("found"),
		};
		expect(await all(follow(moving.sessions.at(id), 0, options))).toBe("before\nafter\n");
		expect(said).toEqual(["lost", "found"]);
		await other.close();
		await expect(all(follow(moving.sessions.at(id), 0))).rejects.toMatchObject({ code: "node_unavailable" });
	});
});

it("the client reports responses that are not from a Hawser server", async () => {
	const stranger = createServer((_, response) => response.writeHead(502).end("<html>Bad gateway</html>")).listen(
		0,
		"127.0.0.1",
	);
	await once(stranger, "listening");
	const { port } = stranger.address() as AddressInfo;
	const lost = connect({ url: `http://127.0.0.1:${port}` });
	await expect(lost.sessions.list()).rejects.toMatchObject({ code: "internal", status: 502 });
	stranger.close();
});
