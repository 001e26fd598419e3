/** Recordings that are imported as sessions. */

import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ScreenMessage, SearchResult, SessionMessage } from "../../../src/api/types.ts";
import { type Started, start } from "../../support/server.ts";

const BEGIN = Date.parse("2026-01-31T12:00:00Z");
const V2 = [
	{ version: 2, width: 20, height: 5, timestamp: BEGIN / 1000, command: "sh -c 'it'\\''s'", title: "demo" },
	[0.5, "o", "one \u001b[31mgrün\r\n"],
	[0.75, "i", "typed"],
	[1, "r", "30x6"],
	[61.25, "o", "two"],
];
const V3 = [
	{ version: 3, term: { cols: 20, rows: 5 }, timestamp: BEGIN / 1000, command: "make all", title: "third" },
	[0.5, "o", "one\r\n"],
	[0.25, "r", "30x6"],
	[60, "o", "two"],
	[0.001, "x", "3"],
];

const textOf = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

async function take(server: Started, body: string, query = "", token = server.adminToken) {
	const response = await server.request(`/v1/recordings${query}`, {
		method: "POST",
		headers: { authorization: `Bearer ${token}`, "content-type": "application/x-asciicast" },
		body,
	});
	return { status: response.status, body: (await response.json()) as SessionMessage & { error: { message: string } } };
}

async function get<Answer>(server: Started, path: string): Promise<Answer> {
	return (await (await server.request(path)).json()) as Answer;
}

describe("an imported recording", () => {
	it("an imported recording is an ended session with the recorded events, sizes and times", async () => {
		const server = await start();
		const { status, body } = await take(server, textOf(V2));
		expect(status).toBe(201);
		expect(body).toMatchObject({
			name: "demo",
			argv: ["sh", "-c", "it's"],
			createdAt: BEGIN,
			endedAt: BEGIN + 61_250,
			// Version 2 does not record how the program ended.
			state: "lost",
			exit: null,
			size: { cols: 30, rows: 6 },
			durable: true,
		});
		const path = `/v1/sessions/${body.id}`;
		const { matches } = await get<SearchResult>(server, `${path}/search?q=gr%C3%BCn`);
		expect(matches).toMatchObject([{ text: "one grün", time: BEGIN + 500 }]);
		const at = async (seconds: number) =>
			get<ScreenMessage>(server, `${path}/screen?at=${new Date(BEGIN + seconds * 1000).toISOString()}`);
		expect(await at(0.6)).toMatchObject({ cols: 20, lines: ["one grün"] });
		expect(await at(62)).toMatchObject({ cols: 30, lines: ["one grün", "two"] });
		expect((await get<{ sessions: SessionMessage[] }>(server, "/v1/sessions")).sessions).toHaveLength(1);
	});

	it("an imported recording is exported unchanged, in both versions and after a restart", async () => {
		const server = await start();
		const exported = async (id: string, from: Started, format: string) =>
			(await from.request(`/v1/sessions/${id}/recording?format=${format}`)).text();
		const third = (await take(server, textOf(V3))).body;
		expect(third).toMatchObject({ state: "closed", exit: { code: 3, signal: null }, endedAt: BEGIN + 60_751 });
		expect(await exported(third.id, server, "asciicast-v3")).toBe(textOf(V3));
		// Recorded input is not imported.
		const second = textOf(V2.filter((line) => !Array.isArray(line) || line[1] !== "i"));
		expect(await exported((await take(server, textOf(V2))).body.id, server, "asciicast-v2")).toBe(second);
		await server.close();
		const later = await start({ stateDir: server.stateDir });
		expect(await exported(third.id, later, "asciicast-v3")).toBe(textOf(V3));
		expect((await later.request(`/v1/sessions/${third.id}`, { method: "DELETE" })).status).toBe(204);
		expect(await readdir(join(server.stateDir, "sessions"))).toHaveLength(1);
		expect([...server.problems, ...later.problems]).toEqual([]);
	});

	it("an imported recording whose times go back stands still meanwhile", async () => {
		const server = await start();
		const { body } = await take(server, textOf([V2[0], [2, "o", "two "], [1, "o", "one "], [3, "o", "three"]]));
		const recorded = await (await server.request(`/v1/sessions/${body.id}/recording`)).text();
		expect(recorded).toBe(textOf([V2[0], [2, "o", "two "], [2, "o", "one "], [3, "o", "three"]]));
		expect(body).toMatchObject({ endedAt: BEGIN + 3_000 });
	});

	it("an imported recording may be long", async () => {
		const server = await start();
		const lines = Array.from({ length: 60_000 }, (_, index) => [
			index / 1000,
			"o",
			`line ${index} ${"x".repeat(60)}\r\n`,
		]);
		const { status, body } = await take(server, textOf([V2[0], ...lines]));
		expect(status).toBe(201);
		const response = await server.request(`/v1/sessions/${body.id}/recording`);
		expect(await response.text()).toBe(textOf([V2[0], ...lines]));
	});

	it("the command of an imported recording can be listed, whatever its length and content", async () => {
		const server = await start();
		const command = `a\0b\ud800 ${"x".repeat(1024 * 1024)}`;
		const { body } = await take(server, textOf([{ ...Object(V2[0]), command, title: "half \ud800" }, V2[1]]));
		expect(body.argv).toEqual([`a\ufffdb\ufffd ${"x".repeat(4096 - 5)}`]);
		expect(body.name).toBe("half \ufffd");
		const { sessions } = await get<{ sessions: SessionMessage[] }>(server, "/v1/sessions");
		expect(sessions).toMatchObject([{ argv: body.argv }]);
	});

	it("a recording made by asciinema is imported with all that it contains", async () => {
		const server = await start();
		const { stateDir } = server;
		await writeFile(join(stateDir, "program"), "printf 'h\\303\\266llo'; exit 3\n");
		const { body } = await server.post("/v1/sessions", {
			command: `asciinema rec -q -c 'sh ${stateDir}/program' ${stateDir}/x.cast; cat ${stateDir}/x.cast`,
			env: { LC_ALL: "C.UTF-8", HOME: stateDir },
			cols: 70,
			rows: 20,
			durable: false,
		});
		const written = async (id: string) => (await server.request(`/v1/sessions/${id}/output?wait=5000`)).text();
		await expect.poll(async () => (await get<SessionMessage>(server, `/v1/sessions/${body.id}`)).state).toBe("closed");
		const cast = await written(String(body.id));
		const taken = (await take(server, cast.slice(cast.indexOf('{"version"')))).body;
		expect(taken).toMatchObject({ size: { cols: 70, rows: 20 } });
		expect(await written(taken.id)).toContain("höllo");
	});
});

