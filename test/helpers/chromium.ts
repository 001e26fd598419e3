/** A real browser: one process for all tests of this one, and in it for each test nothing of the others. */

import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { onTestFinished } from "vitest";
import { launching } from "./chromium-flags.ts";
import { temporaryDirectory } from "./temporary.ts";

/** By what they were started with besides. Playwright closes them when this process is told to end. */
const browsers = new Map<string, Promise<Browser>>();

/** Cookies, storage and windows of its own, gone with the test. */
export async function openContext(flags: readonly string[], options?: BrowserContextOptions): Promise<BrowserContext> {
	const context = await (await browserWith(flags)).newContext(options);
	onTestFinished(() => context.close());
	return context;
}

/** A window that is not private, as that of somebody at home: what browsers install, and tell, they do only there. */
export async function openLastingContext(
	flags: readonly string[],
	options?: BrowserContextOptions,
): Promise<BrowserContext> {
	const context = await chromium.launchPersistentContext(await temporaryDirectory(), {
		...launching(flags),
		...options,
	});
	onTestFinished(() => context.close());
	return context;
}

/** As `openContext`, for pages that draw little, one of which may be answered for by the test: it has no address then, and would be taken for one from the outside. */
export function openBrowser(): Promise<BrowserContext> {
	return openContext(["--disable-gpu", "--disable-features=LocalNetworkAccessChecks"]);
}

function browserWith(flags: readonly string[]): Promise<Browser> {
	const key = flags.join(" ");
	let browser = browsers.get(key);
	if (browser === undefined) {
		browser = chromium.launch(launching(flags));
		browsers.set(key, browser);
		const forget = () => void browsers.delete(key);
		// Whoever comes after one that crashed, or did not start, gets another.
		browser.then((started) => started.once("disconnected", forget), forget);
	}
	return browser;
}
