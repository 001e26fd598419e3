/** Dialogs of coding agents in a real browser: shown and answered in the list, on tiles and on a session's page. */

import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { type Client, connect, type LoadedSession } from "../../../src/client/index.ts";
import { words } from "../../../web/views/text.ts";
import { agentProgram, recordedAgent } from "../../support/agents.ts";
import { openBrowser, openSession, signIn } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { expectAccessible, openSignedIn } from "../../support/web-page.ts";

/** The parts of a page's API that code inside it uses. */
type Box = { getBoundingClientRect(): { readonly left: number } };
declare const document: { createRange(): Box & { selectNodeContents(node: unknown): void } };

type Server = Awaited<ReturnType<typeof start>>;

const QUESTION = "Would you like to run the following command?";
const YES = /Yes, proceed \(y\)$/;

async function startAgent(server: Server, argv: string[], name = "fix"): Promise<LoadedSession> {
	const client = connect({ url: server.url, token: server.adminToken });
	const session = await client.sessions.create({ argv, name, cols: 120, rows: 40, durable: false });
	onTestFinished(() => session.remove());
	return session;
}

/** Codex at its permission dialog, which was recorded, and then in the states after each answer. */
async function startCodex(server: Server, ...then: readonly string[]) {
	const { argv, typed } = await recordedAgent("codex-0.166.0", ["permission-shell", ...then]);
	return { session: await startAgent(server, argv), typed };
}

/** Browsers log refused requests by themselves. */
const isUnexpected = (problem: string) => !/status of 409/.test(problem);

const stateOf = async (session: LoadedSession) => (await session.inspect()).agent?.state;

const untilState = (session: LoadedSession, wanted: string) =>
	eventually(`an agent that is ${wanted}`, async () => (await stateOf(session)) === wanted);

async function viewerOf(client: Client): Promise<string> {
	return (await client.tokens.create({ scopes: ["workspace:default:read"], name: "viewer" })).token;
}

it("the list shows what an agent asks and answers it with one click, and the question is gone at once", async () => {
	const server = await start();
	const { session, typed } = await startCodex(server, "done");
	const { page, problems } = await openSignedIn(server);
	const row = page.getByRole("listitem").filter({ hasText: "fix" }).first();
	await row.getByText(QUESTION).waitFor();
	expect(await row.textContent()).toContain("$ touch made-by-agent.txt");
	expect(await row.textContent()).toMatch(/Asks permission · codex/);
	expect(await row.getByRole("button").count()).toBe(3);
	await page.emulateMedia({ reducedMotion: "reduce" });
	await expectAccessible(page, "a dialog in the list");
	await page.emulateMedia({ reducedMotion: "reduce", colorScheme: "light" });
	await expectAccessible(page, "a dialog in the list, light", { onlyColours: true });

	await row.getByRole("button", { name: YES }).click();
	await row.getByText(/^Sent "Yes, proceed \(y\)"/).waitFor();
	expect(await row.getByRole("button").count()).toBe(0);
	await expect.poll(() => page.title()).toBe("Hawser");
	expect(await typed()).toBe("1");
	expect(await stateOf(session)).toBe("done");
	// No user has opened it.
	await page.getByRole("row", { name: /^fix, done/ }).waitFor();
	expect(problems).toEqual([]);
});

it("of two browsers that answer at once one is accepted, and the other one sees that it came too late", async () => {
	const server = await start();
	const { typed } = await startCodex(server, "done", "working");
	const opened = await Promise.all([openSignedIn(server), openSignedIn(server)]);
	const pages = opened.map(({ page }) => page);
	const buttons = pages.map((page) => page.getByRole("button", { name: YES }));
	await Promise.all(buttons.map((button) => button.waitFor()));
	// Playwright waits until buttons stand still, so that the clicks would not be at once.
	await Promise.all(buttons.map((button) => button.evaluate((one) => (one as unknown as { click(): void }).click())));
	const outcomes = await Promise.all(
		pages.map(async (page) => {
			const status = page.locator(".need .outcome").filter({ hasNotText: words.answer.sending });
			return ((await status.first().textContent()) ?? "").replace(/ at .*/, "");
		}),
	);
	expect(outcomes.toSorted()).toEqual([words.answer.late, 'Sent "Yes, proceed (y)"'].toSorted());
	expect(await typed()).toBe("1");
	expect(opened.flatMap(({ problems }) => problems).filter(isUnexpected)).toEqual([]);
});

