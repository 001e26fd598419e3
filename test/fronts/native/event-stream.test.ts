import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { SessionsChange } from "../../../src/core/session/session-registry.ts";
import { withPauses } from "../../../src/http/event-stream.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { Feed } from "../../../src/services/feed/feed.ts";
import { FeedLog } from "../../../src/services/feed/feed-log.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	const mine = principalWith(["read"], { may: (right, { workspace }) => right === "read" && workspace === "mine" });
	server = await startTestServer({ principals: { mine } });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

type Event = { event: string; id: string | undefined; data: Record<string, unknown> };

const open: AbortController[] = [];
afterEach(() => {
	for (const controller of open.splice(0)) controller.abort();
});

/** The events of a stream, for as long as the test reads. */
async function* events(path: string, headers: Record<string, string> = {}): AsyncGenerator<Event, void, void> {
	const controller = new AbortController();
	open.push(controller);
	const response = await server.request(path, {
		headers: { accept: "text/event-stream", ...headers },
		signal: controller.signal,
	});
	expect(response.headers.get("content-type")).toContain("text/event-stream");
	let text = "";
	for await (const chunk of response.body ?? []) {
		text += Buffer.from(chunk).toString();
		for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
			const fields = new Map(
				text
					.slice(0, end)
					.split("\n")
					.map((line) => line.split(/: ?(.*)/s) as [string, string]),
			);
			text = text.slice(end + 2);
			const event = fields.get("event");
			if (event) yield { event, id: fields.get("id"), data: JSON.parse(fields.get("data") ?? "null") };
		}
	}
}

async function take(stream: AsyncGenerator<Event>, count: number): Promise<Event[]> {
	const taken: Event[] = [];
	while (taken.length < count) {
		const { value, done } = await stream.next();
		if (done) break;
		taken.push(value);
	}
	return taken;
}

const bytesOf = (all: Event[]) =>
	Buffer.concat(
		all.flatMap(({ event, data }) => (event === "output" ? [Buffer.from(String(data.data), "base64")] : [])),
	);

