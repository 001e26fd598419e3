import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAll, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 256 * 1024 });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

const octets = { "content-type": "application/octet-stream" };

async function send(id: string, body: Uint8Array<ArrayBuffer> | string, key?: string, query = ""): Promise<unknown> {
	const headers = key === undefined ? octets : { ...octets, "idempotency-key": key };
	const response = await server.request(`/v1/sessions/${id}/input${query}`, { method: "POST", headers, body });
	return response.json();
}

async function output(id: string, query: string): Promise<{ text: string; headers: Record<string, string> }> {
	const response = await server.request(`/v1/sessions/${id}/output?${query}`);
	const headers = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith("hawser-")));
	return { text: await response.text(), headers };
}

describe("POST /v1/sessions/:id/input", () => {
	it("a repeated part of input is applied once, and a gap is refused with the expected position", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		expect(await send(id, "hello ", "a:0")).toMatchObject({ next: 6 });
		expect(await send(id, "hello ", "a:0")).toMatchObject({ next: 6 });
		expect(await send(id, "lo world", "a:3", "?wait=written")).toEqual({
			next: 11,
			written: 11,
			from: expect.any(Number),
		});
		expect(await send(id, "!", "a:99")).toMatchObject({
			error: { code: "invalid_argument", message: expect.stringContaining("11") },
		});
		expect(await send(id, " again", "b:0")).toMatchObject({ next: 6 });
		expect(await send(id, " and again")).toMatchObject({ next: 10 });
		const expected = "hello world again and again";
		for (let text = ""; text !== expected; ) {
			const part = await output(id, `since=${text.length}&wait=10000`);
			text += part.text;
			expect(expected).toContain(text);
		}
	});

	it("an answer to input states at once that the kernel has all of it, and the output offset before it", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		expect(await send(id, "one", "a:0")).toEqual({ next: 3, written: 3, from: 0 });
		await output(id, "since=0&wait=10000");
		expect(await send(id, "two", "a:3")).toEqual({ next: 6, written: 6, from: 3 });
	});

	it.each([undefined, "big:0"])(
		"input taken in parts gets the output offset before it, with the key %s",
		async (key) => {
			const { id } = await server.create({ command: "printf before; read go; head -c 1048575 | wc -c", mode: "pipe" });
			expect((await output(id, "since=0&wait=10000")).text).toBe("before");
			const body = Buffer.alloc(1024 * 1024, "\n");
			const written = { next: body.length, written: body.length, from: 6 };
			expect(await send(id, body, key, "?wait=written")).toEqual(written);
			expect((await readAll(server, id)).bytes.toString()).toBe(`before${body.length - 1}\n`);
		},
	);

	it("a body larger than the window is taken completely and in order, with and without a key", async () => {
		const body = Buffer.alloc(1024 * 1024);
		for (let at = 0; at < body.length; at += 4) body.writeUInt32BE(at, at);
		const digest = createHash("sha256").update(body).digest("hex");
		for (const key of [undefined, "big:0"]) {
			const { id } = await server.create({ command: "sleep 0.2; head -c 1048576 | sha256sum", mode: "pipe" });
			expect(await send(id, body, key)).toMatchObject({ next: body.length });
			expect((await readAll(server, id)).bytes.toString()).toBe(`${digest}  -\n`);
		}
	});

	it("input waits while the program does not read, and ends with the program", async () => {
		const { id } = await server.create({ argv: ["sleep", "30"], mode: "pipe" });
		const blocked = send(id, Buffer.alloc(1024 * 1024), "stuck:0");
		await server.request(`/v1/sessions/${id}/kill`, { method: "POST" });
		expect(await blocked).toMatchObject({ error: { code: "session_closed" } });
	});

	it("the queue of a crowded session serves every stream in the end", async () => {
		const { id } = await server.create({ command: "sleep 0.3; head -c 4194304 | wc -c", mode: "pipe" });
		const bodies = Array.from({ length: 16 }, (_, stream) => send(id, Buffer.alloc(256 * 1024), `s${stream}:0`));
		for (const receipt of await Promise.all(bodies)) expect(receipt).toMatchObject({ next: 256 * 1024 });
		expect((await readAll(server, id)).bytes.toString().trim()).toBe("4194304");
	});
});

