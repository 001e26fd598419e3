import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { Change } from "../../../src/core/async/change.ts";
import type { SessionProvider } from "../../../src/core/session/session-registry.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { randomOf, streamAt } from "../../system/torture/support/echo-stream.ts";

/** A server whose durable sessions run in keepers, as in production. */
async function start(): Promise<{ server: TestServer; site: KeeperSite }> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const server = await startTestServer({ durable: keepers });
	onTestFinished(async () => {
		await server.close();
		expect(server.problems).toEqual([]);
	});
	return { server, site };
}

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const retain = { memoryBytes: 1024 * 1024, journalBytes: 64 * 1024 * 1024 };

it("bytes go both ways through a keeper exactly once, over connections that are cut", async () => {
	const { server } = await start();
	const { id } = await server.create({ argv: ["cat"], mode: "pipe", durable: true, retain });
	const random = randomOf(3);
	const total = 3_000_000;
	const parts: Buffer[] = [];
	let since = 0;
	for (let round = 0; since < total; round++) {
		const client = await TestSocket.open(server.url, id, { since, stream: "s" });
		const [welcome] = client.messages;
		if (welcome?.type !== "welcome") throw new Error("no welcome");
		let { next } = welcome.input;
		const cutAt = round > 30 ? total : Math.min(total, since + random(300_000));
		const isEnough = () => since + client.output.byteLength >= cutAt;
		while (!isEnough()) {
			const { written } = client.receipt ?? welcome.input;
			const length = Math.min(welcome.input.window - (next - written), 20_000, total - next);
			if (length > 0) {
				client.type(next, streamAt(next, length));
				next += length;
			}
			const seen = client.received.length;
			await client.until("anything", () => client.received.length > seen || isEnough());
		}
		client.cut();
		parts.push(client.output);
		since += client.output.byteLength;
	}
	expect(hash(Buffer.concat(parts))).toBe(hash(streamAt(0, total)));
}, 60_000);

it("shared control passes between writers without a refused key", async () => {
	const { server } = await start();
	const { id } = await server.create({ argv: ["cat"], mode: "pipe", durable: true, retain });
	const ada = await TestSocket.open(server.url, id, { stream: "ada" });
	const bob = await TestSocket.open(server.url, id, { stream: "bob" });
	const clients = [ada, bob];
	const typed = clients.map(() => 0);
	const rounds = 100;
	for (let round = 0; round < rounds; round++) {
		for (const [index, client] of clients.entries()) {
			// Without waiting for the other's events, as people do.
			client.say({ type: "take", exclusive: false, force: false });
			client.type(typed[index] as number, "x");
			typed[index] = (typed[index] as number) + 1;
		}
		if (round % 10 === 0) await ada.text((text) => text.length >= round);
	}
	expect(await ada.text((text) => text.length === 2 * rounds)).toBe("x".repeat(2 * rounds));
	for (const client of clients) {
		expect(client.messages.filter(({ type }) => type === "error")).toEqual([]);
		client.cut();
	}
});

it("control, sizes and the end of a session in a keeper are reported as for any other", async () => {
	const { server } = await start();
	const { id } = await server.create({ command: "read x; stty size; exit 7", durable: true, retain });
	const ada = await TestSocket.open(server.url, id, { stream: "ada" });
	const bob = await TestSocket.open(server.url, id, { stream: "bob" });
	ada.say({ type: "take", exclusive: true, force: false });
	ada.say({ type: "resize", position: 0, cols: 111, rows: 22 });
	expect((await ada.message("lease")).lease.mine).toBe(true);
	await bob.message("lease", ({ lease }) => lease.exclusive);
	bob.type(0, "no\n");
	expect(await bob.message("error")).toMatchObject({ code: "not_writable", position: 0 });
	ada.type(1, "\n");
	for (const client of [ada, bob]) {
		expect((await client.closed).code).toBe(1000);
		expect(client.output.toString()).toContain("22 111");
		expect(client.messages.slice(-2)).toMatchObject([{ type: "exited", exit: { code: 7 } }, { type: "closed" }]);
	}
});

it("a keeper that dies makes its session lost, which is reported last", async () => {
	const { server, site } = await start();
	const { id } = await server.create({ command: "printf alive; sleep 60", mode: "pipe", durable: true, retain });
	const client = await TestSocket.open(server.url, id);
	await client.text((text) => text === "alive");
	const { keeper } = await site.record(id);
	process.kill(keeper.pid, "SIGKILL");
	expect((await client.closed).code).toBe(1000);
	expect(client.messages.at(-1)).toMatchObject({ type: "lost" });
	expect(client.output.toString()).toBe("alive");
});

it.each(["running", "closed"])("a reader of a %s session that is being removed is closed with 4004", async (which) => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const removed = new Change();
	let finish = () => {};
	const finished = new Promise<void>((resolve) => {
		finish = resolve;
	});
	// All of it is gone, and the list still has it.
	const durable: SessionProvider = {
		start: (started) => keepers.start(started),
		import: (spec, facts) => keepers.import(spec, facts),
		rename: (session, name) => keepers.rename(session, name),
		excessBytes: () => keepers.excessBytes(),
		keptBytes: (session) => keepers.keptBytes(session),
		forget: async (session, how) => {
			await keepers.forget(session, how);
			removed.happen();
			await finished;
		},
	};
	const server = await startTestServer({ durable });
	onTestFinished(async () => {
		await server.close();
		expect(server.problems).toEqual([]);
	});
	const command = "head -c 3000000 /dev/zero | tr '\\0' x; echo end; exec sleep 1000";
	const { id } = await server.create({ command, mode: "pipe", durable: true, retain });
	const client = await TestSocket.open(server.url, id, {}, { acks: false });
	const session = server.sessions.get(id);
	await eventually("the output", async () => ((await session?.end())?.offset ?? 0) > 3_000_000);
	if (which === "closed") {
		await session?.kill({ signal: "SIGKILL", graceMs: 0 });
		await session?.gone;
	}
	const next = removed.wait();
	const deleted = server.request(`/v1/sessions/${id}`, { method: "DELETE" });
	await next;
	client.startAcking();
	expect(await client.closed).toEqual({ code: 4004, reason: "the session was removed" });
	finish();
	expect((await deleted).status).toBe(204);
});
