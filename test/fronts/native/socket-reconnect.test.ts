import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/native-server.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { randomOf, streamAt } from "../../system/torture/support/echo-stream.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

/** All output is retained, however long no client reads. */
const retain = { memoryBytes: 8 * 1024 * 1024 };
const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

it("200 connections cut at random while a program writes deliver its output exactly once", async () => {
	const random = randomOf(1);
	const script = "i=0; while [ $i -lt 6000 ]; do printf '%0200d\\n' $i; i=$((i+1)); done";
	const { id } = await server.create({ command: `read x; ${script}`, mode: "pipe", retain });
	const parts: Buffer[] = [];
	let since = 0;
	let client = await TestSocket.open(server.url, id, { since });
	client.type(0, "\n");
	for (let round = 0; round < 200; round++) {
		// Cut after some bytes, perhaps inside a message, or before anything arrived.
		const wanted = random(4) === 0 ? 0 : random(12_000);
		await client.until("bytes", () => client.output.byteLength >= wanted || client.socket.readyState === 3);
		client.cut();
		parts.push(client.output);
		since += client.output.byteLength;
		client = await TestSocket.open(server.url, id, { since });
		expect(client.messages[0]).toMatchObject({ output: { from: since } });
	}
	await client.closed;
	parts.push(client.output);
	const expected = Array.from({ length: 6000 }, (_, line) => `${String(line).padStart(200, "0")}\n`).join("");
	expect(hash(Buffer.concat(parts))).toBe(hash(Buffer.from(expected)));
	expect(client.messages.some(({ type }) => type === "gap")).toBe(false);
});

it("input is applied exactly once over connections that are cut in transit", async () => {
	const random = randomOf(2);
	const total = 2_000_000;
	const { id } = await server.create({ command: `head -c ${total} | sha256sum`, mode: "pipe" });
	let written = 0;
	for (let round = 0; written < total; round++) {
		const client = await TestSocket.open(server.url, id, { since: 0, stream: "typist" });
		const [welcome] = client.messages;
		if (welcome?.type !== "welcome") throw new Error("no welcome");
		// Sometimes a client that lost its state resends accepted input.
		let next = Math.max(0, welcome.input.next - (random(3) === 0 ? random(5000) : 0));
		const cutAt = round > 60 ? total : next + random(200_000);
		for (;;) {
			const { next: accepted, written: done } = client.receipt ?? welcome.input;
			written = Math.max(written, done);
			if (done >= total || next >= cutAt) break;
			const bytes = streamAt(next, Math.min(1 + random(30_000), total - next));
			if (next + bytes.byteLength - done <= welcome.input.window) {
				client.type(next, bytes);
				next += bytes.byteLength;
			} else {
				await client.until("receipt", () => (client.receipt?.written ?? 0) > done || client.socket.readyState === 3);
			}
			if (next >= total) await client.until("all", () => (client.receipt?.written ?? 0) >= total);
			expect(accepted).toBeLessThanOrEqual(total);
		}
		client.cut();
	}
	const reader = await TestSocket.open(server.url, id, { role: "viewer" });
	await reader.closed;
	expect(reader.output.toString()).toBe(`${hash(streamAt(0, total))}  -\n`);
}, 60_000);
