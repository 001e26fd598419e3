/** Every shortcut of the page and some other keys, pressed in a real browser on one page. */

import { expect, it } from "vitest";
import { words } from "../../../web/views/text.ts";
import { openSession, shownRows, untilShown } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { create } from "../../support/web-sessions.ts";

declare const navigator: { readonly clipboard: { readText(): Promise<string> } };

/** After the first key it prints two commands with shell marks, then it prints the keys it gets. */
const MARKED =
	"stty raw -echo; printf 'ready\\r\\n'; head -c 1 >/dev/null; " +
	"printf '\\033]133;A\\007first\\r\\n\\033]133;C\\007'; for i in $(seq 100); do printf '%s\\r\\n' $i; done; " +
	"printf '\\033]133;D;0\\007\\033]133;A\\007second\\r\\n'; exec cat -v";

/** Keys of the program that browsers or this page use elsewhere. */
const THEIRS = [
	["Control+k", "^K"],
	["Control+r", "^R"],
	["Control+f", "^F"],
	["Control+l", "^L"],
	["Control+a", "^A"],
	["Control+c", "^C"],
	["Alt+b", "^[b"],
	["Escape", "^["],
	["/", "/"],
	["?", "?"],
] as const;

it("each shortcut does what the shortcut sheet says, and every other key goes to the program", async () => {
	const server = await start();
	const asks = await create(server, { command: "printf 'Go on? [y/N] '; read x", name: "asks" });
	const marked = await create(server, { command: MARKED, name: "marked" });
	const { page, problems } = await openSession(server, marked.id);
	await untilShown(page, "ready");
	await page.keyboard.press("x");
	await untilShown(page, "second");
	let sent = "";
	for (const [key, shown] of THEIRS) {
		await page.keyboard.press(key);
		sent += shown;
		await untilShown(page, sent);
	}

	const isGone = (name: string) => page.getByRole("dialog", { name }).waitFor({ state: "detached" });
	const isFocused = (selector: string) => page.locator(`${selector}:focus`).waitFor({ state: "attached" });
	const ours: readonly (readonly [key: string, does: () => Promise<unknown>])[] = [
		["Control+Shift+ArrowUp", () => eventually("first", async () => (await shownRows(page))[0] === "first")],
		["Control+Shift+ArrowUp", () => page.getByText(words.noEarlierCommand).waitFor()],
		["Control+Shift+ArrowDown", () => untilShown(page, "second")],
		[
			"Control+Shift+K",
			async () => {
				await page.getByRole("dialog", { name: "Go to" }).waitFor();
				await page.keyboard.press("Escape");
				await isGone("Go to");
			},
		],
		[
			"Control+Shift+F",
			async () => {
				await isFocused('[placeholder="Search all output"]');
				await page.keyboard.press("Escape");
				await isFocused(".xterm textarea");
			},
		],
		[
			"Control+Shift+C",
			() => eventually("a copy", async () => (await page.evaluate(() => navigator.clipboard.readText())) === "second"),
		],
		["Control+Shift+V", () => untilShown(page, `${sent}second`)],
		[
			"Control+Shift+L",
			async () => {
				await isFocused("h1");
				await page.locator(".xterm-screen").click();
			},
		],
		[
			"Control+Shift+A",
			async () => {
				await page.waitForURL(`${server.url}/s/${asks.id}`);
				// The address changes before the page does. Input goes to the other terminal until then.
				await untilShown(page, "Go on?");
			},
		],
	];
	// The target of the last of them.
	await page.getByRole("link", { name: "Needs you" }).getByText("1", { exact: true }).waitFor();
	for (const [key, does] of ours) {
		// The text to copy was selected before.
		if (key === "Control+Shift+C") {
			const line = page.locator(".xterm-rows > div", { hasText: "second" }).first();
			await line.dblclick({ position: { x: 10, y: 5 }, force: true });
		}
		await page.keyboard.press(key);
		await does();
	}

	await page.getByText("You can type").waitFor();
	await page.keyboard.press("Control+Shift+L");
	await isFocused("h1");
	await page.getByRole("link", { name: "All sessions" }).click();
	// Keys find what is displayed, and a page renders with the next frame.
	await page.locator(`.need[data-row="${asks.id}"]`).waitFor();
	await page.locator(`[data-row="${marked.id}"]`).waitFor();
	const outside: readonly (readonly [key: string, does: () => Promise<unknown>])[] = [
		["j", () => isFocused(`[data-row="${asks.id}"]`)],
		["a", () => isFocused("[data-answer]")],
		["Escape", () => isFocused(`[data-row="${asks.id}"]`)],
		["ArrowDown", () => isFocused(`[data-row="${marked.id}"]`)],
		["ArrowUp", () => isFocused(`[data-row="${asks.id}"]`)],
		["n", () => page.getByRole("dialog", { name: "Start a session" }).waitFor()],
		["Escape", () => isGone("Start a session")],
		["?", () => page.getByRole("dialog", { name: "Shortcuts" }).waitFor()],
		["Escape", () => isGone("Shortcuts")],
		["/", () => isFocused("[data-filter]")],
		["Control+k", () => page.getByRole("dialog", { name: "Go to" }).waitFor()],
		["Escape", () => isGone("Go to")],
	];
	for (const [key, does] of outside) {
		await page.keyboard.press(key);
		await does();
	}

	await page.getByRole("link", { name: "Grid" }).first().click();
	const [first, second] = [page.locator(".tile").nth(0), page.locator(".tile").nth(1)];
	await first.focus();
	await page.keyboard.press("ArrowRight");
	expect(await second.evaluate((tile) => tile.matches(":focus"))).toBe(true);
	await page.keyboard.press("ArrowLeft");
	expect(await first.evaluate((tile) => tile.matches(":focus"))).toBe(true);
	await page.keyboard.press("Control+Enter");
	await page.waitForURL(`${server.url}/s/${asks.id}`);
	expect(problems).toEqual([]);
});

it("search finds text in the output of all sessions and opens its location", async () => {
	const server = await start();
	const told = await create(server, { command: "echo a needle here; exec cat", name: "told" });
	const silent = await create(server, { command: "echo nothing; exec cat", name: "silent" });
	await Promise.all([told.wait({ match: /needle/ }), silent.wait({ match: /nothing/ })]);
	const { page, problems } = await openSession(server, silent.id);
	await untilShown(page, "nothing");
	await page.keyboard.press("Control+Shift+K");
	await page.getByRole("combobox").fill("NEEDLE");
	await page.keyboard.press("Control+Enter");
	await page.getByText("found in 1 of 2").waitFor();
	await page.getByRole("option", { name: /^told a needle here/ }).click();
	await page.waitForURL(`${server.url}/s/${told.id}?at=*`);
	await untilShown(page, "a needle here");
	expect(problems).toEqual([]);
});
