/** Who types: viewers, take-overs and hand-backs, in real browsers. */

import { expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";
import { start } from "../server/start.ts";
import { openSession, untilShown } from "./browsing.ts";
import { clientOf, create, REPEATER } from "./sessions.ts";

it("a viewer sees everything, can't type, and is told so", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const token = await server.token(`session:${session.id}:view`);
	const { page, problems } = await openSession(server, session.id, { token });
	await untilShown(page, "ready");
	await page.getByText("You watch", { exact: true }).waitFor();
	await page.locator(".xterm-screen").click();
	await page.keyboard.type("never\n");
	await page.getByText("You watch.", { exact: true }).waitFor();
	await session.write("seen\n");
	await untilShown(page, "<seen>");
	expect(await page.locator(".xterm-rows").textContent()).not.toContain("never");
	expect(problems).toEqual([]);
});

it("control is taken over, taken away and handed back, and each side is told", async () => {
	const server = await start();
	const session = await create(server, { command: REPEATER });
	const { token } = await clientOf(server).tokens.create({ scopes: [`session:${session.id}:control`], name: "ci" });
	const other = connect({ url: server.url, token }).sessions.at(session.id).attach({ since: "end" });
	await other.take();
	const { page } = await openSession(server, session.id);
	await page.getByText("ci types").waitFor();
	await page.keyboard.type("x");
	await page.getByText("You watch; ci types.").waitFor();
	await page.locator(".thead").getByRole("button", { name: "Take over" }).click();
	await page.getByText("Only you can type").waitFor();
	await page.keyboard.type("mine\n");
	await untilShown(page, "<mine>");
	await expect(other.write("theirs\n")).rejects.toMatchObject({ code: "not_writable" });
	await other.take({ force: true });
	await page.getByText(/^ci took over \d+ s ago\.$/).waitFor();
	await page.keyboard.type("abc");
	await page.getByText(/3 keys you typed after that were not sent\.$/).waitFor();
	await page.getByRole("button", { name: "Take back" }).click();
	await page.getByRole("button", { name: "Hand back" }).click();
	await page.getByText("You can type").waitFor();
	await other.write("theirs\n");
	await untilShown(page, "<theirs>");
	await other.detach();
});
