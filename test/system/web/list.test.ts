// @module-tag slow

/** The list of sessions in a real browser: it shows the current state, and its actions take effect. */

import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { words } from "../../../web/views/text.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { prefixProxy } from "../../support/prefix-proxy.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { type At, openPage, openSignedIn, pasteToken } from "../../support/web-page.ts";

/** The part of a page's API that code inside it uses. */
declare const document: { querySelector(selector: string): { readonly textContent: string } | null };

/** A server in its own process, which can have durable sessions and be killed. */
async function serve(): Promise<At & { readonly process: CrashingServer }> {
	const process = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => process.killAll());
	await process.start();
	return { process, url: process.url, adminToken: await process.token() };
}

it("an empty list suggests the first command, starts a shell, and shows sessions as other clients start them", async () => {
	const server = await serve();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const { page, problems } = await openSignedIn(server);
	await page.getByRole("heading", { name: words.empty.title }).waitFor();
	await page.getByText(words.empty.commands[0]).waitFor();
	await page.getByRole("button", { name: "Start a command…" }).click();
	const dialog = page.getByRole("dialog", { name: "Start a session" });
	await dialog.getByLabel("Command").fill("nmp test");
	await dialog.getByRole("button", { name: "Start" }).click();
	await dialog.getByRole("alert").filter({ hasText: "Could not start:" }).waitFor();
	expect(await dialog.getByRole("alert").textContent()).toContain("nmp");
	// Browsers log it by themselves.
	expect(problems.splice(0)).toEqual([expect.stringContaining("422")]);
	await dialog.getByLabel("Command").fill("bash --norc");
	await dialog.getByLabel("Name (optional)").fill("mine");
	await dialog.getByRole("button", { name: "Start" }).click();
	await page.waitForURL(/\/s\/\w+$/);
	const [shell] = await sessions.list();
	onTestFinished(() => sessions.at(shell?.id ?? "").remove());
	expect(shell).toMatchObject({ name: "mine", argv: ["bash", "--norc"], mode: "pty" });
	expect(page.url()).toBe(`${server.url}/s/${shell?.id}`);

	await page.goBack();
	await page.getByRole("row", { name: /^mine, / }).waitFor();
	const other = await sessions.create({
		command: "echo '<img src=x onerror=alert(1)>'; exec cat",
		name: "<b>bold</b>",
	});
	const row = page.getByRole("row", { name: "<b>bold</b>" });
	await row.getByText("<img src=x onerror=alert(1)>", { exact: true }).waitFor();
	await row.getByRole("link", { name: "<b>bold</b>", exact: true }).waitFor();
	await other.rename("plain");
	await page.getByRole("row", { name: /^plain, / }).waitFor();
	expect(problems).toEqual([]);
	await other.remove();
	await page.getByRole("row", { name: /^plain, / }).waitFor({ state: "detached" });
});

it("the list shows sessions that need attention first, and answers them: a key, a line, a secret", async () => {
	const server = await start();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const make = (name: string, command: string) => sessions.create({ name, command, durable: false });
	const asks = await make("asks", "printf 'Push 3 commits? [y/N] '; read a; echo got:$a; exec cat");
	const named = await make(
		"named",
		"printf 'All of the ledger is written anew, and nobody can undo that. Your name: '; read a; echo hello:$a; exec cat",
	);
	const secret = await make(
		"secret",
		"printf 'Password: '; stty -echo; read a; stty echo; echo; echo secret:$a; exec cat",
	);
	await make("failed", "echo no such thing; exit 3");
	await make("fine", "exec cat");
	const { page, problems } = await openSignedIn(server);
	const needing = page.getByRole("region", { name: "Needs you" }).getByRole("listitem");
	await expect.poll(() => needing.count()).toBe(4);
	const one = (name: string) => needing.filter({ has: page.getByRole("link", { name, exact: true }) });
	expect(await page.title()).toBe("(4) Hawser");

	await one("asks").getByText("Push 3 commits? [y/N]", { exact: true }).waitFor();
	// A time in seconds updates each second, unlike the others, which update every ten.
	const waited = async () => Number(/waits (\d+) s/.exec((await one("asks").textContent()) ?? "")?.[1]);
	const seconds = await waited();
	const later = await eventually("the next second", async () => {
		const now = await waited();
		return now > seconds && now;
	});
	expect(later).toBeLessThan(seconds + 10);
	await one("asks").getByRole("button", { name: "Answer y" }).click();
	await one("asks")
		.getByText(/Sent "y" at \d\d:\d\d/)
		.waitFor();
	// The answered row stays for a while, but no longer counts.
	const heading = await page.waitForFunction(
		() =>
			document.querySelector(".nav .pill")?.textContent === "3" &&
			document.querySelector("[aria-label='Needs you'] .gh .n")?.textContent,
	);
	expect(await heading.jsonValue()).toBe("3");
	await eventually("the answer", async () => (await asks.text()).text.includes("got:y"));

	// Where space is short, the end is shown, because it has the question.
	const [place, text] = [one("named").locator(".q"), one("named").locator(".q bdi")];
	const [shown, whole] = [await place.boundingBox(), await text.boundingBox()];
	expect(whole?.width).toBeGreaterThan(shown?.width ?? 0);
	expect((whole?.x ?? 0) + (whole?.width ?? 0)).toBeLessThanOrEqual((shown?.x ?? 0) + (shown?.width ?? 0) + 1);
	await one("named").getByLabel("Answer to named").fill("Ada");
	await page.keyboard.press("Enter");
	await eventually("the answer", async () => (await named.text()).text.includes("hello:Ada"));

	await one("secret").getByLabel("Secret for secret").fill("hunter2");
	await page.keyboard.press("Enter");
	await eventually("the answer", async () => (await secret.text()).text.includes("secret:*******"));
	expect(await page.locator("main").textContent()).not.toContain("hunter2");

	await one("failed").getByText("Failed (exit 3)").waitFor();
	await one("failed").getByRole("button", { name: "Dismiss" }).click();
	await expect.poll(() => needing.count()).toBe(0);
	await page.reload();
	await page
		.getByRole("grid", { name: "Ended" })
		.getByRole("row", { name: /^failed, exit 3/ })
		.waitFor();
	expect(await needing.count()).toBe(0);
	expect(problems).toEqual([]);
});