describe("GET /v1/sessions/:id/output", () => {
	it("output is answered with the available bytes, their offset, and the program's exit", async () => {
		const { id } = await server.create({ command: "printf abcdef; exit 3", mode: "pipe" });
		await readAll(server, id);
		const closed = {
			"hawser-end": "6",
			"hawser-state": "closed",
			"hawser-exit": '{"code":3,"signal":null}',
		};
		expect(await output(id, "")).toEqual({
			text: "abcdef",
			headers: { ...closed, "hawser-offset": "0", "hawser-next": "6" },
		});
		expect(await output(id, "since=2&max=3")).toEqual({
			text: "cde",
			headers: { ...closed, "hawser-offset": "2", "hawser-next": "5" },
		});
		expect(await output(id, "since=6&wait=60000")).toEqual({
			text: "",
			headers: { ...closed, "hawser-offset": "6", "hawser-next": "6" },
		});
		expect(await output(id, "since=1000&wait=60000")).toEqual({
			text: "",
			headers: { ...closed, "hawser-offset": "6", "hawser-next": "6" },
		});
	});

	it("output waits for the first byte, and no longer than requested", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const quiet = await output(id, "since=0&wait=50");
		expect(quiet).toEqual({
			text: "",
			headers: {
				"hawser-offset": "0",
				"hawser-next": "0",
				"hawser-end": "0",
				"hawser-state": "running",
			},
		});
		const waiting = output(id, "since=0&wait=20000");
		await send(id, "x");
		expect((await waiting).text).toBe("x");
	});

	it("an answer states which bytes are lost", async () => {
		const { id } = await server.create({ command: "head -c 1048576 /dev/zero", mode: "pipe" });
		const { sessions } = server;
		for await (const item of sessions.get(id)?.follow("end") ?? []) if (item.kind === "closed") break;
		const { text, headers } = await output(id, "since=10&max=4194304");
		const [, to] = /^from=10, to=(\d+), reason=retention$/.exec(headers["hawser-gap"] ?? "") ?? [];
		expect(Number(to)).toBeGreaterThan(512 * 1024);
		expect(headers["hawser-offset"]).toBe(to);
		expect(text.length).toBe(1048576 - Number(to));
		expect(headers["hawser-next"]).toBe("1048576");
	});

	it("reading stops when the client disconnects", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const controller = new AbortController();
		const gone = server.request(`/v1/sessions/${id}/output?wait=60000`, { signal: controller.signal });
		const attachments = async () => (await server.sessions.get(id)?.info())?.attachments;
		await expect.poll(attachments).toBe(1);
		controller.abort();
		await expect(gone).rejects.toThrow();
		await expect.poll(attachments).toBe(0);
	});

	it("every byte of a terminal program that exits at once is delivered", async () => {
		for (let round = 0; round < 20; round++) {
			const { id } = await server.create({ command: "seq 1 2000" });
			const expected = Array.from({ length: 2000 }, (_, index) => `${index + 1}\r\n`).join("");
			expect((await readAll(server, id)).bytes.toString()).toBe(expected);
		}
	});
});

it("closing the server answers waiting requests", async () => {
	const other = await startTestServer();
	const { id } = await other.create({ argv: ["cat"], mode: "pipe" });
	const waiting = other.request(`/v1/sessions/${id}/output?wait=60000`);
	const writing = other.request(`/v1/sessions/${id}/input`, { method: "POST", headers: octets, body: Buffer.alloc(1) });
	await writing;
	await waiting.then((response) => response.arrayBuffer());
	const second = other.request(`/v1/sessions/${id}/output?since=1&wait=60000`);
	await expect.poll(async () => (await other.sessions.get(id)?.info())?.attachments).toBe(1);
	await other.close();
	const response = await second;
	expect(response.status).toBe(200);
	expect(response.headers.get("hawser-next")).toBe("1");
});
