/** What a terminal shows, over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScreenMessage } from "../../../src/protocol/messages.ts";
import { eventually } from "../../backends/run.ts";
import { principalWith, readAll, startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({
		memoryBytes: 8 * 1024 * 1024,
		principals: { looker: principalWith(["read"]), stranger: principalWith([]) },
	});
});
afterAll(() => server.close());

type Refused = { error: { code: string; message: string } };

async function ask(id: string, query: Record<string, string> = {}, headers: Record<string, string> = {}) {
	const response = await server.request(`/v1/sessions/${id}/screen?${new URLSearchParams(query)}`, { headers });
	return { status: response.status, body: (await response.json()) as ScreenMessage & Refused };
}

async function text(id: string, query: Record<string, string>) {
	return (await server.request(`/v1/sessions/${id}/screen?${new URLSearchParams(query)}`)).text();
}

/** A session whose program has written this and ended. */
async function written(command: string): Promise<string> {
	const { id } = await server.create({ command, cols: 20, rows: 5 });
	await readAll(server, id);
	return id;
}

/** A session with a shell's `read` loop that prints what it is told, and has printed this. */
async function drawing(...commands: string[]): Promise<{ id: string; draw: (escaped: string) => Promise<void> }> {
	const { id } = await server.create({
		command: `stty -echo; printf '${commands.join("")}'; while read -r line; do printf "$line"; printf '\\033]2;%s\\007' "$line"; done`,
		cols: 20,
		rows: 5,
	});
	// By then nothing that is typed is echoed.
	await eventually(async () => ((await ask(id)).body.lines?.length ?? 0) > 0);
	const draw = async (escaped: string) => {
		await server.request(`/v1/sessions/${id}/input`, {
			method: "POST",
			headers: { "content-type": "application/octet-stream" },
			body: `${escaped}\n`,
		});
		await eventually(async () => (await ask(id)).body.title === escaped);
	};
	return { id, draw };
}

describe("a screen", () => {
	it("is the text of its rows, with cursor, title and size", async () => {
		const id = await written("printf 'one\\ntwo  \\033[3;5H\\033[31mthree\\033]2;a title\\007\\033[?25l'");
		const { status, body } = await ask(id);
		expect(status).toBe(200);
		expect(body).toMatchObject({
			cols: 20,
			rows: 5,
			alternate: false,
			cursor: { row: 2, col: 9, visible: false },
			title: "a title",
			lines: ["one", "two", "    three"],
		});
		expect(await text(id, { format: "text" })).toBe("one\ntwo\n    three\n");
		expect(await text(id, { format: "ansi" })).toBe("one\ntwo\n    \x1b[38;5;1mthree\x1b[0m\n");
	});

	it("of a full-screen program is the alternate one", async () => {
		const id = await written("printf 'behind\\033[?1049h\\033[Hin front'");
		expect((await ask(id)).body).toMatchObject({ alternate: true, lines: ["in front"] });
	});

	it("is for everybody who may read, and for nobody else", async () => {
		const id = await written("echo seen");
		const asking = (token: string) => ask(id, {}, { authorization: `Bearer ${token}` });
		expect((await asking("looker")).body.lines).toEqual(["seen"]);
		expect((await asking("stranger")).status).toBe(404);
	});

	it("is none where there is no terminal", async () => {
		const { id } = await server.create({ command: "true", mode: "pipe" });
		expect(await ask(id)).toMatchObject({ status: 501, body: { error: { code: "unsupported" } } });
	});

	it("too large to be shown is refused", async () => {
		const { id } = await server.create({ command: "true", cols: 10_000, rows: 10_000 });
		expect(await ask(id)).toMatchObject({ status: 429, body: { error: { code: "limit_exceeded" } } });
	});

	it("has the widths of today's terminals", async () => {
		const id = await written("printf '\\360\\237\\221\\251\\342\\200\\215\\360\\237\\221\\247|日本|e\\314\\201|'");
		expect((await ask(id)).body).toMatchObject({ cursor: { row: 0, col: 10 }, lines: ["👩‍👧|日本|e\u0301|"] });
	});
});

describe("what has changed since a revision", () => {
	it("is told by rows, as long as that is known", async () => {
		const { id, draw } = await drawing("a\\nb\\nc");
		await eventually(async () => (await ask(id)).body.lines?.length === 3);
		const { revision } = (await ask(id)).body;
		expect((await ask(id, { since: String(revision) })).body).toMatchObject({ revision, changes: [] });
		await draw("\\033[2;1HB");
		const { body } = await ask(id, { since: String(revision) });
		expect(body).toMatchObject({ changes: [{ row: 1, text: "B" }] });
		expect(body).not.toHaveProperty("lines");
		expect((await ask(id, { since: "0" })).body).toMatchObject({ reset: true, lines: ["a", "B", "c"] });
	});
});

describe("synchronized output", () => {
	it("is not shown half drawn, unless it takes too long", async () => {
		const { id, draw } = await drawing("old");
		await draw("\\033[?2026h\\033[Hnew");
		// It stays in the middle: after 150 ms it is shown as it is.
		const began = performance.now();
		expect((await ask(id)).body.lines).toEqual(["new"]);
		expect(performance.now() - began).toBeGreaterThanOrEqual(145);
	});
});

describe("an earlier screen", () => {
	it("is what was shown at an offset, or at a time", async () => {
		const id = await written("printf 'one'; sleep 0.1; printf '\\033[2J\\033[Htwo'");
		expect((await ask(id, { at: "2" })).body).toMatchObject({ offset: 2, lines: ["on"] });
		expect((await ask(id, { at: "3" })).body).toMatchObject({ offset: 3, lines: ["one"] });
		expect((await ask(id, { at: "99999" })).body.lines).toEqual(["two"]);
		const { createdAt } = (await (await server.request(`/v1/sessions/${id}`)).json()) as { createdAt: number };
		expect((await ask(id, { at: new Date(createdAt).toISOString() })).body).toMatchObject({ offset: 0, lines: [] });
		expect((await ask(id, { at: new Date(Date.now() + 1000).toISOString() })).body.lines).toEqual(["two"]);
		expect((await ask(id, { at: "2026-99" })).status).toBe(400);
	});
});
