/** A page whose session renders its screen too late: it starts with incomplete output until it has the screen. */

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { LoadedSession } from "../../../src/client/index.ts";
import { allText, openBrowser, signIn, untilShown } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { type Started, start } from "../../support/server.ts";
import { create, journalOf } from "../../support/web-sessions.ts";

/** 1.2 MB in long lines, so a terminal can hold all that is retained. */
const FLOOD = "read -r go; seq -f %060.0f 1 20000; echo finished";
/** Less than the output, so the page's start offset is gone by then. */
const RETAINED_BYTES = 64 * 1024;

it("a page retries until it has the screen, and then shows the output without a gap", async () => {
	const server = await start();
	const session = await create(server, { command: `${FLOOD}; cat`, retain: { memoryBytes: RETAINED_BYTES } });
	const page = await openedWhileFlooding(server, session, { lateScreens: 2 });
	await untilExact(page, session);
	await page.keyboard.type("typed\n");
	await untilShown(page, "typed");
});

it("a page whose program has ended meanwhile does the same", async () => {
	const server = await start();
	const session = await create(server, { command: FLOOD, retain: { memoryBytes: RETAINED_BYTES } });
	const page = await openedWhileFlooding(server, session, { lateScreens: 1 });
	await untilExact(page, session);
});

/** Delays the first connection for the whole flood, so a page gets output, as from a server whose screen is late. */
async function openedWhileFlooding(
	server: Started,
	session: LoadedSession,
	{ lateScreens }: { readonly lateScreens: number },
): Promise<Page> {
	const opened = await openBrowser();
	const { page } = opened;
	await signIn(opened, server.url, server.adminToken);
	let late = 0;
	let look = () => {};
	const looked = new Promise<void>((resolve) => {
		look = resolve;
	});
	await page.routeWebSocket(/\/attach/, (socket) => {
		const upstream = socket.connectToServer();
		socket.onMessage(async (message) => {
			const said = typeof message === "string" ? (JSON.parse(message) as Record<string, unknown>) : undefined;
			if (said?.from !== "screen") return upstream.send(message);
			if (late >= lateScreens) {
				// The screen replaces the earlier output.
				await looked;
				return upstream.send(message);
			}
			if (late++ === 0) {
				await session.write("\n");
				await eventually("the end of the flood", async () => (await journalOf(session)).includes("finished"));
			}
			const { from: _from, scrollback: _scrollback, ...hello } = said;
			upstream.send(JSON.stringify(hello));
		});
	});
	await page.goto(`${server.url}/s/${session.id}`);
	await untilShown(page, "finished");
	expect(await allText(page)).toContain("missing: this session keeps only the last 64 KiB.");
	look();
	return page;
}

async function untilExact(page: Page, session: LoadedSession): Promise<void> {
	const written = (await journalOf(session)).trimEnd().split("\r\n");
	await eventually("an exact terminal", async () => {
		const lines = (await allText(page)).split("\n");
		return lines.length > 100 && lines.join("\n") === written.slice(-lines.length).join("\n");
	});
}
