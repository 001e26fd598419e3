import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { type Client, connect, type FeedEvent, type FeedOptions } from "../../../src/client/index.ts";
import { sendEvents } from "../../../src/http/event-stream.ts";
import { createTrafficCounters } from "../../../src/services/metrics/traffic.ts";
import { eventually } from "../../support/reading.ts";
import { type Started, start } from "../../support/server.ts";

function clientOf({ url, adminToken }: Started): Client {
	return connect({ url, token: adminToken });
}

async function follow(client: Client, options: FeedOptions) {
	const events: FeedEvent[] = [];
	const over = new AbortController();
	onTestFinished(() => over.abort());
	let hasBegun = false;
	void (async () => {
		for await (const item of client.events({ ...options, signal: over.signal })) {
			hasBegun = true;
			if (item.kind === "event") events.push(item.event);
		}
	})();
	await eventually("the beginning", () => hasBegun);
	return events;
}

test("the feed filters events by type and by session", async () => {
	const client = clientOf(await start());
	const all = await follow(client, {});
	const failed = await follow(client, { type: ["failed"] });
	const made = await follow(client, { type: ["created", "removed"], label: ["kind=ci", "big"], workspace: "mine" });
	const run = async (command: string, rest: object) => {
		const { id } = await client.sessions.create({ command, durable: false, ...rest });
		await eventually("its end", () => all.some(({ type, session }) => type === "closed" && session.id === id));
		return id;
	};
	await run("exit 0", { workspace: "mine", labels: { kind: "ci" } });
	const code = await run("exit 2", { workspace: "mine", labels: { kind: "ci", big: "" } });
	const killed = await run("kill -9 $$", { labels: { kind: "ci", big: "" } });
	// Neither a program stopped by a user nor a shell that a user exits is a failure.
	const stopped = await client.sessions.create({ argv: ["cat"], durable: false });
	await stopped.kill();
	const shell = await client.sessions.create({ argv: ["bash", "--norc"], durable: false });
	await shell.write("exit 7\r");
	await eventually("their ends", () => all.filter(({ type }) => type === "closed").length === 5);
	const last = await run("exit 5", {});
	await client.sessions.at(code).remove();
	await eventually("its removal", () => made.length === 2);
	// Each subscriber uses its own connection.
	await eventually("the failures", () => failed.length === 3);
	expect(failed.map(({ type, session, exit }) => [type, session.id, exit?.code])).toEqual([
		["exited", code, 2],
		["exited", killed, null],
		["exited", last, 5],
	]);
	expect(made.map(({ type, session }) => [type, session.id])).toEqual([
		["created", code],
		["removed", code],
	]);
	expect(made[0]?.session).toMatchObject({ workspace: "mine", labels: { kind: "ci", big: "" } });
	await expect(client.events({ type: ["nothing" as "lost"] }).next()).rejects.toMatchObject({ status: 400 });
});

test("a silent program is reported once per silence, to subscribers of that duration", async () => {
	const server = await start();
	const client = clientOf(server);
	const quiet = await follow(client, { type: ["quiet"], quietMs: 1_000 });
	const others = await follow(client, { quietMs: 86_400_000 });
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe", durable: false });
	await eventually("a silence", () => quiet.length === 1);
	await session.write("something\n");
	await eventually("another one", () => quiet.length === 2);
	await session.signal("KILL");
	await eventually("its end", () => others.some(({ type }) => type === "closed"));
	expect(quiet.map(({ type, offset, quietMs }) => [type, offset, quietMs])).toEqual([
		["quiet", 0, 1_000],
		["quiet", 10, 1_000],
	]);
	expect(others.map(({ type }) => type)).not.toContain("quiet");
	const guest = await client.tokens.create({ scopes: [`session:${session.id}:view`] });
	const own = connect({ url: server.url, token: guest.token });
	for (const quietMs of [2_000, 3_000]) await follow(own, { quietMs });
	// A client would reconnect later.
	const authorization = `Bearer ${guest.token}`;
	expect((await server.request("/v1/events?quietMs=4000", { headers: { authorization } })).status).toBe(429);
	for (let quietMs = 2_000; quietMs < 9_000; quietMs += 1_000) await follow(client, { quietMs });
	expect((await server.request("/v1/events?quietMs=9000")).status).toBe(429);
	await expect(client.events({ quietMs: 999 }).next()).rejects.toMatchObject({ status: 400 });
});

test("a feed without events still reports its position", async () => {
	const app = fastify();
	onTestFinished(() => app.close());
	const over = new AbortController();
	app.get("/v1/events", (_request, reply) => {
		async function* nothing() {
			await new Promise((resolve) => over.signal.addEventListener("abort", resolve));
		}
		return sendEvents(reply, nothing(), {
			traffic: createTrafficCounters(),
			heartbeatMs: 5,
			place: () => "e-7",
		});
	});
	const url = await app.listen({ host: "127.0.0.1", port: 0 });
	const told = await new Promise((resolve, reject) => {
		connect({ url }).events({ signal: over.signal, onCursor: resolve }).next().catch(reject);
	});
	over.abort();
	expect(told).toBe("e-7");
});