describe("output as an event stream", () => {
	it("an event stream has all output in order and ends with the session", async () => {
		const { id } = await server.create({ command: "printf out; sleep 0.1; printf err >&2; exit 2", mode: "pipe" });
		const all = await take(events(`/v1/sessions/${id}/output`), 100);
		expect(all).toEqual([
			{ event: "output", id: "3", data: { offset: 0, stream: "stdout", data: "b3V0" } },
			{ event: "output", id: "6", data: { offset: 3, stream: "stderr", data: "ZXJy" } },
			{ event: "exited", id: "6:3", data: { offset: 6, exit: { code: 2, signal: null } } },
			{ event: "closed", id: "6:4", data: { offset: 6 } },
		]);
	});

	it("an event stream resumes after the last event a client has seen", async () => {
		const { id } = await server.create({ command: "head -c 500000 /dev/urandom", mode: "pipe" });
		const whole = bytesOf(await take(events(`/v1/sessions/${id}/output?since=0`), 1000));
		expect(whole.length).toBe(500_000);
		const parts: Buffer[] = [];
		let last = "0";
		for (let isOver = false; !isOver; ) {
			const some = await take(events(`/v1/sessions/${id}/output?since=77`, { "last-event-id": last }), 3);
			parts.push(bytesOf(some));
			last = some.at(-1)?.id ?? last;
			isOver = some.some(({ event }) => event === "closed");
		}
		expect(Buffer.concat(parts).equals(whole)).toBe(true);
	});

	it("an event without bytes is sent once over all reconnects", async () => {
		const { id } = await server.create({ command: "read a; printf x; read b; exit 3" });
		const session = server.sessions.get(id);
		await session?.act({ kind: "resize", size: { cols: 10, rows: 10 } });
		await session?.act({ kind: "resize", size: { cols: 20, rows: 20 } });
		const path = `/v1/sessions/${id}/output`;
		const [first, second] = await take(events(path), 2);
		expect([first?.data.cols, second?.data.cols]).toEqual([10, 20]);
		const [again] = await take(events(path, { "last-event-id": first?.id ?? "" }), 1);
		expect(again).toEqual(second);
		await session?.act({ kind: "write", bytes: Buffer.from("\n\n") });
		const rest = await take(events(path, { "last-event-id": second?.id ?? "" }), 100);
		expect(rest.filter(({ event }) => event !== "output").map(({ event }) => event)).toEqual(["exited", "closed"]);
		expect(bytesOf(rest).toString()).toContain("x");
	});

	it("a client that has received everything is informed that nothing more will come", async () => {
		const { id } = await server.create({ command: "printf all", mode: "pipe" });
		const all = await take(events(`/v1/sessions/${id}/output`), 100);
		const comeBack = (lastId: string | undefined) =>
			server.request(`/v1/sessions/${id}/output`, {
				headers: { accept: "text/event-stream", "last-event-id": lastId ?? "" },
			});
		expect((await comeBack(all.at(-1)?.id)).status).toBe(204);
		expect((await comeBack("3:999999")).status).toBe(204);
		// A client that missed only the end gets only the end.
		const exited = all.find(({ event }) => event === "exited");
		expect(await (await comeBack(exited?.id)).text()).toMatch(/^:\n\nid: 3:\d+\nevent: closed\n/);
		expect(await (await comeBack("3")).text()).toContain("event: exited");
	});

	it("an event stream starts at the end for offsets beyond it, and refuses invalid ones", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const stream = events(`/v1/sessions/${id}/output?since=5000`);
		const first = take(stream, 1);
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.attachments).toBe(1);
		await server.sessions.get(id)?.act({ kind: "write", bytes: Buffer.from("x") });
		expect(await first).toMatchObject([{ id: "1", data: { offset: 0 } }]);
		for (const bad of ["-1", "1.5", "x", "99999999999999999999", "1:", ":1", "1:x"]) {
			const headers = { accept: "text/event-stream", "last-event-id": bad };
			expect((await server.request(`/v1/sessions/${id}/output`, { headers })).status).toBe(400);
		}
	});

	it("an event stream releases the session when the client disconnects", async () => {
		const { id } = await server.create({ argv: ["cat"], mode: "pipe" });
		const waiting = take(events(`/v1/sessions/${id}/output`), 1).catch(() => "gone");
		const attachments = async () => (await server.sessions.get(id)?.info())?.attachments;
		await expect.poll(attachments).toBe(1);
		for (const controller of open) controller.abort();
		expect(await waiting).toBe("gone");
		await expect.poll(attachments).toBe(0);
	});

	it("an event stream is read no faster than the client reads", async () => {
		const { id } = await server.create({ command: "head -c 30000000 /dev/zero", mode: "pipe" });
		const controller = new AbortController();
		open.push(controller);
		const response = await server.request(`/v1/sessions/${id}/output`, {
			headers: { accept: "text/event-stream" },
			signal: controller.signal,
		});
		// The client does not read the body: the program ends anyway, and lost output is a gap.
		await expect.poll(async () => (await server.sessions.get(id)?.info())?.status, { timeout: 10_000 }).toBe("closed");
		let gap = 0;
		let output = 0;
		for (const line of (await response.text()).split("\n")) {
			if (!line.startsWith("data: ")) continue;
			const data = JSON.parse(line.slice(6)) as { from?: number; to?: number; data?: string };
			gap += (data.to ?? 0) - (data.from ?? 0);
			output += Buffer.from(data.data ?? "", "base64").length;
		}
		expect(gap).toBeGreaterThan(0);
		expect(gap + output).toBe(30_000_000);
	});
});

