/** A page after its connection is cut or its server is killed: nothing is missed, nothing is typed twice. */

import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { openSession, shownRows, untilShown } from "../../support/browser.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { FaultProxy } from "../../support/fault-proxy.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { create, journalOf, REPEATER } from "../../support/web-sessions.ts";

it("after a network cut the page misses nothing, and sends what was typed meanwhile once", async () => {
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
	await page.getByText("The program keeps running. Your input is queued and sent once.").waitFor();
	await page.keyboard.type("meanwhile\n");
	await session.write("elsewhere\n");
	isCut = false;
	await untilShown(page, "<meanwhile>");
	await page.getByText(/^Reconnected after \d+ s\. Nothing missed\.$/).waitFor();
	const rows = (await shownRows(page)).filter((row) => row !== "");
	expect(rows).toEqual(["ready", "<before>", "<elsewhere>", "<meanwhile>"]);
	expect((await journalOf(session)).trimEnd().split("\r\n")).toEqual(rows);
});

it("a page survives the death of its server, and continues with the next one", async () => {
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
