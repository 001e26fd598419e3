import { isDeepStrictEqual } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Client, connect, type FeedEvent, type Overview } from "../../../src/client/index.ts";
import { NO_ACTIVITY } from "../../../src/core/inspect/output-activity.ts";
import { LOG_START } from "../../../src/core/log/event.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { principalWith, startTestServer, type TestServerOptions, TOKEN } from "../../support/native-server.ts";
import { eventually, itemsUntil } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

/** More often than usual, for tests that do not depend on the frequency. */
const SOON = { changeMs: 50 };

/** A client of a server whose durable sessions run in keepers, as in production. */
async function start(pace: Pick<TestServerOptions, "changeMs"> = SOON): Promise<Client> {
	return (await startWithStranger(pace)).client;
}

/** Also a client with access to another workspace. */
async function startWithStranger(
	pace: Pick<TestServerOptions, "changeMs"> = SOON,
): Promise<{ readonly client: Client; readonly stranger: Client }> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const stranger = principalWith(["read"], { may: (_right, { workspace }) => workspace === "blue" });
	const server = await startTestServer({ durable: keepers, principals: { stranger }, ...pace });
	onTestFinished(async () => {
		await server.close();
		expect(server.problems).toEqual([]);
	});
	const connectAs = (token: string) => connect({ url: server.url, token });
	return { client: connectAs(TOKEN), stranger: connectAs("stranger") };
}

const retain = { journalBytes: 1024 * 1024 };

const sumOf = (activity: readonly number[]) => activity.reduce((sum, bytes) => sum + bytes, 0);

/** Follows the feed and tracks the last reported appearance of each session. */
async function follow(client: Client, options: { readonly overview?: boolean } = { overview: true }) {
	const controller = new AbortController();
	onTestFinished(() => controller.abort());
	const events: FeedEvent[] = [];
	let hasBegun = false;
	void (async () => {
		for await (const item of client.events({ ...options, signal: controller.signal })) {
			if (item.kind === "begin") hasBegun = true;
			if (item.kind === "event") events.push(item.event);
		}
	})();
	await eventually("the feed", () => hasBegun);
	const changes = (id: string) => events.filter(({ type, session }) => type === "changed" && session.id === id);
	return {
		events,
		changes,
		until: (id: string, what: string, isIt: (overview: Overview) => boolean) =>
			eventually(what, () => {
				const { overview } = changes(id).at(-1) ?? {};
				return overview && isIt(overview) ? overview : undefined;
			}),
		leave: () => controller.abort(),
	};
}