it("a silent stream sends pings, and loses nothing by them", async () => {
	let tell = (_value: number) => {};
	async function* slow(): AsyncGenerator<number, void, void> {
		yield 1;
		yield await new Promise<number>((resolve) => {
			tell = resolve;
		});
	}
	const seen: (number | undefined)[] = [];
	for await (const value of withPauses(slow(), 5)) {
		seen.push(value);
		if (seen.length === 4) tell(2);
	}
	expect(seen.filter((value) => value !== undefined)).toEqual([1, 2]);
	expect(seen.slice(0, 4)).toEqual([1, undefined, undefined, undefined]);
});

describe("the feed", () => {
	it("the feed reports session events, and resumes where a client left off", async () => {
		const stream = events("/v1/events");
		const [ready] = await take(stream, 1);
		const { id } = await server.create({ command: "exit 5", name: "fed", mode: "pipe" });
		const mine = async (from: AsyncGenerator<Event>, count: number) => {
			const found: Event[] = [];
			for await (const one of from) {
				if ((one.data.session as { id?: string } | undefined)?.id === id) found.push(one);
				if (found.length === count) break;
			}
			return found;
		};
		const first = await mine(stream, 3);
		const session = { id, name: "fed", workspace: "default" };
		expect(first.map(({ event, data }) => ({ event, ...data }))).toEqual([
			{ event: "created", type: "created", time: expect.any(Number), session },
			{
				event: "exited",
				type: "exited",
				time: expect.any(Number),
				session,
				exit: { code: 5, signal: null },
				failed: true,
			},
			{ event: "closed", type: "closed", time: expect.any(Number), session },
		]);
		await server.request(`/v1/sessions/${id}`, { method: "DELETE" });
		const again = await mine(events("/v1/events", { "last-event-id": first[1]?.id ?? "" }), 2);
		expect(again.map(({ event }) => event)).toEqual(["closed", "removed"]);
		const since = await mine(events(`/v1/events?since=${ready?.id}`), 4);
		expect(since.map(({ event }) => event)).toEqual(["created", "exited", "closed", "removed"]);
	});

	it("the feed shows only what the caller may read", async () => {
		const stream = events("/v1/events", { authorization: "Bearer mine" });
		await take(stream, 1);
		await server.create({ argv: ["true"], workspace: "other" });
		const { id } = await server.create({ argv: ["true"], workspace: "mine" });
		expect(await take(stream, 1)).toMatchObject([{ event: "created", data: { session: { id, workspace: "mine" } } }]);
	});

	it("the feed reports that it no longer has the events after a client's cursor", async () => {
		for (const since of ["deadbeef-1", "nonsense", "0"]) {
			expect(await take(events(`/v1/events?since=${since}`), 1)).toMatchObject([{ event: "gap" }]);
		}
	});

	it("the feed stores no more than its limit", async () => {
		let tell = (_change: SessionsChange) => {};
		const sessions = {
			...server.sessions,
			list: () => [],
			watch: (listener: typeof tell) => {
				tell = listener;
				return () => {};
			},
		};
		const [session] = server.sessions.list();
		if (!session) throw new Error("no session");
		const controller = new AbortController();
		const report = (problem: unknown) => expect(problem).toBeUndefined();
		const common = { now: () => 0, report, attachments: new Attachments() };
		const feed = new Feed(
			sessions as unknown as typeof server.sessions,
			{
				log: new FeedLog({ newEpoch: () => "e", size: 10, report }),
				...common,
				agents: new Agents({ ...common, sessions: server.sessions }),
				approvals: undefined,
			},
			controller.signal,
		);
		for (let count = 0; count < 25; count++) tell({ kind: "removed", session });
		const seen: string[] = [];
		for await (const { cursor, event } of feed.follow("e-3", { signal: controller.signal, withOverviews: false })) {
			seen.push(event ? cursor : `gap ${cursor}`);
			if (cursor === "e-25") break;
		}
		expect(seen).toEqual(["gap e-15", ...Array.from({ length: 10 }, (_, index) => `e-${16 + index}`)]);
		controller.abort();
	});
});