it("a viewer sees the dialog of an agent and can't answer it", async () => {
	const server = await start();
	const { session, typed } = await startCodex(server, "done");
	const token = await viewerOf(connect({ url: server.url, token: server.adminToken }));
	const opened = await openBrowser();
	await signIn(opened, server.url, token);
	const { page, problems } = opened;
	await page.goto(server.url);
	const row = page.getByRole("listitem").filter({ hasText: QUESTION });
	await row.getByText("Yes, proceed (y)").click();
	expect(await row.getByRole("button").count()).toBe(0);
	await page.goto(`${server.url}/s/${session.id}`);
	const dialog = page.getByRole("group", { name: "codex asks permission" });
	await dialog.getByText("Yes, proceed (y)").click();
	expect(await dialog.getByRole("button").count()).toBe(0);
	expect(await page.getByLabel(words.prompt.label("codex")).count()).toBe(0);
	await page.goto(`${server.url}/grid`);
	await page.locator(".tile .offered").getByText("Yes, proceed (y)").click();
	expect(await typed()).toBe("");
	expect(await stateOf(session)).toBe("blocked");
	expect(problems).toEqual([]);
});

it("beside a session's page an agent's question is shown from its beginning", async () => {
	const server = await start();
	const { session } = await startCodex(server, "done");
	const { page, problems } = await openSession(server, session.id);
	const question = page.getByRole("navigation", { name: "Views" }).getByText(QUESTION);
	await question.waitFor();
	const { left, textLeft, isCut } = await question.evaluate((node) => {
		const shown = node as unknown as Box & { readonly scrollWidth: number; readonly clientWidth: number };
		const text = document.createRange();
		text.selectNodeContents(shown);
		return {
			left: shown.getBoundingClientRect().left,
			textLeft: text.getBoundingClientRect().left,
			isCut: shown.scrollWidth > shown.clientWidth,
		};
	});
	expect({ textLeft, isCut }).toEqual({ textLeft: left, isCut: true });
	expect(problems).toEqual([]);
});

it("a phone has the dialog as buttons above the keyboard, and they go when another client answers", async () => {
	const server = await start();
	const { session, typed } = await startCodex(server, "done");
	const { page, problems } = await openSession(server, session.id, {
		viewport: { width: 390, height: 844 },
		isTouched: true,
	});
	const dialog = page.getByRole("group", { name: "codex asks permission" });
	await dialog.getByRole("button", { name: YES }).waitFor();
	expect(await dialog.textContent()).toContain("$ touch made-by-agent.txt");
	const [above, keys] = await Promise.all([
		dialog.boundingBox(),
		page.getByRole("toolbar", { name: "Keys" }).boundingBox(),
	]);
	expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual(keys?.y ?? 0);
	const heights = await dialog
		.getByRole("button")
		.evaluateAll((all) => all.map((one) => (one as unknown as { offsetHeight: number }).offsetHeight));
	expect(Math.min(...heights)).toBeGreaterThanOrEqual(44);
	await page.emulateMedia({ reducedMotion: "reduce" });
	await expectAccessible(page, "a dialog on a phone", { within: ".banner.dialog" });
	// Its own terminal, and not the page.
	await session.write("1");
	await dialog.waitFor({ state: "detached" });
	expect(await typed()).toBe("1");
	// A person who has the session open has seen the end of the turn.
	await untilState(session, "idle");
	expect(problems).toEqual([]);
});

it("a session's page does not resize a program for the time of a dialog", async () => {
	const server = await start();
	const { session } = await startCodex(server, "done");
	const { page } = await openSession(server, session.id);
	const dialog = page.getByRole("group", { name: "codex asks permission" });
	await dialog.waitFor();
	await page.getByRole("button", { name: "Use my size" }).click();
	const size = await eventually("the page's size", async () => {
		const { size: now } = await session.info();
		return now.cols !== 120 && now;
	});
	await dialog.getByRole("button", { name: YES }).click();
	await dialog.waitFor({ state: "detached" });
	await page.getByText(/^Sent/).waitFor({ state: "detached" });
	expect((await session.info()).size.cols).toBe(size.cols);
});

