/** Control of input: viewers, take-overs and hand-backs in real browsers. */

import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { clientOf, create, REPEATER } from "../../support/web-sessions.ts";

it("a viewer sees everything, can't type, and is shown that", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const token = await server.token(`session:${session.id}:view`);
	const { page, problems } = await openSession(server, session.id, { token });
	await untilShown(page, "ready");
	await page.getByText("View only", { exact: true }).waitFor();
	await page.locator(".xterm-screen").click();
	await page.keyboard.type("never\n");
	await page.getByText("View only.", { exact: true }).waitFor();
	await session.write("seen\n");
	await untilShown(page, "<seen>");
	expect(await page.locator(".xterm-rows").textContent()).not.toContain("never");
	expect(problems).toEqual([]);
});

it("control is taken, taken back and handed back, and both pages show it", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const { token } = await clientOf(server).tokens.create({ scopes: [`session:${session.id}:control`], name: "ci" });
	const other = connect({ url: server.url, token }).sessions.at(session.id).attach({ since: "end" });
	await other.take();
	const { page } = await openSession(server, session.id);
	await page.getByText("ci has control").waitFor();
	await page.keyboard.type("x");
	await page.getByText("View only: ci has control.").waitFor();
	await page.locator(".thead").getByRole("button", { name: "Take control" }).click();
	await page.getByText("Exclusive control").waitFor();
	await page.keyboard.type("mine\n");
	await untilShown(page, "<mine>");
	await expect(other.write("theirs\n")).rejects.toMatchObject({ code: "not_writable" });
	await other.take({ force: true });
	await page.getByText(/^ci took control \d+ s ago\.$/).waitFor();
	await page.keyboard.type("abc");
	await page.getByText(/3 keys were not sent\.$/).waitFor();
	await page.locator(".banner").getByRole("button", { name: "Take control" }).click();
	await page.getByRole("button", { name: "Release control" }).click();
	await page.getByText("You can type").waitFor();
	await other.write("theirs\n");
	await untilShown(page, "<theirs>");
	await other.detach();
});
