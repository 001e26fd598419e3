import { expect, it, onTestFinished } from "vitest";
import type { Webhook } from "../../../src/core/webhooks.ts";
import { Feed } from "../../../src/fronts/native/feed.ts";
import { FeedLog } from "../../../src/fronts/native/feed-log.ts";
import { Attachments } from "../../../src/fronts/native/socket/attachments.ts";
import { FeedNotices } from "../../../src/fronts/native/webhooks/notices.ts";
import type { WebhookNotice } from "../../../src/protocol/webhooks.ts";
import { startTestServer } from "./test-server.ts";

async function open(size: number) {
	const server = await startTestServer();
	onTestFinished(() => server.close());
	const closing = new AbortController();
	onTestFinished(() => closing.abort());
	const report = (problem: unknown) => {
		throw problem;
	};
	const log = new FeedLog({ report, size });
	const options = { log, now: Date.now, report, attachments: new Attachments(), approvals: undefined };
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
	createdAt: 0,
});

/** The first so many. */
async function toldOf(count: number, items: ReturnType<FeedNotices["follow"]>): Promise<WebhookNotice[]> {
	const told: WebhookNotice[] = [];
	for await (const { notice } of items) {
		if (notice) told.push(JSON.parse(notice.body) as WebhookNotice);
		if (told.length === count) break;
	}
	return told;
}

it("a webhook that is further behind than anybody remembers is told so, and then what is remembered", async () => {
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

it("a webhook of a workspace is told of its sessions alone", async () => {
	const { server, notices, closing } = await open(100);
	const begin = notices.end;
	await server.create({ argv: ["cat"] });
	const { id } = await server.create({ argv: ["cat"], workspace: "mine" });
	const webhook = { ...webhookFor("created"), workspace: "mine" };
	const told = await toldOf(1, notices.follow(webhook, begin, closing.signal));
	expect(told.map(({ session }) => session?.id)).toEqual([id]);
});

it("a secret that an agent asks for is told when it is asked for, and not what became of it", async () => {
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

it("one question for a secret is told once, whoever is first to ask people for it; the next one is told again", async () => {
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
	// Another question, though nothing was written in between.
	waits(1);
	request("before the program", 2);
	waits(2);
	request("of somebody else", 2);
	waits(3);
	const told = await toldOf(4, notices.follow(webhookFor("secret"), begin, closing.signal));
	expect(told.map(({ secret, question }) => secret?.name ?? question?.prompt)).toEqual([
		"at 1",
		"at 1",
		"before the program",
		"at 3",
	]);
});

it("that a program waits is told if it asks something, and not of one that takes commands, merely reads or has the screen", async () => {
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

it("a question of a session that keeps nothing may be told, and not written down", async () => {
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