it("the list does not send an answer to a question that is no longer open", async () => {
	const server = await start();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const session = await sessions.create({
		command: "printf 'Delete it? [y/N] '; read a; printf '\\nDelete everything? [y/N] '; read b; echo $a,$b; exec cat",
		durable: false,
		name: "careful",
	});
	const { page } = await openSignedIn(server);
	const button = page.getByRole("button", { name: "Answer y" });
	await button.waitFor();
	// The page learns of the next event only when the test delivers it.
	await page.route("**/v1/sessions/*/input*", async (route) => {
		await session.write("n\r");
		await session.wait({ match: /everything\?/ });
		await route.continue();
	});
	await button.click();
	await page.getByText(words.answer.late).waitFor();
	expect((await session.text()).text).not.toContain(",y");
});

it("the list works by keyboard: move, filter, rename, kill after confirmation, open", async () => {
	const server = await start();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const make = (name: string, argv = ["cat"]) => sessions.create({ name, argv, durable: false });
	const first = await make("first", ["sh", "-c", "cat | cat; :"]);
	await eventually("the started session", async () => (await first.inspect()).processes === 3);
	await make("second");
	await make("third");
	const { page, problems } = await openSignedIn(server);
	await page.getByRole("row", { name: /^first, / }).waitFor();
	const focused = () => page.locator(":focus").getAttribute("aria-label");

	await page.keyboard.press("ArrowDown");
	expect(await focused()).toMatch(/^third, /);
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	expect(await focused()).toMatch(/^first, /);

	await page.keyboard.press("r");
	await page.getByRole("dialog", { name: "Rename first" }).getByLabel("Name").fill("renamed");
	await page.keyboard.press("Enter");
	await page.getByRole("row", { name: /^renamed, / }).waitFor();
	// Other connections report the new name too, perhaps before the answer arrives.
	await page.getByRole("dialog").waitFor({ state: "detached" });
	expect((await first.info()).name).toBe("renamed");

	await page.keyboard.press("Delete");
	const kill = page.getByRole("dialog", { name: words.kill.title("renamed") });
	await kill.waitFor();
	await page.keyboard.press("Enter");
	await kill.waitFor({ state: "detached" });
	expect((await first.info()).state).toBe("running");
	await page.keyboard.press("Delete");
	await kill.getByText(/This kills sh and the 2 processes it started\./).waitFor();
	await kill.getByRole("button", { name: "Kill it" }).click();
	await page
		.getByRole("grid", { name: "Ended" })
		.getByRole("row", { name: /^renamed, killed/ })
		.waitFor();

	await page.keyboard.press("/");
	await page.keyboard.type("sec");
	await page.getByRole("row", { name: /^third, / }).waitFor({ state: "detached" });
	expect(page.url()).toBe(`${server.url}/?q=sec`);
	await page.keyboard.type("ond thing");
	await page.getByText(words.noMatch("second thing")).waitFor();
	await page.getByRole("link", { name: "Clear" }).click();
	await page.getByRole("row", { name: /^third, / }).waitFor();

	await page.keyboard.press("?");
	await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
	await page.keyboard.press("Escape");
	// One dialog replaces another and focuses its own first field.
	await page.keyboard.press("Control+k");
	await page.getByRole("option", { name: "Start a session…" }).click();
	const dialog = page.getByRole("dialog", { name: "Start a session" });
	await dialog.waitFor();
	const isFocused = () => dialog.getByLabel("Command").evaluate((field) => field.matches(":focus"));
	await eventually("the focus", isFocused);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Control+k");
	await page.getByRole("combobox", { name: "Go to a session or command" }).fill("thi");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/s\/\w+$/);
	expect(problems).toEqual([]);
});

