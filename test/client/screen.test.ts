/** Screens through the SDK: following, waiting, and scrollback. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, connect, type Session } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

/** A program that prints each line of its input with escapes interpreted, and exits at the end of its input. */
function drawing(): Promise<Session> {
	return client.sessions.create({
		command: 'stty -echo; printf ready; while read -r line; do printf "$line"; done; exit 4',
		cols: 20,
		rows: 5,
	});
}

it("screenChanges follows a screen until the session ends", async () => {
	const session = await drawing();
	await session.wait({ screen: "ready" });
	const seen: (readonly string[])[] = [];
	for await (const { lines } of session.screenChanges()) {
		seen.push(lines);
		if (seen.length === 1) await session.write("\\033[3;1Hthird\n");
		if (lines[2] === "third") await session.write("\\033[2J\\033[Hlast\n");
		if (lines[0] === "last") await session.eof();
	}
	expect(seen[0]).toEqual(["ready"]);
	expect(seen).toContainEqual(["ready", "", "third"]);
	expect(seen.at(-1)).toEqual(["last"]);
	const controller = new AbortController();
	const other = await drawing();
	for await (const _ of other.screenChanges({ signal: controller.signal })) controller.abort();
});

it("wait waits for a text, an expression or an unchanged screen", async () => {
	const session = await drawing();
	const waiting = [
		session.wait({ screen: "done (1)" }),
		session.wait({ screen: /DONE .\d/i, region: [1, 3] }),
		session.wait({ screen: "never" }),
	];
	expect(await session.wait({ screen: "READY", ignoreCase: true })).toMatchObject({ kind: "screen", offset: 5 });
	expect(await session.wait({ screen: "done" }, { timeoutMs: 30 })).toMatchObject({ kind: "timeout" });
	await session.write("\\033[2;1Hdone (1)\n");
	for (const found of await Promise.all(waiting.slice(0, 2))) {
		expect(found).toMatchObject({ kind: "screen", screen: { lines: ["ready", "done (1)"] } });
	}
	expect(await session.wait({ stable: 60 })).toMatchObject({ kind: "stable", screen: { state: "running" } });
	await session.eof();
	expect(await waiting[2]).toMatchObject({ kind: "exit", exit: { code: 4 } });
	const controller = new AbortController();
	const given = (await drawing()).wait({ screen: "never" }, { signal: controller.signal });
	controller.abort(new Error("enough"));
	await expect(given).rejects.toThrow("enough");
});

it("the SDK reads the scrollback and pictures of a screen", async () => {
	const session = await client.sessions.create({ command: "seq 1 20", cols: 20, rows: 5 });
	await session.wait({ exit: true });
	expect(await session.scrollback({ limit: 2, skip: 1 })).toMatchObject({ total: 16, lines: ["14", "15"] });
	expect(await session.screenPicture("svg")).toMatch(/^<svg .*>20<\/text>/s);
	expect(await session.screenPicture("html", { at: 4 })).toMatch(/^<!doctype html>.*>2<\/span>/s);
});