describe.each([
	["in this process", false],
	["in a keeper", true],
])("the overview of a session %s", (_where, durable) => {
	it("the list contains the last line, its time and the amount of output on request", async () => {
		const client = await start();
		const command = "echo first; printf '\\033[31msecond\\033[0m line\\n'; exec cat";
		const { id } = await client.sessions.create({ command, durable, retain });
		const before = Date.now() - 60_000;
		// All of it. The end of the line may arrive last.
		const overview = await eventually("the last line, with its end", async () => {
			const [listed] = await client.sessions.list({ overview: true });
			const { lastLine, activity = [] } = listed?.overview ?? {};
			return lastLine === "second line" && sumOf(activity) === 29 ? listed?.overview : undefined;
		});
		expect(overview.activity).toHaveLength(30);
		expect(overview.lastOutputAt).toBeGreaterThan(before);
		expect(overview).toMatchObject({ usualIntervalMs: null, watchers: 0 });
		expect(overview).not.toHaveProperty("waiting");
		// An interval of its activity may end between two reads.
		await eventually("the same from the session itself", async () => {
			const [listed] = await client.sessions.list({ overview: true });
			return isDeepStrictEqual((await client.sessions.at(id).info({ overview: true })).overview, listed?.overview);
		});
		expect((await client.sessions.list())[0]).not.toHaveProperty("overview");
	});

	it("the feed reports changes of the overview: a question, typed input, and its answer", async () => {
		const client = await start();
		const feed = await follow(client);
		const command = "printf 'Push 3 commits? [y/N] '; read a; echo got $a; sleep 60";
		const session = await client.sessions.create({ argv: ["bash", "-c", command], durable, retain });
		const isAsked = ({ waiting, lastLine }: Overview) => waiting?.kind === "line" && lastLine !== "";
		const asked = await feed.until(session.id, "the question", isAsked);
		expect(asked).toMatchObject({
			lastLine: "Push 3 commits? [y/N]",
			waiting: { kind: "line", prompt: "Push 3 commits? [y/N]", choices: ["y", "N"], offset: 22, program: "bash" },
		});
		expect((await client.sessions.list({ overview: true }))[0]?.overview?.waiting).toEqual(asked.waiting);
		await session.write("y");
		const typed = await feed.until(session.id, "what was typed", ({ waiting }) => waiting?.offset === 23);
		expect(typed.waiting).toMatchObject({ prompt: "Push 3 commits? [y/N] y", since: asked.waiting?.since });
		await session.write("\n");
		await feed.until(session.id, "the end of it", ({ waiting, lastLine }) => waiting === null && lastLine === "got y");
	});

	it("a new follower of the feed gets questions that were asked before", async () => {
		const client = await start();
		const { id } = await client.sessions.create({ command: "printf 'Go on? [y/N] '; read a", durable, retain });
		for (const _ of ["the first", "the next event, after no reader was connected"]) {
			const feed = await follow(client);
			const { waiting } = await feed.until(id, "the question", (overview) => Boolean(overview.waiting));
			expect(waiting).toMatchObject({ kind: "line", prompt: "Go on? [y/N]", choices: ["y", "N"] });
			feed.leave();
			await eventually("the feed to have no followers", async () => {
				const { overview } = await client.sessions.at(id).info({ overview: true });
				return overview && !("waiting" in overview);
			});
		}
	});

	it("the feed reports that a secret was answered although nothing was displayed", async () => {
		const client = await start();
		const feed = await follow(client);
		const session = await client.sessions.create({ argv: ["bash", "-c", "read -s x; sleep 60"], durable, retain });
		await feed.until(session.id, "the secret", ({ waiting }) => waiting?.kind === "secret");
		await session.write("hidden\n");
		const after = await feed.until(session.id, "the end of it", ({ waiting }) => waiting === null);
		expect(JSON.stringify(after)).not.toContain("hidden");
	});

	it("the feed reports a flood once per second, and its end last", async () => {
		const client = await start({});
		const feed = await follow(client);
		const command = "timeout 1.2 yes; echo; echo finished";
		const { id } = await client.sessions.create({ command, durable, retain });
		await feed.until(id, "the last line", ({ lastLine }) => lastLine === "finished");
		const times = feed.changes(id).map(({ time }) => time);
		expect(times.length).toBeGreaterThan(1);
		for (const [index, time] of times.slice(1).entries()) {
			// Timers may fire slightly early.
			expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(980);
		}
		const activity = feed.changes(id).flatMap(({ overview }) => overview?.activity ?? []);
		expect(Math.max(...activity)).toBeGreaterThan(100_000);
	});
});

it("a session that has ended has its last line in the journal, for the next server", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const started = await keepers.start(startOf(["sh", "-c", "echo one; echo the last; exit 3"], { mode: "pipe" }));
	await itemsUntil(started, LOG_START, ({ kind }) => kind === "closed");
	await keepers.close();
	const { adopted } = await site.open();
	const session = only(adopted);
	await eventually("the end of the keeper", async () => (await session.outputActivity()).count === 0);
	expect(await session.outputActivity()).toEqual({
		...{ count: 0, offset: 13, tail: "one\nthe last\n" },
		...{ activity: NO_ACTIVITY, usualIntervalMs: null, lastOutputAt: expect.any(Number) },
	});
});

it("following many sessions causes no leak warning", async () => {
	const warnings: string[] = [];
	const note = ({ message }: Error) => warnings.push(message);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const client = await start();
	const feed = await follow(client);
	const sessions = await Promise.all(
		Array.from({ length: 12 }, () => client.sessions.create({ command: "echo here; exec cat", durable: false })),
	);
	for (const { id } of sessions) await feed.until(id, "the last line", ({ lastLine }) => lastLine === "here");
	expect(warnings).toEqual([]);
});

