/** The screen of a terminal over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScreenMessage, ScrollbackMessage } from "../../../src/api/types.ts";
import { openBrowser } from "../../support/chromium.ts";
import { principalWith, readAll, startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/run-program.ts";

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

/** A session whose shell reads and runs lines, and has printed this. */
async function drawing(...commands: string[]): Promise<{ id: string; draw: (escaped: string) => Promise<void> }> {
	const { id } = await server.create({
		command: `stty -echo; printf '${commands.join("")}'; while read -r line; do printf "$line"; printf '\\033]2;%s\\007' "$line"; done`,
		cols: 20,
		rows: 5,
	});
	// From here on, typed input is not echoed.
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

describe("GET screen", () => {
	it("a screen has the text of its rows, cursor, title and size", async () => {
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

	it("the screen of a full-screen program is the alternate one", async () => {
		const id = await written("printf 'behind\\033[?1049h\\033[Hin front'");
		expect((await ask(id)).body).toMatchObject({ alternate: true, lines: ["in front"] });
	});

	it("a screen is readable with read rights only", async () => {
		const id = await written("echo seen");
		const asking = (token: string) => ask(id, {}, { authorization: `Bearer ${token}` });
		expect((await asking("looker")).body.lines).toEqual(["seen"]);
		expect((await asking("stranger")).status).toBe(404);
	});

	it("a session without a terminal has no screen", async () => {
		const { id } = await server.create({ command: "true", mode: "pipe" });
		for (const query of [{}, { at: "0" }]) {
			expect(await ask(id, query)).toMatchObject({ status: 501, body: { error: { code: "unsupported" } } });
		}
	});

	it("a screen that is too large is refused", async () => {
		const { id } = await server.create({ command: "true", cols: 10_000, rows: 10_000 });
		expect(await ask(id)).toMatchObject({ status: 429, body: { error: { code: "limit_exceeded" } } });
	});

	it("a screen uses current character widths", async () => {
		const id = await written("printf '\\360\\237\\221\\251\\342\\200\\215\\360\\237\\221\\247|日本|e\\314\\201|'");
		expect((await ask(id)).body).toMatchObject({ cursor: { row: 0, col: 10 }, lines: ["👩‍👧|日本|e\u0301|"] });
	});
});

describe("changes since a revision", () => {
	it("changed rows are sent while the revision is known", async () => {
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
	it("a synchronized update is shown once it ends, or after 150 ms", async () => {
		const { id, draw } = await drawing("old");
		await draw("\\033[?2026h\\033[Hnew");
		// The update never ends, so the screen is shown as it is after 150 ms.
		const began = performance.now();
		expect((await ask(id)).body.lines).toEqual(["new"]);
		expect(performance.now() - began).toBeGreaterThanOrEqual(145);
	});
});

describe("an earlier screen", () => {
	it("an earlier screen is read by offset or time", async () => {
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

/**
 * The longest pause in the output as the server saw it. On a busy machine, output that changes constantly may pause.
 */
async function longestPauseMs(id: string): Promise<number> {
	const recording = await server.request(`/v1/sessions/${id}/recording?format=asciicast-v3`);
	const [, ...events] = (await recording.text()).trimEnd().split("\n");
	return Math.max(...events.map((event) => 1000 * (JSON.parse(event) as [number])[0]));
}

describe("waiting for a screen", () => {
	it("a wait for a change is answered at the next change", async () => {
		const { id, draw } = await drawing("a");
		for (;;) if ((await ask(id)).body.lines?.[0] === "a") break;
		const { revision } = (await ask(id)).body;
		const began = performance.now();
		const waiting = ask(id, { since: String(revision), wait: "20000" });
		await draw("\\033[1;1Hb");
		expect((await waiting).body).toMatchObject({ state: "running", changes: [{ row: 0, text: "b" }] });
		expect(performance.now() - began).toBeLessThan(15_000);
		const after = (await ask(id)).body.revision;
		expect((await ask(id, { since: String(after), wait: "50" })).body).toMatchObject({ changes: [] });
	});

	it("a wait for text matches a string or an expression within a row", async () => {
		const { id, draw } = await drawing("top\\033[3;1Hready now");
		for (;;) if ((await ask(id)).body.lines?.length === 3) break;
		const shows = async (query: Record<string, string>) => (await ask(id, query)).body.met;
		expect(await shows({ text: "ready" })).toBe(true);
		expect(await shows({ text: "READY" })).toBe(false);
		expect(await shows({ text: "READY", ignoreCase: "1" })).toBe(true);
		expect(await shows({ text: "ready", region: "0-1" })).toBe(false);
		expect(await shows({ text: "ready", region: "2" })).toBe(true);
		expect(await shows({ text: "^ready\\s\\w+$", regex: "1" })).toBe(true);
		expect(await shows({ text: "r.e", regex: "1", region: "0-1" })).toBe(false);
		expect(await shows({ text: "top.ready", regex: "1" })).toBe(false);
		const waiting = [ask(id, { text: "done", wait: "20000" }), ask(id, { text: "d[o]ne$", regex: "1", wait: "20000" })];
		await draw("\\033[5;1Hdone");
		for (const { body } of await Promise.all(waiting)) {
			expect(body).toMatchObject({ met: true, lines: ["top", "", "ready now", "", "done"] });
		}
	});

	it("a wait for stability ignores output that does not change the text", async () => {
		const { id } = await server.create({
			command:
				"for i in 1 2 3 4; do printf '\\033[H%s' $i; sleep 0.05; done; while :; do printf '\\033[H4'; sleep 0.02; done",
			cols: 20,
			rows: 5,
		});
		const { body } = await ask(id, { stable: "400", wait: "20000" });
		expect(body).toMatchObject({ met: true, state: "running", lines: [expect.stringMatching(/^[1-4]$/)] });
		if (body.lines?.[0] !== "4") expect(await longestPauseMs(id)).toBeGreaterThan(300);
		expect((await ask(id, { stable: "60000", wait: "10" })).body).toMatchObject({ met: false });
	});

	it("a wait for stability ignores a spinner, and is delayed by a changing number", async () => {
		const turning = (signs: string) =>
			`while :; do for i in ${signs}; do printf "\\r$i working"; sleep 0.05; done; done`;
		for (const signs of ["⠋ ⠙ ⠹ ⠸", "'|' / - '\\'", "◐ ◓ ◑ ◒"]) {
			const { id } = await server.create({ command: turning(signs), cols: 20, rows: 5 });
			await ask(id, { text: "working", wait: "20000" });
			expect((await ask(id, { stable: "300", wait: "20000" })).body).toMatchObject({ met: true, state: "running" });
		}
		const { id } = await server.create({ command: turning("1 2 3"), cols: 20, rows: 5 });
		const { body } = await ask(id, { stable: "300", wait: "700" });
		expect(body.state).toBe("running");
		if (body.met) expect(await longestPauseMs(id)).toBeGreaterThan(200);
	});

	it("a wait ends when the screen can't change any more", async () => {
		const id = await written("echo over");
		expect((await ask(id, { text: "never", wait: "20000" })).body).toMatchObject({ met: false, state: "closed" });
		expect((await ask(id, { stable: "20000", wait: "20000" })).body).toMatchObject({ met: true, state: "closed" });
	});

	it("a wait with invalid arguments or an expensive expression is refused", async () => {
		const id = await written("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'");
		for (const query of [
			{ text: "a", stable: "5" },
			{ text: "(", regex: "1" },
			{ at: "1", wait: "5" },
			{ regex: "1" },
			{ region: "0" },
			{ text: "a", region: "x" },
			{ text: "a", region: "5-2" },
			{ stable: "60001" },
		] as Record<string, string>[]) {
			expect(await ask(id, query)).toMatchObject({ status: 400, body: { error: { code: "invalid_argument" } } });
		}
		const { id: wide } = await server.create({ command: "printf '%060d!' 0; exec cat", cols: 100, rows: 5 });
		await ask(wide, { text: "!", wait: "20000" });
		const refused = await ask(wide, { text: "^(0+)+$", regex: "1" });
		expect(refused).toMatchObject({ status: 429, body: { error: { code: "limit_exceeded" } } });
		expect(refused.body.error.message).toMatch(/takes too long/);
		expect((await ask(wide)).status).toBe(200);
	});
});

describe("scrollback", () => {
	const above = async (id: string, query: Record<string, string> = {}) => {
		const response = await server.request(`/v1/sessions/${id}/scrollback?${new URLSearchParams(query)}`);
		return (await response.json()) as ScrollbackMessage & Refused;
	};

	it("scrollback is read from its newest row, page by page", async () => {
		const id = await written("seq 1 1000");
		const last = await above(id, { limit: "3" });
		// The last of five rows is empty.
		expect(last).toMatchObject({ total: 996, lines: ["994", "995", "996"] });
		const place = { at: String(last.offset) };
		expect(await above(id, { ...place, limit: "2", skip: "3" })).toMatchObject({ total: 996, lines: ["992", "993"] });
		expect(await above(id, { ...place, limit: "5", skip: "994" })).toMatchObject({ lines: ["1", "2"] });
		expect(await above(id, { ...place, skip: "2000" })).toMatchObject({ lines: [] });
		expect(await above(id, { at: "100", limit: "1" })).toMatchObject({ offset: 100 });
	});

	it("scrollback is bounded, and empty if nothing has scrolled", async () => {
		const id = await written("seq 1 20000; printf '\\033[?1049h\\033[Hin front'");
		expect(await above(id, { limit: "1" })).toMatchObject({ total: 5000, lines: ["19996"] });
		expect(await above(await written("echo one"))).toMatchObject({ total: 0, lines: [] });
		const { id: pipe } = await server.create({ command: "true", mode: "pipe" });
		expect(await above(pipe)).toMatchObject({ error: { code: "unsupported" } });
	});
});

/** Runs in a page: the cells where text begins with these strings. */
const PLACES = `(texts) => texts.map((text) => {
	const element = [...document.querySelectorAll("text, span")].find(({ textContent }) => textContent.startsWith(text));
	const range = document.createRange();
	range.selectNodeContents(element);
	const { left, top, bottom } = range.getBoundingClientRect();
	return [(left - 9) / 9, Math.floor(((top + bottom) / 2 - 9) / 18)];
})`;

describe("an image of a screen", () => {
	const picture = async (id: string, format: "svg" | "html") => {
		const response = await server.request(`/v1/sessions/${id}/screen?format=${format}`);
		return { headers: response.headers, text: await response.text() };
	};
	const COLORS =
		"printf 'a<b>&\\042\\033[31mred\\033[0m \\033[48;5;208m \\033[0m\\033[1;38;2;1;2;3mrgb\\033[0m" +
		"\\n日本|x\\n\\033[7minv\\033[0m\\033[2mdim\\033[0m\\033[3;9mitalic\\033[0m\\033[4:3mcurly\\033[0m\\033[8mhidden\\033[0m\\n" +
		"\\033]2;</title><script>\\007'";

	it("an image has the screen's colors and text and nothing active", async () => {
		const id = await written(COLORS);
		for (const format of ["svg", "html"] as const) {
			const { text, headers } = await picture(id, format);
			expect(headers.get("content-type")).toMatch(format);
			expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*sandbox/);
			expect(text).toContain("&#60;/title&#62;&#60;script&#62;");
			expect(text).not.toMatch(/<script|<b>|hidden/);
			for (const look of ["#cc0000", "#ff8700", "#010203", "font-weight:bold", "font-style:italic", "line-through"]) {
				expect(text).toContain(look);
			}
			expect(text).toContain("text-decoration-style:wavy");
		}
	});

	it("a browser renders an image with every row and column in place", async () => {
		const id = await written(`${COLORS}; printf '\\033[4;1H┌──┐→x\\033[5;3H👩‍👧|e\\314\\201|'`);
		const expected: Record<string, [col: number, row: number]> = {
			...{
				"a<b": [0, 0],
				red: [6, 0],
				rgb: [11, 0],
				日: [0, 1],
				本: [2, 1],
				"|x": [4, 1],
				inv: [0, 2],
				italic: [6, 2],
			},
			...{ "┌": [0, 3], "┐": [3, 3], "→": [4, 3], x: [5, 3], "👩‍👧": [2, 4], "e\u0301": [5, 4] },
		};
		const page = await (await openBrowser()).newPage();
		for (const format of ["svg", "html"] as const) {
			const { text } = await picture(id, format);
			await page.setContent(format === "svg" ? `<body style="margin:0">${text}` : text);
			const places = (await page.evaluate(`(${PLACES})(${JSON.stringify(Object.keys(expected))})`)) as number[][];
			for (const [index, [text, [col, row]]] of Object.entries(expected).entries()) {
				expect(places[index]?.[0], text).toBeCloseTo(col, 0);
				expect(places[index]?.[1], text).toBe(row);
			}
		}
	});

	it.each(["svg", "html", "ansi"])(
		"an image that is too large is refused as %s, now and for an earlier moment",
		async (format) => {
			const refused = { status: 429, body: { error: { code: "limit_exceeded" } } };
			const { id } = await server.create({ command: "printf before; read line; printf after", cols: 500, rows: 500 });
			await eventually(async () => (await ask(id)).body.lines?.[0] === "before");
			expect(await ask(id, { format })).toMatchObject(refused);
			await server.request(`/v1/sessions/${id}/resize`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ cols: 20, rows: 5 }),
			});
			await eventually(async () => (await ask(id)).body.cols === 20);
			expect((await server.request(`/v1/sessions/${id}/screen?format=${format}`)).status).toBe(200);
			expect(await ask(id, { format, at: "6" })).toMatchObject(refused);
			expect((await ask(id, { at: "6" })).body).toMatchObject({ cols: 500, lines: ["before"] });
		},
	);
});
