import { describe, expect, it, onTestFinished } from "vitest";
import {
	type Client,
	connect,
	type ScreenStream,
	type ScreenStreamItem,
	type StyledScreen,
} from "../../../src/client/index.ts";
import { principalWith, startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";

async function start(): Promise<{ readonly server: TestServer; readonly client: Client }> {
	const stranger = principalWith(["read"], { id: "stranger", may: (_right, { workspace }) => workspace === "blue" });
	const server = await startTestServer({ principals: { stranger } });
	onTestFinished(async () => {
		await server.close();
		expect(server.problems).toEqual([]);
	});
	return { server, client: connect({ url: server.url, token: TOKEN }) };
}

/** Follows screens until the test ends. */
function watch(client: Client, sessions: readonly string[]) {
	const controller = new AbortController();
	onTestFinished(() => controller.abort());
	const items: ScreenStreamItem[] = [];
	const screens: ScreenStream = client.screens({ sessions, signal: controller.signal });
	void (async () => {
		for await (const item of screens) items.push(item);
	})();
	const of = (id: string): StyledScreen[] =>
		items.flatMap((item) => (item.kind === "screen" && item.screen.session === id ? [item.screen] : []));
	return {
		screens,
		items,
		of,
		until: (id: string, what: string, isIt: (screen: StyledScreen) => boolean) =>
			eventually(what, () => {
				const last = of(id).at(-1);
				return last && isIt(last) ? last : undefined;
			}),
	};
}

const textOf = ({ lines }: StyledScreen) =>
	lines
		.map((runs) => runs.map(({ text }) => text).join(""))
		.join("\n")
		.trimEnd();

describe("the screens of several sessions", () => {
	it("screens are sent over one connection, as runs of equal style and then as changed rows", async () => {
		const { client } = await start();
		const coloured = await client.sessions.create({
			command: "printf 'plain \\033[1;31mred\\033[0m\\nwide 中\\n'; exec cat",
			env: { LC_ALL: "C.UTF-8" },
		});
		const other = await client.sessions.create({ command: "echo other; exec cat" });
		const board = watch(client, [coloured.id, other.id]);
		// The end of the last line may follow the line.
		const first = await board.until(coloured.id, "the text", ({ cursor }) => cursor.row === 2);
		expect(first).toMatchObject({ cols: 80, rows: 24, alternate: false, cursor: { row: 2, col: 0 }, state: "running" });
		expect(first.lines[0]).toEqual([
			{ text: "plain ", cols: 6 },
			{ text: "red", cols: 3, style: { bold: true, fg: 1 } },
		]);
		expect(first.lines[1]?.at(-1)).toEqual({ text: "中", cols: 2 });
		await board.until(other.id, "the other", (screen) => textOf(screen) === "other");
		await coloured.write("more\n");
		const next = await board.until(coloured.id, "what was typed", (screen) => textOf(screen).endsWith("more\nmore"));
		expect(next.lines[0]).toEqual(first.lines[0]);
		const all = board.of(coloured.id);
		for (const { changed } of all.slice(all.indexOf(first) + 1)) expect(changed).not.toContain(0);
	});

	it("screens can be added and removed, and are sent anew when added again", async () => {
		const { client } = await start();
		const one = await client.sessions.create({ command: "echo one; exec cat" });
		const two = await client.sessions.create({ command: "echo two; exec cat" });
		const board = watch(client, [one.id]);
		await board.until(one.id, "the first", (screen) => textOf(screen) === "one");
		board.screens.show([two.id]);
		await board.until(two.id, "the second", (screen) => textOf(screen) === "two");
		await one.write("unseen\n");
		await one.wait({ match: "unseen" });
		await two.write("seen\n");
		await board.until(two.id, "what was typed", (screen) => textOf(screen).includes("seen\nseen"));
		expect(textOf(board.of(one.id).at(-1) as StyledScreen)).toBe("one");
		board.screens.show([]);
		board.screens.show([one.id, two.id]);
		await board.until(one.id, "the first again", (screen) => textOf(screen).includes("unseen\nunseen"));
	});

	it("screens of a flood are sent at most ten times per second, and the end last", async () => {
		const { client } = await start();
		const { id } = await client.sessions.create({ command: "timeout 1 yes; clear; echo finished" });
		const began = performance.now();
		const board = watch(client, [id]);
		await board.until(id, "the end", (screen) => screen.state === "closed");
		expect(textOf(board.of(id).at(-1) as StyledScreen)).toBe("finished");
		expect(board.of(id).length).toBeLessThanOrEqual(Math.ceil((performance.now() - began) / 100) + 2);
	});

	it("an unavailable screen is reported as such, without delaying others", async () => {
		const { server, client } = await start();
		const pipes = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
		const large = await client.sessions.create({ argv: ["cat"], cols: 1_000, rows: 1_000 });
		const hidden = await client.sessions.create({ argv: ["cat"], workspace: "red" });
		const shown = await client.sessions.create({ command: "echo shown; exec cat", workspace: "blue" });
		const board = watch(client, [pipes.id, large.id, "none", shown.id]);
		await board.until(shown.id, "the screen", (screen) => textOf(screen) === "shown");
		const codes = (items: readonly ScreenStreamItem[]) =>
			Object.fromEntries(items.flatMap((item) => (item.kind === "error" ? [[item.session, item.error.code]] : [])));
		await eventually("the refusals", () => Object.keys(codes(board.items)).length === 3);
		expect(codes(board.items)).toEqual({
			[pipes.id]: "unsupported",
			[large.id]: "limit_exceeded",
			none: "session_not_found",
		});
		const stranger = watch(connect({ url: server.url, token: "stranger" }), [hidden.id, shown.id]);
		await stranger.until(shown.id, "the screen", (screen) => textOf(screen) === "shown");
		await eventually("the refusal", () => codes(stranger.items)[hidden.id] === "session_not_found");
	});

	it("screens belong to their subscriber, and are limited in number", async () => {
		const { server, client } = await start();
		const { id } = await client.sessions.create({ argv: ["cat"], workspace: "blue" });
		const follow = (path: string, token = TOKEN) =>
			server.request(path, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(20_000) });
		const response = await follow("/v1/screens");
		const reader = response.body?.getReader();
		let text = "";
		while (!text.includes("}")) text += Buffer.from((await reader?.read())?.value ?? []).toString();
		const [, stream] = /"stream":"([^"]+)"/.exec(text) ?? [];
		const put = (token: string) =>
			server.request(`/v1/screens/${stream}`, {
				method: "PUT",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
				body: JSON.stringify({ sessions: [id] }),
			});
		expect((await put("stranger")).status).toBe(404);
		expect((await put(TOKEN)).status).toBe(204);
		await reader?.cancel();
		await eventually("the end of the stream", async () => (await put(TOKEN)).status === 404);
		const many = Array.from({ length: 33 }, () => `session=${id}`).join("&");
		expect((await follow(`/v1/screens?${many}`)).status).toBe(400);
		const streams = await Promise.all(Array.from({ length: 9 }, () => follow("/v1/screens", "stranger")));
		expect(streams.map(({ status }) => status).toSorted()).toEqual([...new Array<number>(8).fill(200), 429]);
		for (const { body } of streams) await body?.cancel();
	});
});
