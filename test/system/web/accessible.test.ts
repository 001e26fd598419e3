// @module-tag slow

/** Every page in every theme: axe-core finds no violation, and the page's policy blocks nothing. */

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { themes } from "../../../web/state/settings.ts";
import { words } from "../../../web/views/text.ts";
import { start } from "../../support/server.ts";
import { expectAccessible, openPage, openSignedIn } from "../../support/web-page.ts";

/** The part of a page's API that code inside it uses. */
type Styled = { getComputedStyle(element: unknown): { readonly outlineStyle: string } };

/** Themes that browsers choose by themselves. They differ only in colors. */
const chosen = themes.filter((theme) => theme !== "system");

/** Checks the current page in every theme, each chosen as in another tab of the same browser. */
async function expectAccessibleInAll(page: Page, where: string): Promise<void> {
	for (const [index, theme] of chosen.entries()) {
		const settings = JSON.stringify(JSON.stringify({ theme }));
		await page.evaluate(`localStorage.setItem("hawser-settings", ${settings}); dispatchEvent(new Event("storage"))`);
		await page.locator(`html[data-theme="${theme}"]`).waitFor();
		await expectAccessible(page, `${where} (${theme})`, { onlyColours: index > 0 });
	}
}

it("every page is legible and accessible in every theme", async () => {
	const server = await start();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const make = (name: string, command: string) =>
		sessions.create({ name, command, durable: false, labels: { kind: "demo" } });
	await make("asks", "printf 'Push 3 commits? [y/N] '; read a");
	await make("secret", "printf 'Password: '; stty -echo; read a");
	await make("failed", "exit 3");
	await make("fine", "true");
	await make("goes-on", "exec cat");
	const { page, problems } = await openSignedIn(server, "/settings");
	// A fading element has too little contrast in between.
	await page.emulateMedia({ reducedMotion: "reduce" });
	await page.getByRole("heading", { name: "Settings" }).waitFor();
	await expectAccessibleInAll(page, "settings");

	await page.getByRole("link", { name: "All sessions" }).click();
	await page.getByText("Needs a secret", { exact: true }).waitFor();
	// Rows move until all sessions that need attention are present.
	await expect.poll(() => page.title()).toBe("(3) Hawser");
	await expectAccessibleInAll(page, "list");
	await page.getByRole("row", { name: /^goes-on, / }).click({ button: "right" });
	await page.getByRole("menuitem", { name: /Kill/ }).waitFor();
	await expectAccessibleInAll(page, "menu");
	await page.getByRole("menuitem", { name: /Kill/ }).click();
	await page.getByRole("dialog", { name: words.kill.title("goes-on") }).waitFor();
	await expectAccessibleInAll(page, "kill");
	await page.keyboard.press("Escape");
	for (const [key, name] of [
		["n", "Start a session"],
		["?", "Shortcuts"],
		["Control+k", "Go to"],
	] as const) {
		await page.keyboard.press(key);
		await page.getByRole("dialog", { name }).waitFor();
		await expectAccessibleInAll(page, name);
		await page.keyboard.press("Escape");
		await page.getByRole("dialog", { name }).waitFor({ state: "detached" });
	}
	await page.getByRole("link", { name: "default" }).click();
	await page.getByRole("heading", { name: "Limits" }).waitFor();
	await expectAccessibleInAll(page, "workspace");

	await page.setViewportSize({ width: 390, height: 844 });
	await page.goto(`${server.url}/?show=needs-you`);
	await page.getByText("Needs a secret", { exact: true }).waitFor();
	await expectAccessibleInAll(page, "list on a phone");
	const isCut = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
	expect(isCut).toBe(false);
	const small = await page
		.locator(".tabs > *, .need .act button, .need .act form")
		.evaluateAll(
			(elements) =>
				elements.filter((element) => (element as unknown as { offsetHeight: number }).offsetHeight < 44).length,
		);
	expect(small).toBe(0);
	await page.getByRole("button", { name: "Start" }).click();
	await page.getByRole("dialog", { name: "Start a session" }).waitFor();
	await expectAccessibleInAll(page, "start on a phone");
	expect(problems).toEqual([]);
}, 60_000);

it("with forced colors, states have shapes and words, and the selection has an outline", async () => {
	const server = await start();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const commands = { asks: "printf 'Go on? [y/N] '; read a", failed: "exit 3", fine: "true", idle: "exec cat" };
	for (const [name, command] of Object.entries(commands)) await sessions.create({ name, command, durable: false });
	const { page, problems } = await openSignedIn(server);
	await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
	await page.getByText("Failed (exit 3)", { exact: true }).waitFor();
	await page.getByText("Go on? [y/N]", { exact: true }).waitFor();
	await page.getByRole("row", { name: /^fine, exit 0/ }).waitFor();
	await expectAccessible(page, "list in the system's colours");
	const signs = await page
		.locator("[data-row] .g use")
		.evaluateAll((uses) =>
			uses.map((use) => (use as unknown as { getAttribute(name: string): string }).getAttribute("href")),
		);
	expect(new Set(signs).size).toBe(4);
	const outline = await page
		.getByRole("link", { name: "List" })
		.evaluate((link) => (globalThis as unknown as Styled).getComputedStyle(link).outlineStyle);
	expect(outline).toBe("solid");
	expect(problems).toEqual([]);
});

it("the page for a signed-out browser is accessible", async () => {
	const server = await start();
	const { page } = await openPage(server.url);
	await page.getByRole("button", { name: "Sign in" }).waitFor();
	await expectAccessible(page, "sign in");
});
