/** Sharing one session by links, with guests who have only the link. */

import { expect, it } from "vitest";
import { openBrowser, openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { clientOf, create, REPEATER } from "../../support/web-sessions.ts";

it("a guest with a link sees this session and nothing else, and is disconnected when the link is revoked", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER, name: "shared" });
	const other = await create(server, { argv: ["cat"], name: "private" });
	const owner = await openSession(server, session.id);
	await untilShown(owner.page, "ready");
	await owner.page.getByRole("button", { name: "Share" }).click();
	await owner.page.getByRole("button", { name: "Create link" }).click();
	const link = await owner.page.getByRole("textbox", { name: "The link" }).inputValue();
	expect(link).toContain(`/s/${session.id}#`);
	await owner.page.getByText("expires in 1 h · not opened yet").waitFor();

	const guest = await openBrowser();
	await guest.page.goto(link);
	await untilShown(guest.page, "ready");
	await guest.page.getByText("View only", { exact: true }).waitFor();
	await owner.page.getByText("opened once").waitFor();
	expect(guest.page.url()).not.toContain("#");
	expect(await guest.page.getByRole("button", { name: "Share" }).count()).toBe(0);
	await guest.page.locator(".xterm-screen").click();
	await guest.page.keyboard.type("never\n");
	await session.write("seen\n");
	await untilShown(guest.page, "<seen>");
	expect(await guest.page.locator(".xterm-rows").textContent()).not.toContain("never");
	const guests = await guest.context.newPage();
	await guests.goto(`${server.url}/s/${other.id}`);
	await guests.getByText("This session can't be shown").waitFor();
	await guests.close();

	// Closed by Escape although the focused element is gone, and by a click elsewhere. Keys go to the terminal again.
	const panel = owner.page.getByRole("region", { name: "Share this session" });
	await owner.page.keyboard.press("Escape");
	await panel.waitFor({ state: "detached" });
	await owner.page.getByRole("button", { name: "More" }).click();
	await owner.page.locator(".xterm-screen").click({ position: { x: 5, y: 5 } });
	await owner.page.getByRole("menu", { name: "More" }).waitFor({ state: "detached" });
	await owner.page.keyboard.type("mine\n");
	await untilShown(owner.page, "<mine>");
	await owner.page.getByRole("button", { name: "Share" }).click();
	await owner.page.getByRole("button", { name: "Revoke" }).click();
	await guest.page.getByText("This link has ended.").waitFor();
	await guest.page.getByText("Ask for a new link.").waitFor();
	expect(owner.problems).toEqual([]);
	expect(guest.problems).toEqual([]);
});

it("a guest with a write link types until the link expires", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const links = clientOf(server).sessions.at(session.id).links;
	const { page } = await openBrowser();
	const ended = () => page.getByText("This link has ended.").waitFor();
	const types = async () => {
		await untilShown(page, "ready");
		await page.getByText("You can type").waitFor();
		await page.keyboard.type("guest\n");
		await untilShown(page, "<guest>");
	};
	/** With a link that lasts long enough. If it does not, one with a longer life follows. */
	const typesInTime = async (expiresInMs: number): Promise<void> => {
		await page.goto((await links.create({ right: "control", expiresInMs })).url);
		const outcomes = [types().then(() => true), ended().then(() => false)];
		for (const outcome of outcomes) outcome.catch(() => {});
		if (await Promise.race(outcomes)) return;
		// The next address differs only in its fragment, so the page is not reloaded.
		await page.goto("about:blank");
		await typesInTime(2 * expiresInMs);
	};
	await typesInTime(4_000);
	await ended();
});