it("a full-screen program has no last line", async () => {
	const client = await start();
	const command = "printf 'before\\n\\033[?1049h\\033[5;5Hdrawn'; exec sleep 60";
	const { id } = await client.sessions.create({ command, durable: false });
	await eventually("the screen", async () => {
		const { overview } = await client.sessions.at(id).info({ overview: true });
		return sumOf(overview?.activity ?? []) > 20 && overview?.lastLine === null;
	});
});

it("the feed reports attaching and detaching clients, and a new name", async () => {
	const client = await start();
	const feed = await follow(client);
	const session = await client.sessions.create({ argv: ["cat"], name: "one", durable: false });
	const attachment = session.attach({ role: "viewer" });
	await feed.until(session.id, "the watcher", ({ watchers }) => watchers === 1);
	await session.rename("two");
	await eventually("the name", () => feed.changes(session.id).at(-1)?.session.name === "two");
	await attachment.detach();
	await feed.until(session.id, "no watchers", ({ watchers }) => watchers === 0);
	await session.kill();
	await eventually("the end", () => feed.events.some(({ type }) => type === "closed"));
	await session.rename("three");
	await eventually("the name after the end", () => feed.changes(session.id).at(-1)?.session.name === "three");
});

it("the overview is sent only to subscribers, and only what they may see", async () => {
	const { client, stranger: other } = await startWithStranger();
	const plain = await follow(client, {});
	const stranger = await follow(other);
	const feed = await follow(client);
	const { id } = await client.sessions.create({ command: "echo hello; exec cat", durable: false, workspace: "red" });
	await feed.until(id, "the line", ({ lastLine }) => lastLine === "hello");
	expect(plain.events.map(({ type }) => type)).not.toContain("changed");
	expect(stranger.events).toEqual([]);
});

it("a reconnecting reader gets the latest change of each session, and no older one", async () => {
	const client = await start();
	const feed = await follow(client);
	const { value: first } = await client.events({ overview: true }).next();
	if (!first) throw new Error("no cursor");
	const session = await client.sessions.create({ argv: ["cat"], durable: false });
	for (const line of ["one", "two", "three"]) {
		await session.write(`${line}\n`);
		await feed.until(session.id, line, ({ lastLine }) => lastLine === line);
	}
	const told: (string | null | undefined)[] = [];
	for await (const item of client.events({
		since: first.cursor,
		overview: true,
		signal: AbortSignal.timeout(10_000),
	})) {
		if (item.kind !== "event" || item.event.type !== "changed") continue;
		told.push(item.event.overview?.lastLine);
		break;
	}
	expect(told).toEqual(["three"]);
});

it("an answer goes to the reported question and to no other", async () => {
	const client = await start();
	const feed = await follow(client);
	const command = "read -p 'first? ' a; read -p 'second? ' b; echo $a $b; sleep 60";
	const session = await client.sessions.create({ argv: ["bash", "-c", command], durable: true, retain });
	const { waiting: first } = await feed.until(session.id, "a question", ({ waiting }) => waiting?.prompt === "first?");
	await session.keys(["y", "Enter"], { ifWaiting: first?.offset ?? 0 });
	const { waiting: second } = await feed.until(session.id, "one more", ({ waiting }) => waiting?.prompt === "second?");
	const late = { code: "not_waiting", status: 409 };
	await expect(session.keys(["y", "Enter"], { ifWaiting: first?.offset ?? 0 })).rejects.toMatchObject(late);
	await expect(session.write("late\n", { ifWaiting: first?.offset ?? 0 })).rejects.toMatchObject(late);
	const tooLong = "x".repeat(131_073);
	await expect(session.write(tooLong, { ifWaiting: second?.offset ?? 0 })).rejects.toMatchObject({ status: 400 });
	expect(await session.write("n\n", { ifWaiting: second?.offset ?? 0, untilWritten: true })).toEqual({
		next: 2,
		written: 2,
		from: second?.offset,
	});
	await feed.until(session.id, "both", ({ lastLine }) => lastLine === "y n");
});
