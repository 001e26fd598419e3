import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Clock } from "../../../src/core/async/clock.ts";
import { usualLookup } from "../../../src/services/webhooks/resolved-address.ts";
import { toSecret } from "../../../src/services/webhooks/signed-request.ts";
import { parseRecord, type StoredWebhook, toRecord } from "../../../src/services/webhooks/webhook-record.ts";
import {
	type Counts,
	type DeliveryTimes,
	usualTimes,
	WebhookSender,
} from "../../../src/services/webhooks/webhook-sender.ts";
import type { Notices } from "../../../src/services/webhooks/webhooks.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually } from "../../support/reading.ts";
import { refused, taken, WebhookReceiver } from "../../support/webhook-receiver.ts";

/** This many notices, each about another session, and then none. Counts how many were taken. */
class Numbered implements Notices {
	readonly end = "0";
	asked = 0;
	readonly #count: number;

	constructor(count: number) {
		this.#count = count;
	}

	async *follow(_webhook: unknown, since: string, signal: AbortSignal): ReturnType<Notices["follow"]> {
		for (let number = Number(since) + 1; number <= this.#count && !signal.aborted; number++) {
			this.asked = number;
			const body = JSON.stringify({ time: number });
			yield { cursor: String(number), notice: { session: `s${number}`, body, kept: body } };
		}
		if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
	}

	test(): never {
		throw new Error("nobody asks for it here");
	}
}

type Started = { readonly courier: WebhookSender; readonly kept: StoredWebhook; readonly counts: Counts };

type Options = {
	readonly clock?: Clock;
	readonly save?: (kept: StoredWebhook) => Promise<void>;
	readonly report?: (problem: unknown) => void;
};

function start(url: string, notices: Notices, times: DeliveryTimes, options: Options = {}): Started {
	const webhook = {
		id: "w",
		url,
		events: [],
		workspace: null,
		labels: [],
		allowsHttp: false,
		owner: null,
		createdAt: 0,
	};
	const kept: StoredWebhook = {
		webhook,
		secret: toSecret(Buffer.alloc(32, 1)),
		cursor: "0",
		waiting: [],
		failed: [],
		dropped: 0,
		stoppedAt: null,
		wasPrivate: false,
	};
	const counts = { delivered: 0, refused: 0, givenUp: 0 };
	let last = 0;
	const courier = new WebhookSender(kept, {
		clock: systemClock,
		times,
		lookup: usualLookup,
		allowsLinkLocal: false,
		save: async () => {},
		newId: () => `msg_${++last}`,
		counts,
		random: () => 0,
		report: (problem) => {
			throw problem;
		},
		...options,
	});
	courier.start(notices);
	onTestFinished(() => courier.close());
	return { courier, kept, counts };
}

it("failed notices are kept up to the limit, and the rest are counted", async () => {
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const { courier } = start(receiver.url, new Numbered(130), { backoffMs: [], timeoutMs: 5_000 });
	await eventually("the last to be given up", () => courier.status.failed + courier.status.dropped === 130);
	expect(courier.status).toMatchObject({ waiting: 0, failed: 100, dropped: 30, problem: "the receiver answered 500" });
	expect(courier.failed[0]).toMatchObject({ id: "msg_31", attempts: 1 });
	receiver.answer = taken;
	expect(await courier.retry(undefined)).toEqual({ retried: 100, left: 0 });
	await eventually("all to be taken", () => courier.status.waiting === 0);
	expect(courier.status).toMatchObject({ failed: 0, dropped: 30, problem: null });
	expect(receiver.received.at(-1)).toMatchObject({ id: "msg_130", attempt: 2 });
});

it("no more notices are taken than fit, and the others stay in the feed", async () => {
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const notices = new Numbered(250);
	const times = { backoffMs: [3_600_000], timeoutMs: 5_000 };
	const { courier, kept, counts } = start(receiver.url, notices, times);
	// The answer to the last one must have arrived: a notice in flight is not sent again at once.
	await eventually("all that may wait to be refused", () => counts.refused === 100);
	// One is taken but not queued, so the cursor is before it.
	expect({ asked: notices.asked, cursor: kept.cursor, waiting: courier.status.waiting }).toEqual({
		asked: 101,
		cursor: "100",
		waiting: 100,
	});
	receiver.answer = taken;
	await courier.retry(undefined);
	await eventually("the last to be taken", () => receiver.received.some(({ notice }) => notice.time === 250));
	const first = receiver.received.slice(0, 100).map(({ attempt }) => attempt);
	expect(new Set(first)).toEqual(new Set([1]));
	// The newest is not sent last: refused ones are sent when they are due.
	await eventually("every other one to be taken", () => courier.status.waiting === 0);
	expect(receiver.received.length).toBe(350);
});