describe("a refused recording", () => {
	it("a damaged recording is refused with the number of the line", async () => {
		const server = await start();
		const bad: readonly (readonly [string, RegExp])[] = [
			["", /line 1 .*JSON/],
			["[1]\n", /line 1 .*header/],
			[textOf([{ version: 2, width: 0, height: 5 }]), /line 1 .*columns and rows/],
			[`${textOf([V2[0], V2[1]])}[2, "o"`, /line 3 .*JSON/],
			[textOf([V2[0], V2[1], [-1, "o", "x"]]), /line 3 .*event/],
			[textOf([V2[0], [1, "o", 5]]), /line 2 .*event/],
			[textOf([V2[0], [1, "r", "axb"]]), /line 2 .*size/],
			[textOf([V2[0], [1e300, "o", "x"]]), /line 2 .*time/],
			[textOf([V3[0], [1, "x", "-"]]), /line 2 .*exit/],
			[`${textOf([V2[0]])}${"x".repeat(5 * 1024 * 1024)}`, /line 2 .*longer/],
			[`${textOf([V2[0]])}${"\n".repeat(500_001)}`, /line 500001 .*limit 500000/],
		];
		for (const [cast, message] of bad) {
			const { status, body } = await take(server, cast);
			expect({ status, message: body.error.message }).toEqual({ status: 400, message: expect.stringMatching(message) });
		}
		expect((await take(server, textOf([{ version: 1 }]))).status).toBe(501);
		expect((await take(server, " ".repeat(33 * 1024 * 1024))).status).toBe(413);
		expect(await readdir(join(server.stateDir, "sessions"))).toEqual([]);
	});

	it("a recording is refused when it exceeds the rate of starts", async () => {
		const server = await start({ createRate: "1" });
		const maker = await server.token("workspace:default:manage");
		const statuses: number[] = [];
		for (let count = 0; count < 20; count++) statuses.push((await take(server, textOf(V2), "", maker)).status);
		expect(statuses).toContain(201);
		expect(statuses).toContain(429);
	});

	it("a recording is refused from a caller who may not start programs there", async () => {
		const server = await start();
		const reader = await server.token("workspace:default:operate");
		expect((await take(server, textOf(V2), "", reader)).status).toBe(403);
		const maker = await server.token("workspace:own:manage");
		expect((await take(server, textOf(V2), "?workspace=other", maker)).status).toBe(403);
		expect((await take(server, textOf(V2), "?workspace=own&name=mine", maker)).body).toMatchObject({
			name: "mine",
			workspace: "own",
		});
	});
});
