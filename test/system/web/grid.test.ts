/** Many sessions as tiles. One of them takes input. */

import { expect, it } from "vitest";
import { openBrowser, signIn, untilShown } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { clientOf, create, REPEATER } from "../../support/web-sessions.ts";

it("tiles follow their sessions, the focused one takes input at full size, and one that needs attention is marked", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, name: "typed-in", cols: 90, rows: 30 });
	await create(server, { command: "printf '\\033[31mpicture\\033[0m\\n'; cat", name: "picture" });
	const opened = await openBrowser();
	const { page, problems } = opened;
	await signIn(opened, server.url, server.adminToken);
	await page.goto(`${server.url}/grid`);
	const tile = page.getByRole("region", { name: /^picture/ });
	const picture = tile.getByRole("img");
	// Focusing reads its last line; hovering does not.
	await eventually("the picture", async () => {
		await page.getByRole("region", { name: /^typed-in/ }).focus();
		await tile.focus();
		return (await picture.getAttribute("aria-label")) === "picture";
	});
	await page.getByRole("region", { name: /^typed-in/ }).focus();
	await page.keyboard.press("Enter");
	await page.getByText("typing here").waitFor();
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
	const { token } = await clientOf(server).tokens.create({
		scopes: ["workspace:default:manage"],
		name: "agent",
		gate: { match: ["rm -rf"] },
	});
	const held = clientOf({ ...server, adminToken: token })
		.sessions.at(session.id)
		.write("rm -rf it\r");
	held.catch(() => {});
	const waiting = page.getByRole("region", { name: "typed-in, needs approval" });
	await waiting.getByText("rm -rf it", { exact: true }).waitFor();
	await waiting.getByRole("link", { name: "View: typed-in" }).click();
	await page.getByText("You can type").waitFor();
	await page.getByRole("button", { name: "Deny" }).click();
	await expect(held).rejects.toMatchObject({ code: "not_approved" });
	// Once the page knows, its tile is in place.
	await page.getByRole("button", { name: "Deny" }).waitFor({ state: "detached" });
	await page.goBack();
	await page.getByRole("region", { name: /^typed-in/ }).focus();
	await page.keyboard.press("Control+Enter");
	await page.getByText("You can type").waitFor();
	expect(problems).toEqual([]);
});