it("a notice waits longer before each attempt, by the monotonic clock, and then fails", async () => {
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const clock = new FakeClock();
	const { courier } = start(receiver.url, new Numbered(1), usualTimes, { clock });
	const attempts = usualTimes.backoffMs.length + 1;
	for (let attempt = 1; attempt < attempts; attempt++) {
		await receiver.until(`attempt ${attempt}`, (one) => one.attempt === attempt);
		const pause = await eventually("a pause", () => courier.status.problem !== null && clock.pending === 1);
		expect(pause).toBe(true);
		clock.jump(-1_000_000);
		// A fifth less is the shortest delay.
		clock.advance((usualTimes.backoffMs[attempt - 1] ?? 0) * 0.8 - 1);
		await new Promise((resolve) => setImmediate(resolve));
		expect(receiver.received.length).toBe(attempt);
		clock.advance(1);
	}
	await eventually("the end", () => courier.status.failed === 1);
	expect(receiver.received.map(({ id, attempt }) => [id, attempt])).toEqual(
		Array.from({ length: attempts }, (_, index) => ["msg_1", index + 1]),
	);
	// Sent again by a caller, it gets as many attempts as the first time.
	await courier.retry(undefined);
	await receiver.until("one more", (one) => one.attempt === attempts + 1);
	await eventually("a pause", () => clock.pending === 1);
	expect(courier.status).toMatchObject({ waiting: 1, failed: 0 });
});

it("the sender sends nothing that is not on disk, and continues when the disk works again", async () => {
	const receiver = await WebhookReceiver.start();
	const clock = new FakeClock();
	const problems: unknown[] = [];
	let isFull = true;
	let saved: StoredWebhook["waiting"] | undefined;
	const save = async ({ waiting }: StoredWebhook) => {
		if (isFull) throw new Error("the disk is full");
		saved = waiting;
	};
	start(receiver.url, new Numbered(1), usualTimes, { clock, save, report: (problem) => problems.push(problem) });
	// Once for the new notices, once for the attempt.
	await eventually("both to be told of", () => problems.length === 2 && clock.pending === 2);
	clock.advance(5_000);
	await eventually("the next try", () => clock.pending > 0);
	expect({ received: receiver.received, problems: problems.length }).toEqual({ received: [], problems: 2 });
	isFull = false;
	clock.advance(5_000);
	expect(await receiver.until("the notice", () => true)).toMatchObject({ attempt: 1 });
	// The success is on disk as well, or the next server would send the notice again.
	await eventually("its end", () => saved?.length === 0);
});

it("private text is sent while it is in memory, and is not on disk after a restart", () => {
	const { kept } = start("http://127.0.0.1:1/", new Numbered(0), usualTimes);
	const told = { id: "msg_1", session: "s", body: "what it asks", kept: "that it asks", attempts: 1, tries: 1 };
	const both = {
		...kept,
		waiting: [{ ...told, reason: null }],
		failed: [{ ...told, reason: "the receiver answered 500" }],
	};
	const written = JSON.stringify(toRecord(both));
	expect(written).not.toContain("what it asks");
	const { waiting, failed } = parseRecord(JSON.parse(written), "w", "w.json");
	expect([...waiting, ...failed].map(({ body }) => body)).toEqual(["that it asks", "that it asks"]);
});

it("a receiver with endless interim answers is cut off", async () => {
	const server = createServer((socket) => {
		socket.on("error", () => {});
		const say = () => {
			while (!socket.destroyed && socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)));
		};
		socket.on("drain", say);
		say();
	});
	server.listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	const { courier } = start(url, new Numbered(0), { backoffMs: [], timeoutMs: 600_000 });
	expect(await courier.test({ session: null, body: "{}", kept: "{}" }, false)).toEqual({
		isTaken: false,
		status: null,
		reason: "could not reach the receiver: too many interim answers",
	});
});
