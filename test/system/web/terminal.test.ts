// @module-tag slow

/** A session's terminal in a real browser, with the server as `hawser serve` starts it. */

import { expect, it } from "vitest";
import { allText, openSession, shownRows, untilShown } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { clientOf, create, journalOf, REPEATER } from "../../support/web-sessions.ts";

declare const navigator: {
	readonly clipboard: { readText(): Promise<string>; writeText(text: string): Promise<void> };
};

it("the page shows the session's terminal at once, sends typed input, and logs no errors", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, name: "<b>bold</b>" });
	await session.wait({ match: /ready/ });
	const { page, problems } = await openSession(server, session.id);
	await untilShown(page, "ready");
	expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("<b>bold</b>");
	await page.getByText("You can type").waitFor();
	await page.keyboard.type("hello there\n");
	await untilShown(page, "<hello there>");
	await page.getByText(/^Live · \d+ ms$/).waitFor();
	expect(problems).toEqual([]);
});

it("the terminal renders with WebGL where available, and logs no errors", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const { page, problems } = await openSession(server, session.id, { hasWebGl: true });
	await page.locator(".xterm-screen canvas").first().waitFor();
	await page.keyboard.type("hello\n");
	await eventually("the answer", async () => (await allText(page)).includes("<hello>"));
	expect(problems).toEqual([]);
});

it("opening a session does not resize it, and the first key sizes it to the window", async () => {
	const server = await start();
	const session = await create(server, { argv: ["cat"], cols: 60, rows: 10 });
	const { page } = await openSession(server, session.id);
	await page.getByText("60 × 10 (window:").waitFor();
	expect((await session.info()).size).toEqual({ cols: 60, rows: 10 });
	await page.keyboard.type("x");
	await page.getByText(/^1\d\d × \d\d · follows/).waitFor();
	const { size } = await session.info();
	expect(size.cols).toBeGreaterThan(100);
	await expect.poll(() => page.locator(".xterm-rows > div").count()).toBe(size.rows);
	await page.setViewportSize({ width: 900, height: 600 });
	await expect.poll(async () => (await session.info()).size.cols).toBeLessThan(size.cols);
});

it("a session has the size of its last writer, and the other page displays it at that size", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const large = await openSession(server, session.id, { viewport: { width: 1400, height: 900 } });
	const small = await openSession(server, session.id, { viewport: { width: 900, height: 500 } });
	await untilShown(large.page, "ready");
	await untilShown(small.page, "ready");
	const sizeOf = async () => (await session.info()).size;
	await large.page.keyboard.type("large\n");
	await untilShown(small.page, "<large>");
	await large.page.getByText("· follows the last writer").waitFor();
	const first = await sizeOf();
	await small.page.getByText(`${first.cols} × ${first.rows} (window:`).waitFor();
	await small.page.keyboard.type("small\n");
	await untilShown(large.page, "<small>");
	await small.page.getByText("· follows the last writer").waitFor();
	const second = await sizeOf();
	expect(second.cols).toBeLessThan(first.cols);
	await large.page.getByText(`${second.cols} × ${second.rows} (window:`).waitFor();
});

it("scrolling up loads earlier output", async () => {
	const server = await start();
	const session = await create(server, { command: "seq 1 2000; cat" });
	// A page starts with the complete output if its screen can't be had at once.
	await session.wait({ screen: "2000" });
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

it("a page opened during a flood finally shows the written output and nothing else", async () => {
	const server = await start();
	const session = await create(server, { command: "read -r go; seq 1 400000; echo finished; cat" });
	const { page } = await openSession(server, session.id);
	await page.getByText("You can type").waitFor();
	await page.keyboard.type("\n");
	await untilShown(page, /\d{4}/);
	await page.reload();
	await untilShown(page, "finished");
	const written = (await journalOf(session)).trimEnd().split("\r\n");
	await eventually("an exact terminal", async () => {
		const lines = (await allText(page)).split("\n");
		return lines.length > 100 && lines.join("\n") === written.slice(-lines.length).join("\n");
	});
});

it("search covers all output and loads the match", async () => {
	const server = await start();
	const session = await create(server, {
		command: "echo needle in the beginning; seq 1 3000; echo a last needle; cat",
	});
	await session.wait({ match: /a last needle/ });
	const { page } = await openSession(server, session.id);
	await untilShown(page, "a last needle");
	await page.keyboard.press("Control+Shift+F");
	await page.getByPlaceholder("Search all output").fill("needle");
	await page.getByText("2 of 2").waitFor();
	await page.keyboard.press("Enter");
	await untilShown(page, "needle in the beginning");
	await page.getByText("1 of 2").waitFor();
	await page.keyboard.press("Escape");
	await page.keyboard.type("typed\n");
	await untilShown(page, "typed");
});

it("pasting several lines asks for confirmation unless the program uses bracketed paste", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const { page } = await openSession(server, session.id);
	await untilShown(page, "ready");
	const paste = async (text: string) => {
		await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
		await page.keyboard.press("Control+Shift+V");
	};
	await paste("one\ntwo\n");
	await page.getByText("Paste 2 lines?").waitFor();
	await page.getByRole("button", { name: "Paste as one line" }).click();
	await page.keyboard.type("\n");
	await untilShown(page, "<one two>");
	await paste("\u001b]0;x\u0007three\nfour\n");
	await page.getByRole("button", { name: "Paste", exact: true }).click();
	await untilShown(page, /<\]0;xthree>\n<four>/);
});

it("a program on pipes gets lines, its stderr is distinguishable, and its end offers a restart", async () => {
	const server = await start();
	const session = await create(server, {
		command: 'read -r line; echo "out $line"; echo "err $line" >&2; exit 3',
		mode: "pipe",
		name: "pipes",
	});
	const { page, problems } = await openSession(server, session.id);
	await page.getByPlaceholder("Input line").fill("this");
	await page.keyboard.press("Enter");
	await untilShown(page, /out this\nerr this/);
	const slanted = await page.locator(".xterm-rows span.xterm-italic").allTextContents();
	expect(slanted.join("")).toBe("err this");
	await page.getByText(/^Ended with exit code 3$/).waitFor();
	await page.getByText(/^after \d+ s, at \d\d:\d\d$/).waitFor();
	await page.getByRole("button", { name: "Run again" }).click();
	await page.getByPlaceholder("Input line").waitFor();
	const running = await clientOf(server).sessions.list({ state: ["running"] });
	expect(running.map(({ name }) => name)).toEqual(["pipes"]);
	expect(problems).toEqual([]);
});
