/** A real browser that is signed in to a server, for measurements of the web UI. */

import { type BrowserContext, chromium, type Page } from "playwright-core";
import { launching } from "../test/support/chromium-flags.ts";
import type { Served } from "./served.ts";
import type { Workshop } from "./workshop.ts";

/** As much of a page as the code that runs in one needs. */
declare const localStorage: { setItem(key: string, value: string): void };

/** The machine has no GPU; software rendering would dominate the measurement. */
const FLAGS = ["--disable-3d-apis"];

export type SignedIn = { readonly context: BrowserContext; readonly page: Page; readonly url: string };

/** Starts with an empty cache. The browser is closed in any case. */
export async function browsing<T>(
	workshop: Workshop,
	{ target: { port, token } }: Served,
	use: (browser: SignedIn) => Promise<T>,
): Promise<T> {
	const url = `http://127.0.0.1:${port}`;
	const context = await chromium.launchPersistentContext(workshop.newSite(), {
		...launching(FLAGS),
		viewport: { width: 1440, height: 900 },
	});
	try {
		const answer = await context.request.post(`${url}/v1/signin`, { data: { token } });
		const { pageKey } = (await answer.json()) as { pageKey: string };
		await context.addInitScript((key) => localStorage.setItem("hawser-key", key), pageKey);
		const page = await context.newPage();
		return await use({ context, page, url });
	} finally {
		await context.close();
	}
}
