/** What becomes of a page when its connection is cut or its server is killed: nothing is missed, nothing is typed twice. */

import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/client/index.ts";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { FaultProxy } from "../helpers/fault-proxy.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { start } from "../server/start.ts";
import { openSession, shownRows, untilShown } from "./browsing.ts";
import { create, journalOf, REPEATER } from "./sessions.ts";

it("after a cut network nothing is missed, and what was typed meanwhile is sent once", async () => {
	const server = await start();
	let isCut = false;
	const proxy = new FaultProxy({
		target: () => new URL(server.url),
		plan: () => (isCut ? { fault: "cut", direction: "up", afterBytes: 0 } : undefined),
	});
	await proxy.start();
	onTestFinished(() => proxy.close());
	const session = await create(server, { command: REPEATER });
	const { page } = await openSession({ ...server, url: proxy.url }, session.id);
	await untilShown(page, "ready");
	await page.keyboard.type("before\n");
	await untilShown(page, "<before>");
	isCut = true;
	proxy.cutAll();
	await page
		.locator(".status")
		.getByText(/^Reconnecting… \d+ s$/)
		.waitFor();
	await page.getByText("The program goes on. What you type is kept and sent once.").waitFor();
	await page.keyboard.type("meanwhile\n");
	await session.write("elsewhere\n");
	isCut = false;
	await untilShown(page, "<meanwhile>");
	await page.getByText(/^Back after \d+ s\. Nothing was missed\.$/).waitFor();
	const rows = (await shownRows(page)).filter((row) => row !== "");
	expect(rows).toEqual(["ready", "<before>", "<elsewhere>", "<meanwhile>"]);
	expect((await journalOf(session)).trimEnd().split("\r\n")).toEqual(rows);
});

it("a page survives the death of its server, and goes on where it was with the next one", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const adminToken = await server.token();
	const session = await connect({ url: server.url, token: adminToken }).sessions.create({ command: REPEATER });
	const { page } = await openSession({ url: server.url, adminToken }, session.id);
	await untilShown(page, "ready");
	await page.keyboard.type("one\n");
	await untilShown(page, "<one>");
	await server.kill();
	await page
		.locator(".status")
		.getByText(/^Reconnecting… \d+ s$/)
		.waitFor();
	await page.keyboard.type("two\n");
	await server.start();
	await untilShown(page, "<two>");
	await page.keyboard.type("three\n");
	await untilShown(page, "<three>");
	expect((await shownRows(page)).filter((row) => row !== "")).toEqual(["ready", "<one>", "<two>", "<three>"]);
});
