/** Taking over a PTY from its holder: in every phase, however stuck it is, and with many competing clients. */

import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../../support/reading.ts";
import { standsStill } from "../../../support/standstill.ts";
import { type ExecdServer, gatedHome, startExecd } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient, statusOf } from "./support/pty-client.ts";

/** A PTY whose program has written more than the ring holds and continues, held by a client that never reads. */
async function stuck(server: ExecdServer): Promise<{ id: string; victim: PtyClient }> {
	const id = await createPty(server, { command: "exec yes 0123456789" });
	(await PtyClient.open(server, id, "pty=0")).cut();
	await writesOn(server, id, 1024 * 1024);
	const victim = new PtyClient(server.url, id);
	victim.socket.once("upgrade", ({ socket }) => socket.pause());
	const opened = await new Promise((resolve) => {
		victim.socket.once("open", () => resolve(true));
		victim.socket.once("close", () => resolve(false));
	});
	// The clean-up of the first one may not be over.
	return opened === true ? { id, victim } : stuck(server);
}

/** Resolves once the program has written this many more bytes. */
async function writesOn(server: ExecdServer, id: string, bytes: number): Promise<void> {
	const before = (await statusOf(server, id)).output_offset;
	await eventually("more output", async () => (await statusOf(server, id)).output_offset > before + bytes);
}

test("6.1.11: of six concurrent take-overs one is connected in the end, and the shell survives", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const holder = await PtyClient.open(server, id);
	holder.type("kept=yes; echo fi''lled\n");
	await holder.text(/filled\r\n/);
	const all = Array.from({ length: 6 }, () => new PtyClient(server.url, id, "takeover=1&since=0"));
	const ends = await Promise.all(
		all.map((client) => Promise.race([client.message("connected").catch(() => undefined), client.closed])),
	);
	expect(ends.some((end) => end !== undefined && "type" in end)).toBe(true);
	// Each holder except the last is evicted by the next.
	const open = await eventually("one left", () => {
		const left = all.filter(({ socket }) => socket.readyState === WebSocket.OPEN);
		return left.length === 1 && left;
	});
	expect(open[0]?.replay?.bytes.toString()).toContain("filled\r\n");
	const last = await PtyClient.open(server, id, "takeover=1");
	last.type("echo $kept''-$kept\n");
	await last.text(/yes-yes/);
	expect(await open[0]?.closed).toEqual({ code: 4001, reason: "TAKEN_OVER" });
	expect(server.problems).toEqual([]);
});

test("I-37, I-38: a holder that never reads, stuck in a replay of 1 MiB, is evicted at once", async () => {
	// Neither ends while a client waits here.
	const server = await startExecd({ times: { writeMs: 60_000, takeoverMs: 60_000 } });
	const { id, victim } = await stuck(server);
	const info = await server.sessions.list().at(-1)?.info();
	const offset = async () => Number((await statusOf(server, id)).output_offset);
	await eventually("a program that stands still", () => standsStill(info?.pid as number, offset));
	const newcomer = await PtyClient.open(server, id, "takeover=1");
	const { replay } = newcomer;
	expect(replay?.bytes.byteLength).toBe(1024 * 1024);
	// The new client is connected, and the program continues for it.
	await newcomer.until("live output", () => newcomer.output.byteLength > 2 * 1024 * 1024);
	victim.cut();
	newcomer.cut();
});

test("I-24, I-42, 2.16: a holder that never reads is dropped after the write deadline, and the program continues", async () => {
	const server = await startExecd({ times: { writeMs: 1000 } });
	const { id, victim } = await stuck(server);
	const next = await eventually("a free lock", () => PtyClient.open(server, id).catch(() => undefined));
	// It may miss that deadline itself on a busy machine.
	next.cut();
	await writesOn(server, id, 2 * 1024 * 1024);
	expect((await statusOf(server, id)).running).toBe(true);
	victim.cut();
});

