/** A reader of the feed gets every event once, over any number of restarts and kills of the server. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Client, connect, type FeedEvent, type FeedItem } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { randomOf } from "../torture/support/echo-stream.ts";
import { FeedTorture } from "../torture/support/feed-torture.ts";

/** The bench runs with 100 sessions and 20 restarts. */
const SESSIONS = 8;
const RESTARTS = 3;

async function startServer(): Promise<CrashingServer> {
	const server = new CrashingServer(await temporaryDirectory(), { createRate: 0, spares: 0 });
	await server.start();
	onTestFinished(() => server.killAll());
	return server;
}

async function clientOf(server: CrashingServer): Promise<Client> {
	const times = { firstRetryMs: 20, lastRetryMs: 200 };
	return connect({ url: server.url, token: await server.token(), times });
}

/** All events after a cursor, or from now on. */
async function follow(client: Client, since?: string) {
	const items: FeedItem[] = [];
	const over = new AbortController();
	onTestFinished(() => over.abort());
	const reading = (async () => {
		const from = since === undefined ? {} : { since };
		for await (const item of client.events({ ...from, signal: over.signal })) items.push(item);
	})();
	const events = () => items.flatMap((item) => (item.kind === "event" ? [item.event] : []));
	const until = (type: FeedEvent["type"], id?: string) =>
		eventually(type, () =>
			events().find((event) => event.type === type && (id ?? event.session.id) === event.session.id),
		);
	if (since === undefined) await eventually("the beginning", () => items.length > 0);
	const leave = async () => {
		over.abort();
		await reading;
	};
	return { items, events, until, leave, cursor: () => items.at(-1)?.cursor ?? "" };
}

test(`a reader of ${SESSIONS} sessions gets every event once, over ${RESTARTS} restarts of the server`, async () => {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	console.info(`seed ${seed}: repeat with SEED=${seed}`);
	const server = await startServer();
	const directory = join(server.stateDir, "gates");
	await mkdir(directory);
	const torture = await FeedTorture.begin({ server, directory, sessions: SESSIONS, random: randomOf(seed) });
	for (let round = 0; round < RESTARTS; round++) await torture.round(round % 2 === 0 ? "kill" : "stop");
	await torture.finish();
	console.info(`${torture.told} events`);
}, 60_000);

test("events that happened without a server, or that it did not send, are sent by the next server", async () => {
	const server = await startServer();
	const client = await clientOf(server);
	const feed = await follow(client);
	const inProcess = await client.sessions.create({ argv: ["cat"], durable: false });
	const env = { HOME: await temporaryDirectory(), PS1: "$ " };
	const shell = await client.sessions.create({ argv: ["bash"], env, durable: true });
	await feed.until("ready", shell.id);
	await feed.until("created", inProcess.id);
	// Sent already, so not sent again.
	await shell.write("(exit 3)\n");
	await feed.until("command", shell.id);
	const gate = join(server.stateDir, "gate");
	await shell.write(`until [ -e ${gate} ]; do sleep 0.02; done; (exit 7)\n`);
	await shell.write("exit 5\n");
	await feed.leave();
	await server.kill();
	await writeFile(gate, "");
	await server.start({ crashAt: "create.opened", crashAfter: 1 });
	await expect(client.sessions.create({ argv: ["cat"], name: "made", durable: true })).rejects.toThrow();
	await server.dead();
	await server.start();
	const later = await follow(client, feed.cursor());
	await later.until("created");
	await later.until("closed", shell.id);
	const told = (id: string) => later.events().filter(({ type, session }) => session.id === id && type !== "ready");
	expect(told(inProcess.id).map(({ type }) => type)).toEqual(["lost", "removed"]);
	expect(told(shell.id)).toMatchObject([
		{ type: "command", command: { exitCode: 7 } },
		{ type: "exited", exit: { code: 5 } },
		{ type: "closed" },
	]);
	expect(later.events().filter(({ type }) => type === "created")).toMatchObject([{ session: { name: "made" } }]);
	expect(later.items.map(({ kind }) => kind)).not.toContain("gap");
}, 60_000);
