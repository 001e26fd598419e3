/** A real browser, with nothing in it and nothing left of it. */

import { type BrowserContext, chromium } from "playwright-core";
import { onTestFinished } from "vitest";
import { temporaryDirectory } from "./temporary.ts";

/** It talks to nobody but the pages of the test; and the sandbox would need rights that a container does not have. */
const FLAGS = [
	"--no-sandbox",
	"--disable-gpu",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	// A page that the test answers for has no address, and would be taken for one from the outside.
	"--disable-features=LocalNetworkAccessChecks",
];

export async function openBrowser(): Promise<BrowserContext> {
	const context = await chromium.launchPersistentContext(await temporaryDirectory(), {
		executablePath: "/usr/bin/chromium",
		headless: true,
		args: FLAGS,
	});
	onTestFinished(() => context.close());
	return context;
}
