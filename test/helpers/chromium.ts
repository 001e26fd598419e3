/** A real browser: one process for the tests of a file, and in it for each test nothing of the others. */

import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import { launching } from "./chromium-flags.ts";
import { temporaryDirectory } from "./temporary.ts";

/** By what they were started with besides. */
const browsers = new Map<string, Promise<Browser>>();
afterAll(async () => {
	for (const browser of browsers.values()) await (await browser).close();
});

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
	const started = browsers.get(key) ?? chromium.launch(launching(flags));
	browsers.set(key, started);
	return started;
}
