import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { Notices } from "../../src/core/webhooks.ts";
import { type Counts, Courier, type DeliveryTimes, usualTimes } from "../../src/webhooks/courier.ts";
import { toSecret } from "../../src/webhooks/post.ts";
import { type Kept, parseRecord, toRecord } from "../../src/webhooks/record.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { eventually } from "../helpers/reading.ts";
import { refused, taken, WebhookReceiver } from "../helpers/webhook-receiver.ts";

/** So many notices, about one session each, and then none; says how many were taken from it. */
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

type Started = { readonly courier: Courier; readonly kept: Kept; readonly counts: Counts };

type Options = {
	readonly clock?: Clock;
	readonly save?: (kept: Kept) => Promise<void>;
	readonly report?: (problem: unknown) => void;
};

function start(url: string, notices: Notices, times: DeliveryTimes, options: Options = {}): Started {
	const webhook = { id: "w", url, events: [], workspace: null, labels: [], allowsHttp: false, createdAt: 0 };
	const kept: Kept = {
		webhook,
		secret: toSecret(Buffer.alloc(32, 1)),
		cursor: "0",
		waiting: [],
		failed: [],
		dropped: 0,
	};
	const counts = { delivered: 0, refused: 0, givenUp: 0 };
	let last = 0;
	const courier = new Courier(kept, {
		clock: systemClock,
		times,
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

it("what is given up is kept as far as it may be, and the rest is counted", async () => {
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const { courier } = start(receiver.url, new Numbered(130), { backoffMs: [], timeoutMs: 5_000 });
	await eventually("the last to be given up", () => courier.status.failed + courier.status.dropped === 130);
	expect(courier.status).toMatchObject({ waiting: 0, failed: 100, dropped: 30, problem: "it answered 500" });
	expect(courier.failed[0]).toMatchObject({ id: "msg_31", attempts: 1 });
	receiver.answer = taken;
	expect(await courier.retry(undefined)).toEqual({ retried: 100, left: 0 });
	await eventually("all to be taken", () => courier.status.waiting === 0);
	expect(courier.status).toMatchObject({ failed: 0, dropped: 30, problem: null });
	expect(receiver.received.at(-1)).toMatchObject({ id: "msg_130", attempt: 2 });
});

it("no more is taken in than there is room for, and what is not stays where it was", async () => {
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const notices = new Numbered(250);
	const times = { backoffMs: [3_600_000], timeoutMs: 5_000 };
	const { courier, kept, counts } = start(receiver.url, notices, times);
	// Of the last, the answer must have come: one that is still on its way is not sent again at once.
	await eventually("all that may wait to be refused", () => counts.refused === 100);
	// One is in its hand, for which its place does not count yet.
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
	// The newest is not the last: those that were refused once go when it is their turn.
	await eventually("every other one to be taken", () => courier.status.waiting === 0);
	expect(receiver.received.length).toBe(350);
});

it("waits longer before each further attempt, by a clock that nobody sets, and then gives up", async () => {
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
		// A fifth less, which is the least.
		clock.advance((usualTimes.backoffMs[attempt - 1] ?? 0) * 0.8 - 1);
		await new Promise((resolve) => setImmediate(resolve));
		expect(receiver.received.length).toBe(attempt);
		clock.advance(1);
	}
	await eventually("the end", () => courier.status.failed === 1);
	expect(receiver.received.map(({ id, attempt }) => [id, attempt])).toEqual(
		Array.from({ length: attempts }, (_, index) => ["msg_1", index + 1]),
	);
	// Sent again by somebody, it is given up no sooner than the first time.
	await courier.retry(undefined);
	await receiver.until("one more", (one) => one.attempt === attempts + 1);
	await eventually("a pause", () => clock.pending === 1);
	expect(courier.status).toMatchObject({ waiting: 1, failed: 0 });
});

it("sends nothing that is not on disk, and goes on when the disk takes it again", async () => {
	const receiver = await WebhookReceiver.start();
	const clock = new FakeClock();
	const problems: unknown[] = [];
	let isFull = true;
	let saved: Kept["waiting"] | undefined;
	const save = async ({ waiting }: Kept) => {
		if (isFull) throw new Error("the disk is full");
		saved = waiting;
	};
	start(receiver.url, new Numbered(1), usualTimes, { clock, save, report: (problem) => problems.push(problem) });
	// Once for what came in, once for what was to be sent.
	await eventually("both to be told of", () => problems.length === 2 && clock.pending === 2);
	clock.advance(5_000);
	await eventually("the next try", () => clock.pending > 0);
	expect({ received: receiver.received, problems: problems.length }).toEqual({ received: [], problems: 2 });
	isFull = false;
	clock.advance(5_000);
	expect(await receiver.until("the notice", () => true)).toMatchObject({ attempt: 1 });
	// That it was taken is there as well, or the next server would tell it again.
	await eventually("its end", () => saved?.length === 0);
});

it("what must not be written down is sent while it is remembered, and not found again after a restart", () => {
	const { kept } = start("http://127.0.0.1:1/", new Numbered(0), usualTimes);
	const told = { id: "msg_1", session: "s", body: "what it asks", kept: "that it asks", attempts: 1, tries: 1 };
	const both = { ...kept, waiting: [{ ...told, reason: null }], failed: [{ ...told, reason: "it answered 500" }] };
	const written = JSON.stringify(toRecord(both));
	expect(written).not.toContain("what it asks");
	const { waiting, failed } = parseRecord(JSON.parse(written), "w", "w.json");
	expect([...waiting, ...failed].map(({ body }) => body)).toEqual(["that it asks", "that it asks"]);
});

it("a receiver that goes on saying that it will answer is left", async () => {
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
	expect(await courier.test({ session: null, body: "{}", kept: "{}" })).toEqual({
		isTaken: false,
		status: null,
		reason: "it could not be reached: it goes on saying that it will answer",
	});
});
