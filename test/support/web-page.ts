/** Pages of the web UI as users open them, and checks that they are accessible. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { type BrowserOptions, type Opened, openBrowser, signIn } from "./browser.ts";

export type At = { readonly url: string; readonly adminToken: string };

/** As a first-time user. */
export async function openPage(url: string): Promise<Opened> {
	const opened = await openBrowser();
	await opened.page.goto(url);
	return opened;
}

export async function openSignedIn({ url, adminToken }: At, path = "/", options?: BrowserOptions): Promise<Opened> {
	const opened = await openBrowser(options);
	await signIn(opened, url, adminToken);
	await opened.page.goto(`${url}${path}`);
	return opened;
}

/** The path that the page requests. */
export async function pasteToken(page: Page, token: string): Promise<void> {
	await page.getByLabel("Token").fill(token);
	await page.getByRole("button", { name: "Sign in" }).click();
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Violation = {
	readonly id: string;
	readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** The rules that depend on colors. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/**
 * Asserts that axe-core finds no violations on the current page. If only colors have changed since the last check, only
 * the rules about them run. `within` selects a part: the colors in a terminal are its program's.
 */
export async function expectAccessible(
	page: Page,
	where: string,
	{ onlyColours = false, within }: { readonly onlyColours?: boolean; readonly within?: string } = {},
): Promise<void> {
	// Not as a script in the page, which its policy forbids.
	if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
	const options = JSON.stringify(onlyColours ? { runOnly: COLOURS } : {});
	const part = JSON.stringify(within ?? "html");
	const violations = (await page.evaluate(
		`axe.run(${part}, ${options}).then(({ violations }) => violations)`,
	)) as Violation[];
	const found = violations.map(({ id, nodes }) => ({
		where,
		id,
		nodes: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
	}));
	expect(found).toEqual([]);
}
