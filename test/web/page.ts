/** Pages of the web UI that are opened as people open them, and whether everybody can read them. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { type BrowserOptions, type Opened, openBrowser, signIn } from "./browsing.ts";

export type At = { readonly url: string; readonly adminToken: string };

/** As somebody who was never there. */
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

/** What the page asks for. */
export async function pasteToken(page: Page, token: string): Promise<void> {
	await page.getByLabel("Token").fill(token);
	await page.getByRole("button", { name: "Sign in" }).click();
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Violation = {
	readonly id: string;
	readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** The rules that depend on colours. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/** That axe-core finds nothing wrong with the page as it is now; with its colours, when only these have changed since it was asked. */
export async function expectAccessible(
	page: Page,
	where: string,
	{ onlyColours = false }: { readonly onlyColours?: boolean } = {},
): Promise<void> {
	// Not as a script in the page, which its policy forbids.
	if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
	const options = JSON.stringify(onlyColours ? { runOnly: COLOURS } : {});
	const violations = (await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`)) as Violation[];
	const found = violations.map(({ id, nodes }) => ({
		where,
		id,
		nodes: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
	}));
	expect(found).toEqual([]);
}
