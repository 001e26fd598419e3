import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAll, startTestServer, type TestServer } from "./test-server.ts";

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
	it("carries out a repeated part once, and refuses a hole by naming the position", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		expect(await send(id, "hello ", "a:0")).toMatchObject({ next: 6 });
		expect(await send(id, "hello ", "a:0")).toMatchObject({ next: 6 });
		expect(await send(id, "lo world", "a:3", "?wait=written")).toEqual({ next: 11, written: 11 });
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

	it("takes a body larger than the window, whole and in order, with and without a key", async () => {
		const body = Buffer.alloc(1024 * 1024);
		for (let at = 0; at < body.length; at += 4) body.writeUInt32BE(at, at);
		const digest = createHash("sha256").update(body).digest("hex");
		for (const key of [undefined, "big:0"]) {
			const { id } = await server.create({ command: "sleep 0.2; head -c 1048576 | sha256sum", mode: "pipe" });
			expect(await send(id, body, key)).toMatchObject({ next: body.length });
			expect((await readAll(server, id)).bytes.toString()).toBe(`${digest}  -\n`);
		}
	});

	it("waits while the program does not read, and ends with the program", async () => {
		const { id } = await server.create({ argv: ["sleep", "30"], mode: "pipe" });
		const blocked = send(id, Buffer.alloc(1024 * 1024), "stuck:0");
		await server.request(`/v1/sessions/${id}?keep=1`, { method: "DELETE" });
		expect(await blocked).toMatchObject({ error: { code: "session_closed" } });
	});

	it("gives a crowded session's queue to every stream in the end", async () => {
		const { id } = await server.create({ command: "sleep 0.3; head -c 4194304 | wc -c", mode: "pipe" });
		const bodies = Array.from({ length: 16 }, (_, stream) => send(id, Buffer.alloc(256 * 1024), `s${stream}:0`));
		for (const receipt of await Promise.all(bodies)) expect(receipt).toMatchObject({ next: 256 * 1024 });
		expect((await readAll(server, id)).bytes.toString().trim()).toBe("4194304");
	});
});

describe("GET /v1/sessions/:id/output", () => {
	it("answers with what is there, where it stands, and how the program ended", async () => {
		const { id } = await server.create({ command: "printf abcdef; exit 3", mode: "pipe" });
		await readAll(server, id);
		const closed = {
			"hawser-end": "6",
			"hawser-state": "closed",
			"hawser-status": "closed",
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

	it("waits for the first byte, and no longer than asked", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const quiet = await output(id, "since=0&wait=50");
		expect(quiet).toEqual({
			text: "",
			headers: {
				"hawser-offset": "0",
				"hawser-next": "0",
				"hawser-end": "0",
				"hawser-state": "running",
				"hawser-status": "running",
			},
		});
		const waiting = output(id, "since=0&wait=20000");
		await send(id, "x");
		expect((await waiting).text).toBe("x");
	});

	it("says which bytes are gone", async () => {
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

	it("stops reading when the client goes away", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const controller = new AbortController();
		const gone = server.request(`/v1/sessions/${id}/output?wait=60000`, { signal: controller.signal });
		const attachments = async () => (await server.sessions.get(id)?.info())?.attachments;
		await expect.poll(attachments).toBe(1);
		controller.abort();
		await expect(gone).rejects.toThrow();
		await expect.poll(attachments).toBe(0);
	});

	it("passes on every byte of a terminal program that ends at once", async () => {
		for (let round = 0; round < 20; round++) {
			const { id } = await server.create({ command: "seq 1 2000" });
			const expected = Array.from({ length: 2000 }, (_, index) => `${index + 1}\r\n`).join("");
			expect((await readAll(server, id)).bytes.toString()).toBe(expected);
		}
	});
});

it("closing the server answers who waits", async () => {
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
