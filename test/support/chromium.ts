/** A real browser: one process for all tests of a file, with an isolated context for each test. */

import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { onTestFinished } from "vitest";
import { launching } from "./chromium-flags.ts";
import { temporaryDirectory } from "./temporary.ts";

/** By their additional flags. Playwright closes them when this process gets a signal to end. */
const browsers = new Map<string, Promise<Browser>>();

/** Its own cookies, storage and windows, removed with the test. */
export async function openContext(flags: readonly string[], options?: BrowserContextOptions): Promise<BrowserContext> {
	const context = await (await browserWith(flags)).newContext(options);
	onTestFinished(() => context.close());
	return context;
}

/** A window that is not private, since browsers offer installation and notifications only there. */
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

/**
 * Like `openContext`, for pages that render little. The test may answer for one of them, which then has no address and
 * would count as remote.
 */
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
		// After a browser that crashed or failed to start, the next test gets a new one.
		browser.then((started) => started.once("disconnected", forget), forget);
	}
	return browser;
}
