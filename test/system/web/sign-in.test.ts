/** Access to the page in a real browser. */

import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { words } from "../../../web/views/text.ts";
import { start } from "../../support/server.ts";
import { openPage, openSignedIn, pasteToken } from "../../support/web-page.ts";

it("a signed-out browser is asked for a token at the page it opened, and learns why a token is wrong", async () => {
	const server = await start();
	const { tokens } = connect({ url: server.url, token: server.adminToken });
	const made = await tokens.create({ scopes: ["workspace:red:read"] });
	await tokens.revoke(made.id);
	const { page, problems } = await openPage(`${server.url}/settings`);
	await page.getByRole("heading", { name: words.signIn.title(new URL(server.url).host) }).waitFor();
	await pasteToken(page, "hwt_wrong");
	await page.getByText(words.signIn.unknown).waitFor();
	await pasteToken(page, made.token);
	await page.getByText(words.signIn.ended).waitFor();
	await pasteToken(page, server.adminToken);
	await page.getByRole("heading", { name: "Settings" }).waitFor();
	expect(page.url()).toBe(`${server.url}/settings`);
	// A script can't read the credential from anywhere.
	expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(server.adminToken);
	expect(problems).toEqual([]);
});

it("a page signed out elsewhere shows that, and that its sessions continue", async () => {
	const server = await start();
	const { tokens } = connect({ url: server.url, token: server.adminToken });
	const { id, token } = await tokens.create({ scopes: ["workspace:default:manage"], name: "ada" });
	const { page, problems } = await openSignedIn({ url: server.url, adminToken: token });
	await page.getByRole("heading", { name: words.empty.title }).waitFor();
	await tokens.revoke(id);
	await page.getByText(words.signedOut.join(" ")).waitFor();
	expect(problems).toEqual([]);
});

it("a view-only user is offered no other actions", async () => {
	const server = await start();
	const admin = connect({ url: server.url, token: server.adminToken });
	await admin.sessions.create({ name: "asks", command: "printf 'Go on? [y/N] '; read a", durable: false });
	const { token } = await admin.tokens.create({ scopes: ["workspace:default:read"] });
	const { page, problems } = await openSignedIn({ url: server.url, adminToken: token });
	const asks = page.getByRole("listitem").filter({ hasText: "Go on? [y/N]" });
	await asks.waitFor();
	expect(await asks.getByRole("button").allTextContents()).toEqual(["Open"]);
	expect(await page.getByRole("button", { name: "Start" }).count()).toBe(0);
	await page.getByRole("link", { name: "default" }).click();
	await page.getByRole("heading", { name: "Limits" }).waitFor();
	expect(await page.getByRole("heading", { name: "Audit" }).count()).toBe(0);
	expect(problems).toEqual([]);
});

it("a guest's key is removed from the address, and the page shows one session without navigation", async () => {
	const server = await start();
	const admin = connect({ url: server.url, token: server.adminToken });
	const session = await admin.sessions.create({ argv: ["cat"], name: "shown", durable: false });
	const link = await session.links.create({ right: "view" });
	const { page, problems } = await openPage(link.url);
	await page.locator(".shell.guest").waitFor();
	expect(page.url()).toBe(`${server.url}/s/${session.id}`);
	expect(await page.getByRole("navigation").count()).toBe(0);
	await session.links.revoke(link.id);
	await page.getByText(words.guestEnded[0]).waitFor();
	expect(problems).toEqual([]);
});