it("a tile answers the dialog of its agent", async () => {
	const server = await start();
	const { session, typed } = await startCodex(server, "done");
	const { page, problems } = await openSignedIn(server, "/grid");
	const tile = page.getByRole("region", { name: /^fix, / });
	await tile.getByRole("button", { name: YES }).click();
	await tile.getByText(/^Sent/).waitFor();
	expect(await typed()).toBe("1");
	// Looking at a tile does not open the session.
	expect(await stateOf(session)).toBe("done");
	expect(await page.getByText("typing here").count()).toBe(0);
	await page.emulateMedia({ reducedMotion: "reduce" });
	await expectAccessible(page, "tiles");
	expect(problems).toEqual([]);
});

it("other agents' dialogs have their own buttons and take their own keys", async () => {
	const server = await start();
	const gemini = await recordedAgent("gemini-0.61.0", ["question", "answered"]);
	const opencode = await recordedAgent("opencode-1.18.33", ["permission-edit"]);
	await startAgent(server, gemini.argv, "schema");
	await startAgent(server, opencode.argv, "polish");
	const { page, problems } = await openSignedIn(server);
	const schema = page.getByRole("listitem").filter({ hasText: "schema" }).first();
	await schema.getByText("Which database should I use?").waitFor();
	await schema.getByPlaceholder("Enter a custom value").waitFor();
	await schema.getByRole("button", { name: /Postgres$/ }).click();
	await schema.getByText(/^Sent "Postgres"/).waitFor();
	expect(await gemini.typed()).toBe("2");
	const polish = page.getByRole("listitem").filter({ hasText: "polish" }).first();
	await polish.getByRole("button", { name: /Reject$/ }).waitFor();
	// The file is a part of the question.
	expect(await polish.textContent()).toContain("Edit edited.txt");
	expect(await opencode.typed()).toBe("");
	expect(problems).toEqual([]);
});

const typePrompt = async (page: Page, text: string) => {
	const field = page.getByLabel(words.prompt.label("claude-code"));
	await field.fill(text);
	await field.press("Enter");
};

it("a session's page submits prompts, queues them until the agent is idle, and answers in words", async () => {
	const server = await start();
	const session = await startAgent(server, [await agentProgram("claude")]);
	await untilState(session, "idle");
	const screen = async () => (await session.screen()).lines?.join("\n") ?? "";
	const { page, problems } = await openSession(server, session.id);
	await typePrompt(page, "question");
	const dialog = page.getByRole("group", { name: "claude-code asks" });
	await dialog.getByRole("button", { name: /Postgres$/ }).waitFor();

	// Not one byte is typed into a dialog.
	const queueing = page.getByLabel(words.prompt.whenIdle);
	await queueing.uncheck();
	await typePrompt(page, "1");
	await page.getByText(/^Not sent: the agent waits for an answer to the dialog/).waitFor();
	expect(await page.getByLabel(words.prompt.label("claude-code")).inputValue()).toBe("1");
	expect(await stateOf(session)).toBe("blocked");

	await queueing.check();
	const queue = page.getByRole("list", { name: words.prompt.queued });
	await typePrompt(page, "kept words");
	await queue.getByText("kept words").waitFor();
	await typePrompt(page, "cancelled words");
	await expect.poll(() => queue.getByRole("listitem").count()).toBe(2);
	await page.emulateMedia({ reducedMotion: "reduce" });
	await expectAccessible(page, "a dialog", { within: ".banner.dialog" });
	await expectAccessible(page, "a queue", { within: ".agent-bar" });
	await page.getByRole("button", { name: `${words.prompt.cancel}: cancelled words` }).click();
	await expect.poll(() => queue.getByRole("listitem").count()).toBe(1);

	await dialog.getByPlaceholder("Type something").fill("use DuckDB");
	await dialog.getByPlaceholder("Type something").press("Enter");
	await dialog.waitFor({ state: "detached" });
	await eventually("the queued prompt", async () => (await screen()).includes("finished kept words"));
	await queue.waitFor({ state: "detached" });
	expect(await screen()).toContain("finished use DuckDB");
	expect(await screen()).not.toContain("cancelled words");
	expect(problems.filter(isUnexpected)).toEqual([]);
}, 60_000);
