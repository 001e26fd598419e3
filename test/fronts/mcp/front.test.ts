import { randomUUID } from "node:crypto";
import type { Client } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Clock } from "../../../src/core/async/clock.ts";
import { createMcpFront } from "../../../src/fronts/mcp/front.ts";
import {
	callToolText,
	connectOverHttp,
	type Era,
	eras,
	newerOverHttp,
	type Progress,
} from "../../support/mcp-client.ts";
import { startTestServer, type TestServerOptions, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";

/** A client of a server without screens, whose sessions run in this process. */
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

it.each(eras)("a client of %s gets progress during a long wait", async (era) => {
	const { server, client } = await connect(era);
	await callToolText(client, "start", { command: "read x; echo got-$x; sleep 1000", name: "slow" });
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
	expect(heard[0]).toMatchObject({ total: 100, message: "slow continues" });
	expect(heard.map(({ progress }) => progress)).toEqual(
		heard.map(({ progress }) => progress).toSorted((a, b) => a - b),
	);
	await callToolText(client, "send", { session: "slow", text: "it", keys: ["Enter"], until: { match: "got-it" } });
	expect(server.problems).toEqual([]);
});

it("a server without screens reports that", async () => {
	const { client } = await connect("2026-07-28");
	// A shell that reads plain lines has a prompt, too.
	expect(await callToolText(client, "run", { command: "echo pl''ain", wait: 10 })).toMatch(/^\[ended · [\s\S]*plain/);
	await expect(callToolText(client, "read", { session: "agent", what: "screen" })).rejects.toThrow("[unsupported]");
});

it("the list has the newest sessions that fit an answer", async () => {
	const { client } = await connect("2026-07-28");
	const names = Array.from({ length: 60 }, (_, index) => `${"long name ".repeat(5)}${index}`);
	for (const name of names)
		await callToolText(client, "start", { command: `printf '%0110d?' 1; read x`, name, wait: 0 });
	const text = await eventually("all of them to ask", async () => {
		const listed = await callToolText(client, "sessions", {});
		return listed.split("\n").every((line) => /older|1\?"/.test(line)) ? listed : undefined;
	});
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9600);
	const [more, ...lines] = text.split("\n");
	expect(more).toBe(`[${60 - lines.length} older sessions not listed]`);
	expect(lines.map((line) => line.split(" · ")[0])).toEqual(names.slice(-lines.length));
});

/** The notifications for a client that subscribed to some resources. */
async function listen(client: Client, uris: readonly string[]) {
	const heard: string[] = [];
	client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
	client.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("list"));
	const subscription = await client.listen({ resourceSubscriptions: [...uris], resourcesListChanged: true });
	return { heard, subscription };
}

it("a resource change is notified to its subscribers and to no other client", async () => {
	const { server, client, place } = await connect("2026-07-28");
	await callToolText(client, "start", { command: "read x; echo got-$x; read y", name: "asks" });
	await callToolText(client, "start", { command: "read x; echo got-$x", name: "other" });
	const [asks, other] = server.sessions.list().map(({ id }) => `hawser://sessions/${id}`);
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	const { heard, subscription } = await listen(listener, [`${asks}/output`, `${asks}/state`, `${other}/screen`]);
	expect(heard).toEqual([]);
	await callToolText(client, "send", { session: "asks", text: "it", keys: ["Enter"], until: { match: "got-it" } });
	await eventually("the output", () => heard.includes(`${asks}/output`));
	await eventually("the next wait", () => heard.includes(`${asks}/state`));
	expect(new Set(heard)).toEqual(new Set([`${asks}/output`, `${asks}/state`]));
	await callToolText(client, "stop", { session: "other" });
	await eventually("the end", () => heard.includes(`${other}/screen`) && heard.includes("list"));
	await subscription.close();
	const before = heard.length;
	await callToolText(client, "send", { session: "asks", text: "end", keys: ["Enter"], until: { exit: true } });
	expect(heard).toHaveLength(before);
	expect(server.problems).toEqual([]);
});

/** A program whose first inspection waits for the gate. */
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
	// More than any inspection takes.
	const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(60 * ms, run) };
	return { spawn: slowly, clock, firstLook: () => eventually("the first inspection", () => see) };
}

it("a subscription is confirmed once earlier changes are known", async () => {
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

it("a client that leaves before its subscription starts gets no notifications", async () => {
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

it("notifications of a flood come no faster than they can be read", async () => {
	const { server, client, place } = await connect("2026-07-28");
	await callToolText(client, "start", { command: "yes", name: "flood", wait: 0 });
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	const uri = `hawser://sessions/${server.sessions.list()[0]?.id}/output`;
	const began = performance.now();
	const { heard } = await listen(listener, [uri]);
	await eventually("three changes", () => heard.length >= 3);
	expect(performance.now() - began).toBeGreaterThan(1_900);
	await callToolText(client, "stop", { session: "flood" });
});

it("subscriptions to missing resources, or too many, are refused", async () => {
	const { place } = await connect("2026-07-28");
	const listener = await newerOverHttp(place);
	onTestFinished(() => listener.close());
	await expect(listener.listen({ resourceSubscriptions: ["hawser://sessions/unknown/output"] })).rejects.toThrow();
	const many = Array.from({ length: 65 }, (_, index) => `hawser://sessions/${index}/output`);
	await expect(listener.listen({ resourceSubscriptions: many })).rejects.toThrow();
});
