/** The feed's events over several servers, on real files. A killed server just leaves them. */

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FeedEvent } from "../../../src/api/types.ts";
import { LineHistory } from "../../../src/disk/line-history.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { Feed } from "../../../src/services/feed/feed.ts";
import { FeedLog } from "../../../src/services/feed/feed-log.ts";
import type { ReportedState } from "../../../src/services/feed/history-lines.ts";
import { startTestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { fill, withSmallDisk } from "../../support/small-disk.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

type Opened = { log: FeedLog; problems: Error[]; add: (...names: string[]) => Promise<void> };

async function open(directory: string, options: { size?: number; maxBytes?: number } = {}): Promise<Opened> {
	const problems: Error[] = [];
	const report = (problem: unknown) => problems.push(problem as Error);
	const { maxBytes = 1024 * 1024, ...others } = options;
	const history = await LineHistory.open({ directory, name: "events", maxBytes, report });
	const log = await FeedLog.open({ history, report, ...others });
	onTestFinished(() => log.close());
	const add = async (...names: string[]) => {
		for (const name of names) log.add(event(name), toldOf(name));
		const last = names.at(-1);
		await eventually(`event ${last}`, async () => (await read(log, undefined)).includes(last ?? ""));
	};
	return { log, problems, add };
}

function event(name: string, type: FeedEvent["type"] = "created"): FeedEvent {
	return { type, time: 0, session: { id: name, name: null, workspace: "default" } };
}

function toldOf(id: string): ReportedState {
	const { session } = event(id);
	return { session, exited: false, ended: false, episode: 0, command: 0, quiet: [] };
}

/** The events after a cursor, or all. */
async function read(log: FeedLog, since: string | undefined): Promise<string[]> {
	const seen: string[] = [];
	const over = new AbortController();
	const end = log.end;
	// An unknown cursor gets all events after a gap.
	for await (const { cursor, event: told } of log.follow(since ?? "none-0", {
		signal: over.signal,
		withOverviews: false,
	})) {
		seen.push(told?.session.id ?? "gap");
		if (cursor === end) break;
	}
	return seen;
}

async function feedOf(log: FeedLog) {
	const server = await startTestServer();
	onTestFinished(() => server.close());
	const closing = new AbortController();
	onTestFinished(() => closing.abort());
	const common = { now: Date.now, report: () => {}, attachments: new Attachments() };
	const agents = new Agents({ ...common, sessions: server.sessions });
	const options = { ...common, log, agents, approvals: undefined };
	return { feed: new Feed(server.sessions, options, closing.signal), closing };
}

test("a reader resumes with its cursor on the next server, and on the one after that", async () => {
	const directory = await temporaryDirectory();
	const first = await open(directory);
	expect(first.log.before).toBeUndefined();
	const begin = first.log.end;
	const second = await open(directory);
	expect(second.log.before).toEqual(new Map());
	await second.add("a", "b");
	const middle = second.log.end;
	const third = await open(directory);
	expect(third.log.end).toBe(middle);
	expect([...(third.log.before?.keys() ?? [])]).toEqual(["a", "b"]);
	await third.add("c");
	const last = await open(directory);
	expect(await read(last.log, begin)).toEqual(["a", "b", "c"]);
	expect(await read(last.log, middle)).toEqual(["c"]);
});

test("a reader who saw events lost in a power failure gets a gap, and no other events take their place", async () => {
	const directory = await temporaryDirectory();
	const { log, add } = await open(directory);
	await add("a");
	const kept = log.end;
	await add("b");
	const gone = log.end;
	const file = join(directory, "events-000001.jsonl");
	const lines = (await readFile(file, "utf8")).split("\n");
	await writeFile(file, `${lines.slice(0, -2).join("\n")}\n{"num`);
	const next = await open(directory);
	await next.add("c", "d");
	expect(await read(next.log, gone)).toEqual(["gap", "a", "c", "d"]);
	expect(await read(next.log, kept)).toEqual(["c", "d"]);
});

test("an unreadable line is skipped, and a reader at its position gets a gap", async () => {
	const directory = await temporaryDirectory();
	const { log, add } = await open(directory);
	await add("a");
	const begin = log.end;
	await add("b", "c", "d");
	const file = join(directory, "events-000001.jsonl");
	const isOf = (id: string) => (line: string) => line.includes(`"id":"${id}"`);
	const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
	const foreign = ["5", "null", "{}", "[]", '"x"', '{"number":1000}', '{"last":1e300,"epochs":[],"told":[]}'];
	foreign.push(lines.find(isOf("b"))?.replace('"number":2', '"number":"x"') ?? "");
	const kept = lines.map((line) => (isOf("b")(line) ? foreign.join("\n") : line));
	// Two of ours, sent already.
	await writeFile(file, `${[...kept, lines.find(isOf("d")), lines.find(isOf("a"))].join("\n")}\n`);
	const next = await open(directory);
	expect(next.problems).toMatchObject([
		{ message: expect.stringContaining(`skipped ${foreign.length + 2} invalid lines`) },
	]);
	expect(await read(next.log, begin)).toEqual(["gap", "c", "d"]);
	// Earlier events are not sent either.
	expect(await read(next.log, undefined)).toEqual(["gap", "c", "d"]);
	await next.add("e");
	expect(await read((await open(directory)).log, begin)).toEqual(["gap", "c", "d", "e"]);
});

test("the reported state of sessions outlives the events that reported it", async () => {
	const directory = await temporaryDirectory();
	const { log, add } = await open(directory, { size: 10, maxBytes: 8 * 1024 });
	await add("old");
	const begin = log.end;
	for (let count = 0; count < 300; count++) {
		log.add(event(`s${count}`), toldOf(`s${count}`));
		log.add(event(`s${count}`, "removed"), toldOf(`s${count}`));
	}
	await add("new");
	const next = await open(directory, { size: 10, maxBytes: 8 * 1024 });
	expect([...(next.log.before?.keys() ?? [])]).toEqual(["old", "new"]);
	expect((await read(next.log, begin)).slice(0, 2)).toEqual(["gap", "s295"]);
});

test("an open question is known to the next server, also if its event is gone", async () => {
	const directory = await temporaryDirectory();
	const options = { size: 10, maxBytes: 8 * 1024 };
	const { log, add } = await open(directory, options);
	const asked = (id: string, status: "asked" | "given"): FeedEvent => ({
		...event("s", "secret"),
		secret: { id, status, name: null, by: null },
	});
	log.add(asked("one", "asked"), toldOf("s"));
	log.add(asked("two", "asked"), toldOf("s"));
	log.add(asked("one", "given"), toldOf("s"));
	for (let count = 0; count < 20; count++) await add(...Array.from({ length: 10 }, (_, index) => `s${count}-${index}`));
	const next = await open(directory, options);
	expect(next.log.askedBefore.map(({ secret }) => secret?.id)).toEqual(["two"]);
	next.log.add(asked("two", "given"), toldOf("s"));
	await next.add("new");
	expect((await open(directory, options)).log.askedBefore).toEqual([]);
});

test("the next server reports that earlier questions have ended, and which sessions are gone", async () => {
	const directory = await temporaryDirectory();
	const { log, add } = await open(directory);
	const session = event("s").session;
	const approval = { id: "held", session, by: { id: "t", name: "t" }, kind: "run", reason: "match" } as const;
	const details = {
		preview: "rm -rf what-is-not-stored",
		sha256: "",
		offset: null,
		fence: null,
		askedAt: 0,
		expiresAt: 1,
	};
	log.add({ ...event("s", "approval"), approval: { ...approval, ...details, state: "asked" } }, null);
	log.add({ ...event("s", "secret"), secret: { id: "wanted", status: "asked", name: null, by: "t" } }, null);
	log.add(event("ended", "closed"), { ...toldOf("ended"), ended: true });
	await add("last");
	expect(await readFile(join(directory, "events-000001.jsonl"), "utf8")).not.toContain("what-is-not-stored");
	const next = await open(directory);
	const { feed, closing } = await feedOf(next.log);
	const told: FeedEvent[] = [];
	for await (const item of feed.follow(log.end, { signal: closing.signal, withOverviews: false })) {
		if (item.event) told.push(item.event);
		if (told.length === 5) break;
	}
	expect(told).toMatchObject([
		{ type: "approval", approval: { id: "held", state: "withdrawn" } },
		{ type: "secret", secret: { id: "wanted", status: "expired", by: null } },
		{ type: "removed", session: { id: "ended" } },
		{ type: "lost", session: { id: "last" } },
		{ type: "removed", session: { id: "last" } },
	]);
});

test("the labels of an ended session are not repeated in each file", async () => {
	const directory = await temporaryDirectory();
	const { log, add } = await open(directory, { maxBytes: 16 * 1024 });
	const session = { ...event("old").session, labels: { long: "mark".repeat(10) } };
	log.add({ ...event("old"), session }, { ...toldOf("old"), session, ended: true });
	for (let count = 0; count < 20; count++) await add(`s${count}`);
	const [first, ...others] = (await readdir(directory)).sort();
	const textOf = (name = "") => readFile(join(directory, name), "utf8");
	expect(await textOf(first)).toContain("markmark");
	expect(others.length).toBeGreaterThan(0);
	for (const name of others) expect(await textOf(name)).not.toContain("markmark");
});

test("a reader who missed events gets one gap, whatever is still known about earlier changes", async () => {
	const log = new FeedLog({ size: 3, report: (problem) => expect(problem).toBeUndefined() });
	for (const name of ["a", "b", "c", "d", "e", "f"]) {
		log.add(event(name), toldOf(name));
		log.addChange(event(name, "changed"));
	}
	expect(await read(log, undefined)).toEqual(["gap", "d", "e", "f"]);
});

test("silence durations are shared, and free again without subscribers", async () => {
	const { feed } = await feedOf(new FeedLog({ report: () => {} }));
	const listen = (quietMs: number, account: string, isAdmin = false) => {
		const over = new AbortController();
		onTestFinished(() => over.abort());
		feed.checkQuiet(quietMs, { account, isAdmin });
		const reading = feed
			.follow(undefined, { signal: over.signal, withOverviews: false, quietMs, by: { account, isAdmin } })
			.next();
		return async () => {
			over.abort();
			await reading;
		};
	};
	const limited = expect.objectContaining({ code: "limit_exceeded" });
	const leave = listen(1_000, "one");
	listen(2_000, "one");
	expect(() => listen(3_000, "one")).toThrow(limited);
	for (const quietMs of [3_000, 4_000]) listen(quietMs, "two");
	listen(5_000, "three");
	// The last one is reserved for a fourth account.
	expect(() => listen(6_000, "three")).toThrow(limited);
	listen(6_000, "four");
	expect(() => listen(7_000, "four")).toThrow(limited);
	// A duration that others subscribe to is free.
	listen(1_000, "four");
	for (let quietMs = 7_000; quietMs < 13_000; quietMs += 1_000) listen(quietMs, "operator", true);
	const hint =
		"use one of the values in use: 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 11000, 12000 ms";
	const full = "no more distinct `quietMs` values: the operator has 6 (6 reserved) and no more are free";
	const refused = expect.objectContaining({ code: "limit_exceeded", message: full, hint });
	expect(() => listen(13_000, "operator", true)).toThrow(refused);
	await leave();
	expect(() => listen(13_000, "operator", true)).toThrow(refused);
});

test("a session whose only change is a new name looks as it did before", async () => {
	const log = new FeedLog({ report: (problem) => expect(problem).toBeUndefined() });
	const overview = { lastLine: "ready" } as NonNullable<FeedEvent["overview"]>;
	log.addChange({ ...event("a", "changed"), overview });
	log.addChange(event("a", "changed"));
	const over = AbortSignal.timeout(10_000);
	for await (const item of log.follow(log.end, { signal: over, withOverviews: true })) {
		expect(item.event).toEqual({ ...event("a", "changed"), overview });
		break;
	}
});

test("a full disk delays no event for readers; events are stored later, or missed by readers who reconnect", async () => {
	await withSmallDisk(256 * 1024, async (directory) => {
		const { log, problems, add } = await open(directory);
		await add("a");
		const begin = log.end;
		const filler = await fill(directory);
		const long = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(1024, "x"));
		await add(...long);
		expect(problems.map(({ message }) => message)).toEqual([
			expect.stringContaining("can't store feed events on disk"),
		]);
		const inMemory = log.end;
		// A server that is killed now.
		const killed = await open(directory);
		expect((await read(killed.log, inMemory))[0]).toBe("gap");
		await rm(filler);
		await eventually("the events on disk", () => problems.length > 1);
		await add("b");
		expect(await read(log, begin)).toEqual([...long, "b"]);
		const next = await open(directory);
		expect(await read(next.log, inMemory)).toEqual(["b"]);
		// A server's last action is to retry.
		const full = await fill(directory);
		await next.add(...long);
		await rm(full);
		await next.log.close();
		const last = await open(directory);
		expect(await read(last.log, inMemory)).toEqual(["b", ...long]);
		for (const one of [log, killed.log, last.log]) await one.close();
	});
});

test("output of a session that stores nothing on disk is reported and not stored", async () => {
	const directory = await temporaryDirectory();
	const { log } = await open(directory);
	const begin = log.end;
	const asked = { ...event("a", "waiting"), prompt: "the word?" };
	const ran = { ...event("a", "command"), command: { command: "the word" } as NonNullable<FeedEvent["command"]> };
	for (const one of [asked, ran]) log.add(one, toldOf("a"), { isPrivate: true });
	const over = AbortSignal.timeout(10_000);
	const told: (FeedEvent | undefined)[] = [];
	for await (const item of log.follow(begin, { signal: over, withOverviews: false })) {
		if (told.push(item.event) === 2) break;
	}
	expect(told).toEqual([asked, ran]);
	expect(await readFile(join(directory, "events-000001.jsonl"), "utf8")).not.toContain("the word");
});
