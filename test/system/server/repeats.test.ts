import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { SessionSpec } from "../../../src/core/session/session-info.ts";
import { IdempotentStarts } from "../../../src/services/starts/idempotency.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let server: TestServer;
beforeAll(async () => {
	const other = principalWith(["read", "operate", "manage"]);
	server = await startTestServer({ principals: { other } });
});
afterAll(() => server.close());

async function post(key: string, body: object, headers: Record<string, string> = {}) {
	const response = await server.request("/v1/sessions", {
		method: "POST",
		headers: { "content-type": "application/json", "idempotency-key": key, ...headers },
		body: JSON.stringify(body),
	});
	const answer = (await response.json()) as { id?: string; error?: { code: string } };
	return { status: response.status, id: answer.id, code: answer.error?.code };
}

describe("a request with an Idempotency-Key", () => {
	it("a repeated Idempotency-Key creates one session, also concurrently", async () => {
		const body = { argv: ["cat"], labels: { a: "1", b: "2" } };
		const answers = await Promise.all(Array.from({ length: 5 }, () => post("five", body)));
		answers.push(await post("five", { labels: { b: "2", a: "1" }, argv: ["cat"] }));
		expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
		expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
		expect(server.sessions.list().filter(({ spec }) => spec.labels.b === "2").length).toBe(1);
	});

	it("the same Idempotency-Key with another body or caller is a new request", async () => {
		const first = await post("one word", { argv: ["cat"] });
		expect(first).toMatchObject({ status: 400, code: "invalid_argument" });
		const { id } = await post("word", { argv: ["cat"] });
		expect(await post("word", { argv: ["cat", "-u"] })).toMatchObject({ status: 409, code: "conflict" });
		const others = await post("word", { argv: ["cat"] }, { authorization: "Bearer other" });
		expect(others.status).toBe(201);
		expect(others.id).not.toBe(id);
	});

	it("an Idempotency-Key may be reused after a failure, and creates nothing new after its session was removed", async () => {
		expect(await post("bad", { argv: ["/no/such/program"] })).toMatchObject({ status: 422, code: "spawn_failed" });
		expect(await post("bad", { argv: ["true"] })).toMatchObject({ status: 201 });
		const { id } = await post("gone", { argv: ["true"] });
		await server.request(`/v1/sessions/${id}`, { method: "DELETE" });
		expect(await post("gone", { argv: ["true"] })).toMatchObject({ status: 404, code: "session_not_found" });
	});
});

it("a restarted server answers a repeated key with the session of the server before", async () => {
	const crashing = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => crashing.kill());
	const ask = async () => {
		await crashing.start();
		const authorization = `Bearer ${await crashing.token()}`;
		const response = await fetch(`${crashing.url}/v1/sessions`, {
			method: "POST",
			headers: { authorization, "content-type": "application/json", "idempotency-key": "over-restarts" },
			body: JSON.stringify({ argv: ["cat"] }),
		});
		expect(response.status).toBe(201);
		const { id } = (await response.json()) as { id: string };
		return {
			id,
			remove: () => fetch(`${crashing.url}/v1/sessions/${id}`, { method: "DELETE", headers: { authorization } }),
		};
	};
	const first = await ask();
	await crashing.kill();
	const second = await ask();
	expect(second.id).toBe(first.id);
	await second.remove();
});

describe("stored idempotency keys", () => {
	const mark = (key: string) => ({ key, body: "b" });
	const make = (id: string) => async () => id;

	it("a key expires after one day", async () => {
		const clock = new FakeClock();
		const repeats = new IdempotentStarts(clock, []);
		expect(await repeats.once(mark("k"), make("one"))).toBe("one");
		clock.advance(86_399_999);
		expect(await repeats.once(mark("k"), make("two"))).toBe("one");
		clock.advance(1);
		expect(await repeats.once(mark("k"), make("three"))).toBe("three");
	});

	it("at most 10,000 keys are stored, and the oldest are removed", async () => {
		const repeats = new IdempotentStarts(new FakeClock(), []);
		for (let count = 0; count < 10_000; count++) await repeats.once(mark(`k${count}`), make(`${count}`));
		// A repeat uses no slot, in particular not its own.
		expect(await repeats.once(mark("k0"), make("new"))).toBe("0");
		await repeats.once(mark("k10000"), make("10000"));
		expect(await repeats.once(mark("k10000"), make("new"))).toBe("10000");
		expect(await repeats.once(mark("k0"), make("new"))).toBe("new");
	});

	it("keys of an earlier server expire by the age of their sessions", async () => {
		const clock = new FakeClock();
		const spec = (id: string, ageMs: number) =>
			({ id, request: mark(id), createdAt: clock.now() - ageMs }) as unknown as SessionSpec;
		const repeats = new IdempotentStarts(clock, [spec("young", 1_000), spec("old", 86_400_000)]);
		expect(await repeats.once(mark("young"), make("new"))).toBe("young");
		expect(await repeats.once(mark("old"), make("new"))).toBe("new");
	});
});