it("a rename that arrives before an older answer about the session is not lost", async () => {
	const server = await start();
	const client = connect({ url: server.url, token: server.adminToken });
	const { page } = await openSignedIn(server);
	await page.getByRole("heading", { name: words.empty.title }).waitFor();
	let release = () => {};
	const released = new Promise<void>((resolve) => {
		release = resolve;
	});
	const isAnswered = new Promise<void>((resolve) => {
		// Answered by the server at once and delivered late.
		void page.route(/\/v1\/sessions\/\w+\?overview=1/, async (route) => {
			const response = await route.fetch();
			resolve();
			await released;
			await route.fulfill({ response });
		});
	});
	const feed = client.events({ overview: true });
	onTestFinished(async () => void (await feed.return()));
	await feed.next();
	const session = await client.sessions.create({ argv: ["cat"], name: "former", durable: false });
	await isAnswered;
	await session.rename("present");
	for await (const item of feed) if (item.kind === "event" && item.event.session.name === "present") break;
	release();
	await page.getByRole("row", { name: /^present, / }).waitFor();
	// Another one may be pending, which would fail with the page.
	await page.unrouteAll({ behavior: "wait" });
});

it("the list stays readable while the server is down, shows that, and reconnects by itself", async () => {
	const server = await serve();
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const kept = await sessions.create({ argv: ["cat"], name: "kept" });
	onTestFinished(() => kept.remove());
	const { page, problems } = await openSignedIn(server);
	await page.getByRole("row", { name: /^kept, / }).waitFor();
	// The browser fetches it at any time, and reports an error while no server runs.
	await page.evaluate("navigator.serviceWorker.ready.then(() => {})");
	await server.process.kill();
	await page.getByText(/^Reconnecting… \d+ s$/).waitFor();
	await page.getByRole("row", { name: /^kept, / }).waitFor();
	// Another version, from the page's point of view.
	await page.route("**/v1/me", async (route) => {
		const response = await route.fetch();
		const me = (await response.json()) as { server: object };
		await route.fulfill({ response, json: { ...me, server: { ...me.server, version: "99.0.0" } } });
	});
	await server.process.start();
	await page.getByText(words.connected).waitFor();
	await page.getByText(words.updated).waitFor();
	await kept.rename("still there");
	await page.getByRole("row", { name: /^still there, / }).waitFor();
	expect(problems).toEqual([]);
});

it("a list of 250 sessions keeps only visible rows in the page", async () => {
	const server = await start({ createRate: "0" });
	const { sessions } = connect({ url: server.url, token: server.adminToken });
	const cast = '{"version": 2, "width": 80, "height": 24}\n[0.1, "o", "hello"]\n';
	const imported = (index: number) => sessions.importRecording(cast, { name: `number-${index}` });
	for (let from = 0; from < 250; from += 25)
		await Promise.all(Array.from({ length: 25 }, (_, index) => imported(from + index)));
	const { page, problems } = await openSignedIn(server);
	const ended = page.getByRole("grid", { name: "Ended" });
	await ended.waitFor();
	expect(await ended.getAttribute("aria-rowcount")).toBe("251");
	await expect.poll(() => ended.locator("[data-row]").count()).toBeLessThan(120);
	const names = new Set<string>();
	const scroller = page.locator(".scroll");
	for (let first = 1; first <= 250; first += 15) {
		await scroller.evaluate((element, to) => element.scrollTo(0, to), (first - 1) * 34);
		// Rows render some time after scrolling. The header row has the first index.
		const ends = [first + 1, Math.min(first + 15, 251)].map((index) => `[aria-rowindex="${index}"]`);
		await expect.poll(() => ended.locator(ends.join()).count()).toBe(2);
		for (const text of await ended.locator("[data-row] .name").allTextContents()) names.add(text.trim());
	}
	expect(names.size).toBe(250);
	expect(problems).toEqual([]);
});

it("the list works below the path prefix of a proxy", async () => {
	const server = await start();
	const url = await prefixProxy(server.url);
	const { page, problems } = await openPage(`${url}/settings`);
	await pasteToken(page, server.adminToken);
	await page.getByRole("heading", { name: "Settings" }).waitFor();
	await page.getByRole("link", { name: "All sessions" }).click();
	await page.getByRole("heading", { name: words.empty.title }).waitFor();
	expect(page.url()).toBe(`${url}/`);
	expect(problems).toEqual([]);
});
