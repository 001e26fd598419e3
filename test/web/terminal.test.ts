/** A session's terminal in a real browser, against the server as `hawser serve` starts it. */

import { expect, it } from "vitest";
import { type CreateSession, connect, type KnownSession } from "../../src/client/index.ts";
import { eventually } from "../helpers/reading.ts";
import { type Started, start } from "../server/start.ts";
import { allText, openSession, shownRows, untilShown } from "./browsing.ts";

/** A session in the server's own process. */
function create({ url, adminToken: token }: Started, request: CreateSession): Promise<KnownSession> {
	return connect({ url, token }).sessions.create({ durable: false, ...request });
}

it("shows at once what the session's terminal shows, sends what is typed, and complains of nothing", async () => {
	const server = await start();
	const session = await create(server, {
		command: "printf 'first line\\n'; stty -echo; while read -r line; do echo \"<$line>\"; done",
		name: "<b>bold</b>",
	});
	await session.wait({ match: /first line/ });
	const { page, problems } = await openSession(server, session.id);
	await untilShown(page, "first line");
	expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("<b>bold</b>");
	await page.getByText("You can type").waitFor();
	await page.keyboard.type("hello there\n");
	await untilShown(page, "<hello there>");
	await page.getByText(/^Live · \d+ ms$/).waitFor();
	expect(problems).toEqual([]);
});

it("opening changes nothing; the first key makes the session as large as the window", async () => {
	const server = await start();
	const session = await create(server, { argv: ["cat"], cols: 60, rows: 10 });
	const { page } = await openSession(server, session.id);
	await page.getByText("60 × 10").waitFor();
	expect((await session.info()).size).toEqual({ cols: 60, rows: 10 });
	await page.keyboard.type("x");
	await page.getByText(/1\d\d × \d\d/).waitFor();
	const { size } = await session.info();
	expect(size.cols).toBeGreaterThan(100);
	expect(await page.locator(".xterm-rows > div").count()).toBe(size.rows);
	await page.setViewportSize({ width: 900, height: 600 });
	await expect.poll(async () => (await session.info()).size.cols).toBeLessThan(size.cols);
});

it("what is scrolled away is loaded when somebody scrolls up to it", async () => {
	const server = await start();
	const session = await create(server, { command: "seq 1 2000; cat" });
	await session.wait({ match: /2000\n/ });
	const { page } = await openSession(server, session.id);
	await untilShown(page, "2000");
	expect((await allText(page)).split("\n").length).toBeLessThan(300);
	const all = Array.from({ length: 2000 }, (_, index) => String(index + 1));
	await eventually("all lines", async () => {
		await page.keyboard.press("Shift+PageUp");
		return (await allText(page)) === all.join("\n");
	});
	await page.keyboard.type("typed\n");
	await untilShown(page, "typed");
	expect((await shownRows(page)).join("\n")).toContain("2000");
});
