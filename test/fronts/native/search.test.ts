import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchResult } from "../../../src/protocol/past.ts";
import { readAll, startTestServer, type TestServer } from "./test-server.ts";

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
	it("finds text on lines whatever colours are in it, with its place and time", async () => {
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

	it("takes what is looked for to the letter, or as an expression, in any case if asked", async () => {
		const { id } = await written("echo 'a.c'; echo abc; echo ABC");
		const texts = async (query: Record<string, string>) => (await ask(id, query)).body.matches.map(({ text }) => text);
		expect(await texts({ q: "a.c" })).toEqual(["a.c"]);
		expect(await texts({ q: "a.c", regex: "1" })).toEqual(["a.c", "abc"]);
		expect(await texts({ q: "^ab?.?C$", regex: "1", ignoreCase: "1" })).toEqual(["a.c", "abc", "ABC"]);
		expect(await texts({ q: "nothing" })).toEqual([]);
	});

	it("goes on page by page, and finds each line once", async () => {
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

	it("looks at what a running program has said so far, its prompt too, and does not wait for more", async () => {
		const { id } = await server.create({ command: "printf 'name? '; cat" });
		await expect.poll(async () => (await ask(id, { q: "name?" })).body.matches).toMatchObject([{ text: "name? " }]);
	});

	it("says from where on there is still something to search", async () => {
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

	it("gives an expression up that never comes to an end, while the server goes on answering", async () => {
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
		// In seconds, of which one that waits for the search answers nothing.
		expect(answered).toBeGreaterThan(10);
		expect((await ask(id, { q: "a!" })).body.matches).toHaveLength(1);
	});

	it("gives an expression up that takes for ever to be understood, and has room for the next search", async () => {
		const { id } = await written("echo hello");
		// V8 can't be interrupted while it compiles this, which would take it years.
		const endless = { q: `(?:${"a?".repeat(300)})${"a".repeat(390)}`, regex: "1" };
		const answers = await Promise.all([ask(id, endless), ask(id, endless)]);
		expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
			[429, "limit_exceeded"],
			[429, "limit_exceeded"],
		]);
		const meanwhile = ask(id, endless);
		expect((await ask(id, { q: "hello" })).body.matches).toHaveLength(1);
		expect((await meanwhile).status).toBe(429);
	});

	it("refuses what is no expression, and what is too much at once", async () => {
		const { id } = await written(`printf '${"a".repeat(40)}!'`);
		expect((await ask(id, { q: "(", regex: "1" })).body.error).toMatchObject({ code: "invalid_argument" });
		expect((await ask(id, {})).status).toBe(400);
		expect((await ask(id, { q: "x".repeat(1001) })).status).toBe(400);
		const broken = new AbortController();
		const three = [1, 2, 3].map(async () => {
			const url = `/v1/sessions/${id}/search?q=(a%2B)%2B$&regex=1`;
			return (await server.request(url, { signal: broken.signal })).status;
		});
		// Of these, two are under way for seconds.
		expect(await Promise.race(three)).toBe(429);
		broken.abort();
		await Promise.allSettled(three);
		// Who has gone away no longer counts.
		await expect.poll(async () => (await ask(id, { q: "a" })).status).toBe(200);
	});
});
