/**
 * The web UI of a real server in a real browser: signed in, with its errors recorded, and terminals read as users read
 * them.
 */

import type { BrowserContext, Locator, Page } from "playwright-core";
import { openContext, openLastingContext } from "./chromium.ts";
import { eventually } from "./reading.ts";

/** The part of a page's API that code inside it uses. */
declare const localStorage: { setItem(key: string, value: string): void };
declare const navigator: {
	readonly clipboard: { readText(): Promise<string>; writeText(text: string): Promise<void> };
};

export type Viewport = { readonly width: number; readonly height: number };

export type BrowserOptions = {
	readonly viewport?: Viewport;
	/** Touch instead of a mouse. */
	readonly isTouched?: boolean;
	/** Whether terminals render with WebGL, so that their text can't be read in the page. */
	readonly hasWebGl?: boolean;
	/** Whether its window is not a private one. */
	readonly isLasting?: boolean;
};

export type Opened = {
	readonly context: BrowserContext;
	readonly page: Page;
	/** Errors of the browser: on its console, exceptions, violations of the page's policy. */
	readonly problems: string[];
};

/** A browser without stored data. */
export async function openBrowser(options: BrowserOptions = {}): Promise<Opened> {
	const { viewport = { width: 1280, height: 800 }, isTouched = false, hasWebGl = false, isLasting = false } = options;
	const flags = hasWebGl ? [] : ["--disable-3d-apis"];
	const open = isLasting ? openLastingContext : openContext;
	const context = await open(flags, { viewport, hasTouch: isTouched, isMobile: isTouched });
	const page = await context.newPage();
	// Less than the timeout of a test, so that the error names what it waited for.
	page.setDefaultTimeout(15_000);
	const problems: string[] = [];
	page.on("pageerror", ({ message }) => problems.push(message));
	page.on("console", (said) => {
		// A signed-out page gets a 401, which browsers log by themselves. The same holds for an unreachable server.
		const isExpected =
			/status of 401|ERR_CONNECTION_RE|ERR_INTERNET_DISCONNECTED|ERR_INCOMPLETE_CHUNKED|WebSocket connection/.test(
				said.text(),
			);
		if (said.type() === "error" && !isExpected) problems.push(`${said.text()} ${said.location().url}`);
	});
	await page.addInitScript(() => {
		const root = globalThis as unknown as {
			document: { addEventListener(kind: string, listener: (event: { violatedDirective: string }) => void): void };
			console: { error(text: string): void };
		};
		root.document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
			root.console.error(`violates ${violatedDirective}`);
		});
	});
	return { context, page, problems };
}

/** Signed in with this token. */
export async function signIn({ page, context }: Opened, url: string, token: string): Promise<void> {
	await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
	await page.goto(url);
	await page.evaluate(async (shown) => {
		const headers = { "content-type": "application/json" };
		const answer = await fetch("/v1/signin", { method: "POST", headers, body: JSON.stringify({ token: shown }) });
		localStorage.setItem("hawser-key", ((await answer.json()) as { pageKey: string }).pageKey);
	}, token);
}

/** A signed-in browser that shows a session. */
export async function openSession(
	{ url, adminToken }: { readonly url: string; readonly adminToken: string },
	id: string,
	{
		token = adminToken,
		path = "",
		...options
	}: BrowserOptions & { readonly token?: string; readonly path?: string } = {},
): Promise<Opened> {
	const opened = await openBrowser(options);
	await signIn(opened, url, token);
	await opened.page.goto(`${url}/s/${id}${path}`);
	return opened;
}

/** The rows of a terminal as rendered, without trailing blanks. */
export async function shownRows(page: Page | Locator): Promise<string[]> {
	const rows = await page.locator(".xterm-rows > div").allTextContents();
	return rows.map((row) => row.replace(/\u00a0/g, " ").trimEnd());
}

/** Waits until a terminal shows something. */
export async function untilShown(page: Page, wanted: string | RegExp): Promise<string[]> {
	let seen: string[] = [];
	try {
		return await eventually(`a terminal that shows ${wanted}`, async () => {
			seen = await shownRows(page);
			const text = seen.join("\n");
			return (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) && seen;
		});
	} catch (error) {
		throw new Error(`${(error as Error).message}; it shows:\n${seen.join("\n")}`);
	}
}

/** All text that a terminal has loaded, as its menu copies it. */
export async function allText(page: Page): Promise<string> {
	const nothing = "nothing was copied yet";
	await page.evaluate((text) => navigator.clipboard.writeText(text), nothing);
	await page.getByRole("button", { name: "More" }).click();
	await page.getByRole("menuitem", { name: "Copy all text" }).click();
	const { text: copied } = await eventually("the text of the terminal", async () => {
		const text = await page.evaluate(() => navigator.clipboard.readText());
		return text !== nothing && { text };
	});
	return copied;
}
