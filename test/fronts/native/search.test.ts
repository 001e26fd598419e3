import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchResult } from "../../../src/api/types.ts";
import { readAll, startTestServer, type TestServer } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024 });
});
afterAll(() => server.close());

/** A session whose program has written this and ended. */
async function written(command: string, mode: "pty" | "pipe" = "pty") {
	const { id } = await server.create({ command, mode });
	return { id, bytes: (await readAll(server, id)).bytes };
}

async function ask(id: string, query: Record<string, string>) {
	const response = await server.request(`/v1/sessions/${id}/search?${new URLSearchParams(query)}`);
	return {
		status: response.status,
		body: (await response.json()) as SearchResult & { error: { code: string; message: string } },
	};
}

describe("searching a session's output", () => {
	it("search finds text on lines across colors, with offset and time", async () => {
		const before = Date.now();
		const { id, bytes } = await written(
			"printf 'all \\033[32mfi\\033[0mne\\n'; printf 'a \\033[31mfail\\033[0mure\\n'",
		);
		const { body } = await ask(id, { q: "failure" });
		const [match] = body.matches;
		expect(body).toMatchObject({ next: null, searched: { from: 0, to: bytes.length } });
		expect(match).toMatchObject({ text: "a failure", at: [2, 9], line: bytes.indexOf("a \u001b[31m") });
		expect(bytes.subarray(match?.offset, match?.end).toString()).toBe("fail\u001b[0mure");
		expect(match?.time).toBeGreaterThanOrEqual(before);
		expect(match?.time).toBeLessThanOrEqual(Date.now());
	});

	it("search takes the pattern literally or as an expression, in any case on request", async () => {
		const { id } = await written("echo 'a.c'; echo abc; echo ABC");
		const texts = async (query: Record<string, string>) => (await ask(id, query)).body.matches.map(({ text }) => text);
		expect(await texts({ q: "a.c" })).toEqual(["a.c"]);
		expect(await texts({ q: "a.c", regex: "1" })).toEqual(["a.c", "abc"]);
		expect(await texts({ q: "^ab?.?C$", regex: "1", ignoreCase: "1" })).toEqual(["a.c", "abc", "ABC"]);
		expect(await texts({ q: "nothing" })).toEqual([]);
	});

	it("search continues page by page, and finds each line once", async () => {
		const { id } = await written("seq 1 2500", "pipe");
		const found: number[] = [];
		let after = "0";
		for (let pages = 1; ; pages++) {
			const { body } = await ask(id, { q: "7", limit: "100", after });
			expect(body.matches.length).toBeLessThanOrEqual(100);
			found.push(...body.matches.map(({ text }) => Number(text)));
			if (body.next === null) break;
			after = String(body.next);
			expect(pages).toBeLessThan(20);
		}
		expect(found).toEqual(Array.from({ length: 2500 }, (_, index) => index + 1).filter((n) => String(n).includes("7")));
	});

	it("search covers the output so far of a running program including its prompt, and does not wait", async () => {
		const { id } = await server.create({ command: "printf 'name? '; cat" });
		await expect.poll(async () => (await ask(id, { q: "name?" })).body.matches).toMatchObject([{ text: "name? " }]);
	});

	it("search states from which offset it continues", async () => {
		const small = await startTestServer({ memoryBytes: 64 * 1024 });
		try {
			const { id } = await small.create({ command: "seq 1 100000", mode: "pipe" });
			await readAll(small, id);
			const answer = await small.request(`/v1/sessions/${id}/search?q=99999`);
			const { searched, matches } = (await answer.json()) as SearchResult;
			expect(searched.from).toBeGreaterThan(400_000);
			expect(matches).toMatchObject([{ text: "99999" }]);
		} finally {
			await small.close();
		}
	});

	it("search gives up an expression that never ends, while the server keeps answering", async () => {
		const { id } = await written(`printf '${"a".repeat(40)}!'`);
		const hopeless = ask(id, { q: "(a+)+$", regex: "1" });
		let answered = 0;
		let isOver = false;
		const done = hopeless.finally(() => {
			isOver = true;
		});
		for (; !isOver; answered++) await server.request("/healthz");
		expect((await done).body.error).toMatchObject({
			code: "limit_exceeded",
			message: expect.stringContaining("too long"),
		});
		// The seconds during which a blocked server would answer nothing.
		expect(answered).toBeGreaterThan(10);
		expect((await ask(id, { q: "a!" })).body.matches).toHaveLength(1);
	});

	it("search gives up an expression that takes forever to compile, and accepts the next search", async () => {
		const { id } = await written("echo hello");
		// V8 can't be interrupted while it compiles this, which would take years.
		const endless = ask(id, { q: `(?:${"a?".repeat(300)})${"a".repeat(390)}`, regex: "1" });
		const hello = async () => (await ask(id, { q: "hello" })).body.matches;
		expect(await hello()).toHaveLength(1);
		const { status, body } = await endless;
		expect([status, body.error.code]).toEqual([429, "limit_exceeded"]);
		// It no longer counts: as many searches as the operator may have run at once.
		for (const matches of await Promise.all([hello(), hello(), hello()])) expect(matches).toHaveLength(1);
	});

	it("search refuses invalid expressions, and too many concurrent ones", async () => {
		const { id } = await written(`printf '${"a".repeat(40)}!'`);
		expect((await ask(id, { q: "(", regex: "1" })).body.error).toMatchObject({ code: "invalid_argument" });
		expect((await ask(id, {})).status).toBe(400);
		expect((await ask(id, { q: "x".repeat(1001) })).status).toBe(400);
		const broken = new AbortController();
		const hopeless = [1, 2, 3, 4].map(async () => {
			const url = `/v1/sessions/${id}/search?q=(a%2B)%2B$&regex=1`;
			const response = await server.request(url, { signal: broken.signal });
			return ((await response.json()) as { error: { message: string } }).error.message;
		});
		// The others run for seconds.
		expect(await Promise.race(hopeless)).toContain("no more searches at a time");
		broken.abort();
		await Promise.allSettled(hopeless);
		// A client that has disconnected no longer counts.
		await expect.poll(async () => (await ask(id, { q: "a" })).status).toBe(200);
	});
});
