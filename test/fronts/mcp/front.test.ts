import { randomUUID } from "node:crypto";
import type { Client } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/backends/clock.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { createMcpFront } from "../../../src/fronts/mcp/front.ts";
import { eventually } from "../../helpers/reading.ts";
import { startTestServer, type TestServerOptions, TOKEN } from "../native/test-server.ts";
import { connectOverHttp, type Era, eras, newerOverHttp, type Progress, told } from "./mcp-client.ts";

/** To a server without screens, whose sessions live in this process. */
async function connect(era: Era, more: Pick<TestServerOptions, "spawn" | "clock"> = {}) {
	const secretUrl = (id: string) => `http://localhost/secret/${id}`;
	const options = { secretUrl, newUuid: randomUUID, shell: "/bin/sh", version: "0", progressMs: 20 };
	const server = await startTestServer({
		fronts: (parts) => [createMcpFront({ ...parts, ...options })],
		...more,
	});
	onTestFinished(() => server.close());
	const place = { url: server.url, token: TOKEN };
	const client = await connectOverHttp(place, era);
	onTestFinished(() => client.close());
	return { server, client, place };
}

it.each(eras)("tells a client of %s that a long wait goes on", async (era) => {
	const { server, client } = await connect(era);
	await told(client, "start", { command: "read x; echo got-$x; sleep 1000", name: "slow" });
	const heard: Progress[] = [];
	const third = new Promise<void>((resolve) => {
		const onprogress = (progress: Progress) => {
			if (heard.push(progress) === 3) resolve();
		};
		const args = { session: "slow", until: { match: "got-it", timeout_s: 100 } };
		const waiting = client.callTool({ name: "read", arguments: args }, { onprogress });
		onTestFinished(async () => void (await waiting.catch(() => {})));
	});
	await third;
	expect(heard[0]).toMatchObject({ total: 100, message: "slow goes on" });
	expect(heard.map(({ progress }) => progress)).toEqual(
		heard.map(({ progress }) => progress).toSorted((a, b) => a - b),
	);
	await told(client, "send", { session: "slow", text: "it", keys: ["Enter"], until: { match: "got-it" } });
	expect(server.problems).toEqual([]);
});

it("shows no screens where there are none, and says so", async () => {
	const { client } = await connect("2026-07-28");
	// A shell that reads plain lines has a prompt, too.
	expect(await told(client, "run", { command: "echo pl''ain", wait: 10 })).toMatch(/^\[ended · [\s\S]*plain/);
	await expect(told(client, "read", { session: "agent", what: "screen" })).rejects.toThrow("[unsupported]");
});

it("lists as many sessions as an answer holds, the newest", async () => {
	const { client } = await connect("2026-07-28");
	const names = Array.from({ length: 60 }, (_, index) => `${"long name ".repeat(5)}${index}`);
	for (const name of names) await told(client, "start", { command: `printf '%0110d?' 1; read x`, name, wait: 0 });
	const text = await eventually("all of them ask", async () => {
		const listed = await told(client, "sessions", {});
		return listed.split("\n").every((line) => /older|1\?"/.test(line)) ? listed : undefined;
	});
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9600);
	const [more, ...lines] = text.split("\n");
	expect(more).toBe(`[${60 - lines.length} older ones are not listed]`);
	expect(lines.map((line) => line.split(" · ")[0])).toEqual(names.slice(-lines.length));
});

/** What a client that listens for some resources hears. */
async function listen(client: Client, uris: readonly string[]) {
	const heard: string[] = [];
	client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
	client.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("list"));
	const subscription = await client.listen({ resourceSubscriptions: [...uris], resourcesListChanged: true });
	return { heard, subscription };
}

it("tells who listens that a resource has changed, and nobody else", async () => {
	const { server, client, place } = await connect("2026-07-28");
	await told(client, "start", { command: "read x; echo got-$x; read y", name: "asks" });
	await told(client, "start", { command: "read x; echo got-$x", name: "other" });
	const [asks, other] = server.sessions.list().map(({ id }) => `hawser://sessions/${id}`);
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	const { heard, subscription } = await listen(listener, [`${asks}/output`, `${asks}/state`, `${other}/screen`]);
	expect(heard).toEqual([]);
	await told(client, "send", { session: "asks", text: "it", keys: ["Enter"], until: { match: "got-it" } });
	await eventually("the output", () => heard.includes(`${asks}/output`));
	await eventually("the next wait", () => heard.includes(`${asks}/state`));
	expect(new Set(heard)).toEqual(new Set([`${asks}/output`, `${asks}/state`]));
	await told(client, "stop", { session: "other" });
	await eventually("the end", () => heard.includes(`${other}/screen`) && heard.includes("list"));
	await subscription.close();
	const before = heard.length;
	await told(client, "send", { session: "asks", text: "end", keys: ["Enter"], until: { exit: true } });
	expect(heard).toHaveLength(before);
	expect(server.problems).toEqual([]);
});

/** A program at which the first look takes until it may see. */
function slowToBeSeen() {
	let see: (() => void) | undefined;
	const slowly: typeof spawn = async (command, report) => {
		const program = await spawn(command, report);
		const look = program.look.bind(program);
		program.look = async () => {
			if (!see) await new Promise<void>((resolve) => (see = resolve));
			return look();
		};
		return program;
	};
	// By which no look takes too long.
	const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(60 * ms, run) };
	return { spawn: slowly, clock, firstLook: () => eventually("the first look", () => see) };
}

it("says that it listens when it knows what is no news any more", async () => {
	const { firstLook, ...slow } = slowToBeSeen();
	const { server, client, place } = await connect("2026-07-28", slow);
	const { id } = await server.create({ command: "read x" });
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	let isListening = false;
	const listening = listen(listener, [`hawser://sessions/${id}/state`]).then(() => {
		isListening = true;
	});
	const see = await firstLook();
	await client.listTools();
	expect(isListening).toBe(false);
	see();
	await listening;
});

it("keeps nobody informed who is gone before it listens", async () => {
	const { firstLook, ...slow } = slowToBeSeen();
	const { server, place } = await connect("2026-07-28", slow);
	let watchers = 0;
	const watch = server.sessions.watch.bind(server.sessions);
	server.sessions.watch = (listener) => {
		const leave = watch(listener);
		watchers++;
		return () => {
			watchers--;
			leave();
		};
	};
	const { id } = await server.create({ command: "read x" });
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	const listening = listen(listener, [`hawser://sessions/${id}/state`]).catch(() => {});
	const see = await firstLook();
	const closed = server.close();
	see();
	await Promise.all([closed, listening]);
	expect(watchers).toBe(0);
});

it("tells of a flood no more often than it can be read", async () => {
	const { server, client, place } = await connect("2026-07-28");
	await told(client, "start", { command: "yes", name: "flood", wait: 0 });
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	const uri = `hawser://sessions/${server.sessions.list()[0]?.id}/output`;
	const began = performance.now();
	const { heard } = await listen(listener, [uri]);
	await eventually("three changes", () => heard.length >= 3);
	expect(performance.now() - began).toBeGreaterThan(1_900);
	await told(client, "stop", { session: "flood" });
});

it("refuses to tell of what is not there, or of too much", async () => {
	const { place } = await connect("2026-07-28");
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	await expect(listener.listen({ resourceSubscriptions: ["hawser://sessions/nobody/output"] })).rejects.toThrow();
	const many = Array.from({ length: 65 }, (_, index) => `hawser://sessions/${index}/output`);
	await expect(listener.listen({ resourceSubscriptions: many })).rejects.toThrow();
});
