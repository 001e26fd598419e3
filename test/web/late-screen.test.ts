/** A page whose session has its screen too late for it: it begins with output of which something is missing, until it has the screen. */

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { KnownSession } from "../../src/client/index.ts";
import { eventually } from "../helpers/reading.ts";
import { type Started, start } from "../server/start.ts";
import { allText, openBrowser, signIn, untilShown } from "./browsing.ts";
import { create, journalOf } from "./sessions.ts";

/** 1.2 MB in long lines, so that a terminal has room for all that is retained of them. */
const FLOOD = "read -r go; seq -f %060.0f 1 20000; echo finished";
/** Less than what is written, so that where a page wanted to begin is gone by then. */
const RETAINED_BYTES = 64 * 1024;

it("a page asks for the screen until it has it, and shows what was written then, and no gap", async () => {
	const server = await start();
	const session = await create(server, { command: `${FLOOD}; cat`, retain: { memoryBytes: RETAINED_BYTES } });
	const page = await openedWhileFlooding(server, session, { lateScreens: 2 });
	await untilExact(page, session);
	await page.keyboard.type("typed\n");
	await untilShown(page, "typed");
});

it("so does one whose program has ended meanwhile", async () => {
	const server = await start();
	const session = await create(server, { command: FLOOD, retain: { memoryBytes: RETAINED_BYTES } });
	const page = await openedWhileFlooding(server, session, { lateScreens: 1 });
	await untilExact(page, session);
});

/** Its first connection waits for the whole flood, and so many get output as from a server that has no screen in time. */
async function openedWhileFlooding(
	server: Started,
	session: KnownSession,
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
				// The screen takes the place of what was seen before.
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
	expect(await allText(page)).toContain("are missing here. This session keeps its last 64 KiB.");
	look();
	return page;
}

async function untilExact(page: Page, session: KnownSession): Promise<void> {
	const written = (await journalOf(session)).trimEnd().split("\r\n");
	await eventually("an exact terminal", async () => {
		const lines = (await allText(page)).split("\n");
		return lines.length > 100 && lines.join("\n") === written.slice(-lines.length).join("\n");
	});
}