test("I-29, I-16: take-overs in the middle of the output miss and repeat nothing", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "seq 1 100000; exec cat" });
	const whole = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("");
	let client = await PtyClient.open(server, id, "pty=0");
	const parts: Buffer[] = [];
	let from = 0;
	while (client.position < whole.length) {
		await client.until("some output", () => client.position > from);
		const since = client.position;
		const next = await PtyClient.open(server, id, `takeover=1&since=${since}`);
		expect((await client.closed).code).not.toBe(1000);
		// Output that the victim still received is the newcomer's replay, too.
		parts.push(client.output.subarray(0, since - from));
		[client, from] = [next, since];
	}
	parts.push(client.output);
	expect(parts.length).toBeGreaterThan(1);
	expect(Buffer.concat(parts).toString() === whole).toBe(true);
});

test("I-39: the closing message is never inserted into another message", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "exec yes 0123456789" });
	let client = await PtyClient.open(server, id, "pty=0");
	for (let count = 0; count < 20; count++) {
		const errors: Error[] = [];
		client.socket.on("error", (error) => errors.push(error));
		const next = await PtyClient.open(server, id, "takeover=1");
		expect([4001, 1006]).toContain((await client.closed).code);
		expect(errors).toEqual([]);
		client = next;
	}
	client.cut();
});

test("I-41: a take-over that times out reports that, distinct from a plain conflict", async () => {
	const { home, open } = gatedHome();
	const server = await startExecd({ durable: home, times: { takeoverMs: 100 } });
	const id = await createPty(server);
	const holder = new PtyClient(server.url, id);
	await eventually("a start under way", async () => (await handshake(server.url, `/pty/${id}/ws`)).status === 409);
	// Its program is being started, which can't be interrupted.
	const newcomer = new PtyClient(server.url, id, "takeover=1");
	expect(await newcomer.closed).toEqual({ code: 1006, reason: "" });
	expect(newcomer.messages).toEqual([
		{ type: "error", code: "ALREADY_CONNECTED", error: expect.stringContaining("takeover timed out") },
	]);
	expect((await holder.closed).code).toBe(4001);
	open();
	// The start may also take longer than a take-over waits here.
	const next = await eventually("the seat", () => PtyClient.open(server, id, "takeover=1").catch(() => undefined));
	next.type("exit\n");
	await next.message("exit");
	expect(server.sessions.list()).toHaveLength(1);
});

test("2.7: messages that a newcomer sends while it waits take effect once it has the slot", async () => {
	const { home, open } = gatedHome();
	const server = await startExecd({ durable: home });
	const id = await createPty(server);
	const holder = new PtyClient(server.url, id, "pty=0");
	await eventually("a start under way", async () => (await handshake(server.url, `/pty/${id}/ws`)).status === 409);
	const newcomer = new PtyClient(server.url, id, "takeover=1");
	newcomer.socket.once("open", () => newcomer.type("echo early\n"));
	await holder.closed;
	open();
	await newcomer.text(/early\n/);
	expect(newcomer.messages.map(({ type }) => type)).toEqual(["connected"]);
});

test("I-28: the lock is free after a client that vanished, in every phase", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	for (let count = 0; count < 20; count++) {
		const client = new PtyClient(server.url, id);
		client.socket.on("upgrade", () => {
			if (count % 2 === 0) client.cut();
		});
		await Promise.race([client.closed, client.message("connected").catch(() => undefined)]);
		client.cut();
		await eventually("a free lock", async () => {
			const { status } = await handshake(server.url, `/pty/${id}/ws`);
			return status === 101;
		});
	}
	expect(server.sessions.list()).toHaveLength(1);
});

test("I-48: two concurrent clients start one shell, and one of them gets it", async () => {
	const server = await startExecd();
	for (let count = 0; count < 10; count++) {
		const id = await createPty(server);
		const clients = [0, 1, 2].map(() => new PtyClient(server.url, id));
		const results = await Promise.allSettled(clients.map((client) => client.message("connected")));
		expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
		expect(server.sessions.list().filter(({ spec }) => spec.labels["opensandbox.pty"] === id)).toHaveLength(1);
		for (const client of clients) client.cut();
	}
});
