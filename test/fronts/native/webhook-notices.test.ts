import { expect, it, onTestFinished } from "vitest";
import type { WebhookNotice } from "../../../src/api/types.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { Feed } from "../../../src/services/feed/feed.ts";
import { FeedLog } from "../../../src/services/feed/feed-log.ts";
import { FeedNotices } from "../../../src/services/webhooks/notices.ts";
import type { Webhook } from "../../../src/services/webhooks/webhooks.ts";
import { startTestServer } from "../../support/native-server.ts";
import { write } from "../../support/reading.ts";

async function open(size: number) {
	const server = await startTestServer();
	onTestFinished(() => server.close());
	const closing = new AbortController();
	onTestFinished(() => closing.abort());
	const report = (problem: unknown) => {
		throw problem;
	};
	const log = new FeedLog({ report, size });
	const common = { now: Date.now, report, attachments: new Attachments() };
	const agents = new Agents({ ...common, sessions: server.sessions });
	const options = { ...common, log, agents, approvals: undefined };
	const feed = new Feed(server.sessions, options, closing.signal);
	return { server, feed, closing, notices: new FeedNotices({ feed, pageOf: () => undefined, now: Date.now }) };
}

const webhookFor = (...events: string[]): Webhook => ({
	id: "w",
	url: "https://example.org/",
	events,
	workspace: null,
	labels: [],
	allowsHttp: false,
	owner: null,
	createdAt: 0,
});

/** The first few. */
async function toldOf(count: number, items: ReturnType<FeedNotices["follow"]>): Promise<WebhookNotice[]> {
	const told: WebhookNotice[] = [];
	for await (const { notice } of items) {
		if (notice) told.push(JSON.parse(notice.body) as WebhookNotice);
		if (told.length === count) break;
	}
	return told;
}

it("a webhook further behind than the retained events is informed of that, and then gets the retained ones", async () => {
	const { server, notices, closing } = await open(2);
	const begin = notices.end;
	const ids: string[] = [];
	for (let i = 0; i < 3; i++) ids.push((await server.create({ argv: ["cat"] })).id);
	const told = await toldOf(3, notices.follow(webhookFor("created"), begin, closing.signal));
	expect(told.map(({ type, session }) => [type, session?.id])).toEqual([
		["missed", undefined],
		["created", ids[1]],
		["created", ids[2]],
	]);
});

it("a webhook of a workspace gets only its sessions", async () => {
	const { server, notices, closing } = await open(100);
	const begin = notices.end;
	await server.create({ argv: ["cat"] });
	const { id } = await server.create({ argv: ["cat"], workspace: "mine" });
	const webhook = { ...webhookFor("created"), workspace: "mine" };
	const told = await toldOf(1, notices.follow(webhook, begin, closing.signal));
	expect(told.map(({ session }) => session?.id)).toEqual([id]);
});

it("an agent's request for a secret is delivered when it is made, without its outcome", async () => {
	const { server, feed, notices, closing } = await open(100);
	const { id } = await server.create({ argv: ["cat"] });
	const session = server.sessions.get(id);
	if (!session) throw new Error("it has gone");
	const begin = notices.end;
	for (const status of ["asked", "given"] as const) {
		feed.announce("secret", session, { secret: { id: "r1", status, name: "registry", by: null } });
	}
	feed.announce("secret", session, { secret: { id: "r2", status: "asked", name: null, by: null } });
	const told = await toldOf(2, notices.follow(webhookFor("secret"), begin, closing.signal));
	expect(told.map(({ secret }) => secret)).toEqual([
		{ id: "r1", name: "registry" },
		{ id: "r2", name: null },
	]);
});

it("a question for a secret is delivered once, by any first requester, and the next question again", async () => {
	const { server, feed, notices, closing } = await open(100);
	const { id } = await server.create({ argv: ["cat"] });
	const session = server.sessions.get(id);
	if (!session) throw new Error("it has gone");
	const begin = notices.end;
	const waits = (offset: number) =>
		feed.announce("waiting", session, { kind: "secret", offset, prompt: `at ${offset}` });
	const request = (name: string, offset: number) =>
		feed.announce("secret", session, { secret: { id: name, status: "asked", name, by: null }, offset });
	waits(1);
	request("after the program", 1);
	// Another question, although nothing was written in between.
	waits(1);
	request("before the program", 2);
	waits(2);
	request("of another requester", 2);
	waits(3);
	const told = await toldOf(4, notices.follow(webhookFor("secret"), begin, closing.signal));
	expect(told.map(({ secret, question }) => secret?.name ?? question?.prompt)).toEqual([
		"at 1",
		"at 1",
		"before the program",
		"at 3",
	]);
});

it("a waiting program is delivered if it asks a question, not if it reads commands, plain input or is full-screen", async () => {
	const { server, feed, notices, closing } = await open(100);
	const { id } = await server.create({ argv: ["cat"] });
	const session = server.sessions.get(id);
	if (!session) throw new Error("it has gone");
	const begin = notices.end;
	const waits = (kind: string, prompt: string) => feed.announce("waiting", session, { kind, prompt, offset: 1 });
	waits("line", ">>> ");
	waits("line", "");
	waits("tui", "file: ");
	waits("line", "package name: (npmi) ");
	waits("tui", "Save it? (y/n)");
	waits("key", "❯ 1. Yes, and do not ask again");
	const told = await toldOf(3, notices.follow(webhookFor("waiting"), begin, closing.signal));
	expect(told.map(({ question }) => question?.prompt)).toEqual([
		"package name: (npmi) ",
		"Save it? (y/n)",
		"❯ 1. Yes, and do not ask again",
	]);
});

it("a question of a session that stores nothing is delivered and not stored", async () => {
	const { server, notices, closing } = await open(100);
	const items = notices.follow(webhookFor("waiting"), notices.end, closing.signal);
	await server.create({ argv: ["sh", "-c", "printf 'Name? '; read name"], mode: "pty", durable: false });
	const wanted = async () => {
		for await (const { notice } of items) if (notice) return notice;
		return undefined;
	};
	const notice = await wanted();
	expect(notice?.body).toContain("Name?");
	expect(notice?.kept).not.toContain("Name?");
	expect(JSON.parse(notice?.kept ?? "")).toMatchObject({ type: "waiting" });
});

it("a webhook gets a blocked agent as waiting, without tokens, and its other states as agent", async () => {
	const { server, notices, closing } = await open(100);
	const begin = notices.end;
	const first = toldOf(1, notices.follow(webhookFor("waiting"), begin, closing.signal));
	const all = toldOf(1, notices.follow(webhookFor("waiting", "agent"), begin, closing.signal));
	const reporter = `while read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;
	const { id } = await server.create({ command: reporter });
	const session = server.sessions.get(id);
	if (!session) throw new Error("no session");
	await write(session, "state=working:app=pi\n");
	expect((await all).map(({ type, agent }) => [type, agent?.state])).toEqual([["agent", "working"]]);
	const message = Buffer.from("Use ghp_0123456789abcdefghijklmnopqrstuvwxyz?").toString("base64");
	await write(session, `state=blocked:app=pi:msg=${message}\n`);
	const [waiting] = await first;
	expect(waiting).toMatchObject({ type: "waiting", agent: { app: "pi", state: "blocked" } });
	expect(waiting?.agent?.question).toMatch(/^Use .*\?$/);
	expect(waiting?.agent?.question).not.toContain("0123456789");
	const both = await toldOf(2, notices.follow(webhookFor("waiting", "agent"), begin, closing.signal));
	expect(both.map(({ type }) => type)).toEqual(["agent", "waiting"]);
});
