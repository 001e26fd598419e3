/** Many sessions as tiles, of which one is typed in. */

import { expect, it } from "vitest";
import { eventually } from "../helpers/reading.ts";
import { start } from "../server/start.ts";
import { openBrowser, signIn, untilShown } from "./browsing.ts";
import { create, REPEATER } from "./sessions.ts";

it("pictures follow what sessions show, and one tile is typed in without being squeezed into it", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, name: "typed-in", cols: 90, rows: 30 });
	await create(server, { command: "printf '\\033[31mpicture\\033[0m\\n'; cat", name: "picture" });
	const opened = await openBrowser();
	const { page, problems } = opened;
	await signIn(opened, server.url, server.adminToken);
	await page.goto(`${server.url}/grid`);
	const tile = page.getByRole("region", { name: /^picture/ });
	const picture = tile.getByRole("img");
	// Focus reads its last line, and only focus.
	await eventually("the picture", async () => {
		await page.getByRole("region", { name: /^typed-in/ }).focus();
		await tile.focus();
		return (await picture.getAttribute("aria-label")) === "picture";
	});
	await page.getByRole("region", { name: /^typed-in/ }).focus();
	await page.keyboard.press("Enter");
	await page.getByText("you type here").waitFor();
	await untilShown(page, "ready");
	await page.keyboard.type("hello\n");
	await untilShown(page, "<hello>");
	expect((await session.info()).size).toEqual({ cols: 90, rows: 30 });
	await page.keyboard.press("Control+Shift+L");
	await eventually("the picture of what was typed", async () => {
		await tile.focus();
		await page.getByRole("region", { name: /^typed-in/ }).focus();
		const label = await page
			.getByRole("region", { name: /^typed-in/ })
			.getByRole("img")
			.getAttribute("aria-label");
		return label === "<hello>";
	});
	await page.keyboard.press("Control+Enter");
	await page.getByText("You can type").waitFor();
	expect(problems).toEqual([]);
});
