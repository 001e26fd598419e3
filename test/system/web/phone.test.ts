/** A terminal on a phone: 390 px, touch, and a key bar. */

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { create, REPEATER } from "../../support/web-sessions.ts";

declare const document: { readonly activeElement: { readonly className: string; readonly tagName: string } | null };

const PHONE = { viewport: { width: 390, height: 844 }, isTouched: true } as const;

const focused = (page: Page) => page.evaluate(() => document.activeElement?.tagName ?? "");

it("the keyboard opens only by a tap on the text, and the key bar keeps it open", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, cols: 80, rows: 24 });
	const { page, problems } = await openSession(server, session.id, PHONE);
	await untilShown(page, "ready");
	const bar = page.getByRole("toolbar", { name: "Keys" });
	expect(await focused(page)).toBe("BODY");
	await bar.getByRole("button", { name: "Slash" }).tap();
	expect(await focused(page)).toBe("BODY");
	await page.locator(".xterm-screen").tap();
	await expect.poll(() => focused(page)).toBe("TEXTAREA");
	await bar.getByRole("button", { name: "Hyphen" }).tap();
	expect(await focused(page)).toBe("TEXTAREA");
	await page.keyboard.type("x\n");
	await untilShown(page, "</-x>");
	// As with a keyboard that covers the page without resizing it: everything stays above it.
	await page.evaluate(`Object.defineProperty(visualViewport, "height", { value: 500, configurable: true });
		visualViewport.dispatchEvent(new Event("resize"))`);
	const lowest = async () => {
		const boxes = await Promise.all([bar.boundingBox(), page.locator(".status").boundingBox()]);
		return Math.max(...boxes.map((box) => (box ? box.y + box.height : Number.NaN)));
	};
	await expect.poll(lowest).toBeLessThanOrEqual(500);
	await page.evaluate('delete visualViewport.height; visualViewport.dispatchEvent(new Event("resize"))');
	await expect.poll(lowest).toBeGreaterThan(800);
	await bar.getByRole("button", { name: "Hide the keyboard" }).tap();
	await expect.poll(() => focused(page)).toBe("BODY");
	const { width } = (await page.locator("main").boundingBox()) ?? { width: 0 };
	expect(width).toBeLessThanOrEqual(390);
	expect(problems).toEqual([]);
});

it("the key bar follows the cursor key mode, and its modifiers apply to the next key", async () => {
	const server = await start();
	const session = await create(server, {
		command: "stty raw -echo; printf 'ready\\r\\n'; head -c 3 | cat -v; printf '\\033[?1h!'; exec cat -v",
		cols: 50,
		rows: 20,
	});
	const { page } = await openSession(server, session.id, PHONE);
	await untilShown(page, "ready");
	const tap = (name: string) =>
		page.getByRole("toolbar", { name: "Keys" }).getByRole("button", { name, exact: true }).tap();
	await tap("Up");
	await untilShown(page, "^[[A!");
	// From here on in application mode.
	await tap("Up");
	await untilShown(page, "^[[A!^[OA");
	await tap("Control");
	await tap("Right");
	await untilShown(page, "^[OA^[[1;5C");
	await tap("Control C");
	await tap("Shift Tab");
	await untilShown(page, "[1;5C^C^[[Z");
	await tap("Control");
	await page.locator(".xterm-screen").tap();
	await page.keyboard.type("aa");
	await untilShown(page, "^[[Z^Aa");
	await tap("Alt");
	await tap("Alt");
	await page.keyboard.type("xy");
	await untilShown(page, "^Aa^[x^[y");
});

it("viewing a session on a phone does not resize it", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, cols: 142, rows: 41 });
	const { page } = await openSession(server, session.id, PHONE);
	await untilShown(page, "ready");
	await page.locator(".xterm-screen").tap();
	await session.write("seen\n");
	await untilShown(page, "<seen>");
	expect((await session.info()).size).toEqual({ cols: 142, rows: 41 });
	await page.getByRole("button", { name: "More" }).tap();
	await page.getByRole("menuitem", { name: "Use my size" }).tap();
	await expect.poll(async () => (await session.info()).size.cols).toBeLessThan(60);
});

it("a window as narrow as a phone's has the choices of a question as buttons, without touch", async () => {
	const server = await start();
	const session = await create(server, { command: "printf 'Push? [y/N] '; read a; echo got:$a; exec cat" });
	const { page, problems } = await openSession(server, session.id, { viewport: PHONE.viewport });
	await page.getByRole("button", { name: "Answer y" }).click();
	await untilShown(page, "got:y");
	await expect.poll(() => page.getByRole("button", { name: "Answer y" }).count()).toBe(0);
	expect(problems).toEqual([]);
});
