import { expect, it, onTestFinished } from "vitest";
import type { Webhook } from "../../../src/core/webhooks.ts";
import { Feed } from "../../../src/fronts/native/feed.ts";
import { FeedLog } from "../../../src/fronts/native/feed-log.ts";
import { Attachments } from "../../../src/fronts/native/socket/attachments.ts";
import { FeedNotices } from "../../../src/fronts/native/webhooks/notices.ts";
import type { WebhookNotice } from "../../../src/protocol/webhooks.ts";
import { startTestServer } from "./test-server.ts";

it("a webhook that is further behind than anybody remembers is told so, and then what is remembered", async () => {
	const server = await startTestServer();
	onTestFinished(() => server.close());
	const closing = new AbortController();
	onTestFinished(() => closing.abort());
	const report = (problem: unknown) => {
		throw problem;
	};
	const log = new FeedLog({ report, size: 2 });
	const options = { log, now: Date.now, report, attachments: new Attachments(), approvals: undefined };
	const feed = new Feed(server.sessions, options, closing.signal);
	const notices = new FeedNotices({ feed, pageOf: () => undefined, now: Date.now });
	const begin = notices.end;
	const ids: string[] = [];
	for (let i = 0; i < 3; i++) ids.push((await server.create({ argv: ["cat"] })).id);
	const webhook: Webhook = {
		id: "w",
		url: "https://example.org/",
		events: ["created"],
		workspace: null,
		labels: [],
		allowsHttp: false,
		createdAt: 0,
	};
	const told: WebhookNotice[] = [];
	for await (const { notice } of notices.follow(webhook, begin, closing.signal)) {
		if (notice) told.push(JSON.parse(notice.body) as WebhookNotice);
		if (told.length === 3) break;
	}
	expect(told.map(({ type, session }) => [type, session?.id])).toEqual([
		["missed", undefined],
		["created", ids[1]],
		["created", ids[2]],
	]);
});
