/** One size for all attached clients, whatever their terminals. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SizePolicy } from "../../../src/api/types.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ principals: { reader: principalWith(["read"]) } });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

const start = async (sizePolicy?: SizePolicy) =>
	(await server.create({ command: "stty -echo; exec cat", ...(sizePolicy ? { sizePolicy } : {}) })).id;

type Told = { size: { cols: number; rows: number }; sizePolicy: SizePolicy };
const look = async (id: string) => (await (await server.request(`/v1/sessions/${id}`)).json()) as Told;

async function becomes(id: string, cols: number, rows: number): Promise<void> {
	await eventually(`${cols}x${rows}`, async () => {
		const { size } = await look(id);
		return size.cols === cols && size.rows === rows;
	});
}

function attach(id: string, stream: string, cols: number, rows: number): Promise<TestSocket> {
	return TestSocket.open(server.url, id, { stream, since: "end", size: { cols, rows } });
}

async function setPolicy(id: string, sizePolicy: SizePolicy): Promise<Response> {
	const headers = { "content-type": "application/json" };
	return server.request(`/v1/sessions/${id}`, { method: "PATCH", headers, body: JSON.stringify({ sizePolicy }) });
}

describe("size policy latest", () => {
	it("the session has the size of the client that attached, resized or typed last, and all are informed", async () => {
		const id = await start();
		expect((await look(id)).sizePolicy).toBe("latest");
		const ada = await attach(id, "ada", 100, 30);
		await becomes(id, 100, 30);
		const bob = await attach(id, "bob", 120, 20);
		await ada.message("resized", ({ cols, rows }) => cols === 120 && rows === 20);
		ada.type(0, "a");
		await bob.message("resized", ({ cols, rows }) => cols === 100 && rows === 30);
		bob.say({ type: "size", cols: 90, rows: 25 });
		await ada.message("resized", ({ cols, rows }) => cols === 90 && rows === 25);
	});

	it("when that client leaves, the previous one's size applies, and the last one's stays", async () => {
		const id = await start();
		const ada = await attach(id, "ada", 100, 30);
		await becomes(id, 100, 30);
		const bob = await attach(id, "bob", 120, 20);
		await becomes(id, 120, 20);
		bob.cut();
		await becomes(id, 100, 30);
		ada.cut();
		await ada.closed;
		expect(await look(id)).toMatchObject({ size: { cols: 100, rows: 30 } });
	});

	it("a viewer changes nothing", async () => {
		const id = await start();
		const ada = await attach(id, "ada", 100, 30);
		await becomes(id, 100, 30);
		await TestSocket.open(server.url, id, { role: "viewer", size: { cols: 40, rows: 10 } });
		const hello = { stream: "r", size: { cols: 41, rows: 11 } };
		const reader = await TestSocket.open(server.url, id, hello, { token: "reader" });
		reader.say({ type: "size", cols: 42, rows: 12 });
		reader.say({ type: "ping" });
		await reader.message("pong");
		ada.say({ type: "size", cols: 101, rows: 30 });
		await becomes(id, 101, 30);
		const sizes = ada.messages.flatMap((one) => (one.type === "resized" ? [one.cols] : []));
		expect(sizes.every((cols) => cols >= 100)).toBe(true);
	});

	it("under exclusive control only the holder's terminal counts", async () => {
		const id = await start();
		const ada = await attach(id, "ada", 100, 30);
		ada.say({ type: "take", exclusive: true, force: true });
		await ada.message("lease", ({ lease }) => lease.mine);
		const bob = await attach(id, "bob", 120, 20);
		bob.say({ type: "ping" });
		await bob.message("pong");
		ada.say({ type: "size", cols: 102, rows: 30 });
		await becomes(id, 102, 30);
		expect(bob.messages.flatMap((one) => (one.type === "resized" ? [one.cols] : []))).not.toContain(120);
	});
});

it("with the policy smallest the session fits every terminal", async () => {
	const id = await start("smallest");
	await attach(id, "ada", 100, 30);
	await becomes(id, 100, 30);
	const bob = await attach(id, "bob", 120, 20);
	await becomes(id, 100, 20);
	bob.type(0, "b");
	bob.say({ type: "size", cols: 90, rows: 40 });
	await becomes(id, 90, 30);
	bob.cut();
	await becomes(id, 100, 30);
});

it("with the policy manual only a resize changes the size, with the policy fixed nothing does", async () => {
	const id = await start("manual");
	const ada = await attach(id, "ada", 100, 30);
	ada.say({ type: "resize", position: 0, cols: 70, rows: 20 });
	await becomes(id, 70, 20);
	expect((await setPolicy(id, "fixed")).status).toBe(200);
	ada.say({ type: "resize", position: 1, cols: 60, rows: 20 });
	expect(await ada.message("error")).toMatchObject({ code: "conflict", position: 1 });
	ada.say({ type: "size", cols: 50, rows: 20 });
	ada.type(1, "a");
	await ada.until("the typed text", () => ada.receipt?.written === 2);
	expect(await look(id)).toMatchObject({ size: { cols: 70, rows: 20 }, sizePolicy: "fixed" });
	expect(ada.messages.filter(({ type }) => type === "resized")).toHaveLength(1);
});

it("a changed policy applies at once", async () => {
	const id = await start("manual");
	await attach(id, "ada", 100, 30);
	await attach(id, "bob", 120, 20);
	expect(((await (await setPolicy(id, "smallest")).json()) as Told).size).toEqual({ cols: 100, rows: 20 });
	expect(((await (await setPolicy(id, "latest")).json()) as Told).size).toEqual({ cols: 120, rows: 20 });
	expect((await setPolicy(id, "none" as SizePolicy)).status).toBe(400);
});
