/** Playback of a session in a real browser. */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { LoadedSession } from "../../../src/client/index.ts";
import { type RecordedEvent, RecordingParser } from "../../../web/terminal/recording.ts";
import { openSession, shownRows, untilShown } from "../../support/browser.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { create } from "../../support/web-sessions.ts";

/** Writes at three moments, with colors, a full-screen part and its own last screen. */
const SHOW =
	"printf '\\033[32mfirst\\033[0m\\r\\n'; sleep 0.3; printf '\\033[?1049h\\033[2J\\033[5;5Hwhole screen'; sleep 0.3;" +
	" printf '\\033[?1049l'; for i in 1 2 3; do echo line $i; done; printf '\\033[7mlast\\033[0m'";

/** The middle between this text in the recording and what follows, in milliseconds. */
async function middleOf(session: LoadedSession, text: string): Promise<number> {
	const parser = new RecordingParser();
	const events: RecordedEvent[] = [];
	for await (const bytes of session.recording()) events.push(...parser.add(bytes));
	const index = events.findIndex((event) => event.kind === "output" && event.text.includes(text));
	const [begin, end] = events.slice(index);
	if (!begin || !end) throw new Error(`the text is not in ${JSON.stringify(events)}`);
	return (begin.at + end.at) / 2;
}

it("playback reaches the terminal's screen, and shows the screen of a moment in between", async () => {
	const server = await start();
	const session = await create(server, { command: SHOW, cols: 60, rows: 12 });
	await session.wait({ exit: true });
	const opened = await openSession(server, session.id);
	const { page, problems } = opened;
	const terminal = await untilShown(page, "last");
	await page.getByRole("link", { name: "Playback" }).first().click();
	// It plays by itself in place of the terminal.
	await page.getByRole("slider", { name: "Moment" }).waitFor();
	await untilShown(page, "last");
	expect(await shownRows(page)).toEqual(terminal);
	await page.getByRole("button", { name: "Play" }).waitFor();
	// The middle of it, by a link.
	const middle = new Date((await session.info()).createdAt + (await middleOf(session, "whole screen")));
	await page.goto(`${server.url}/s/${session.id}?at=${middle.toISOString()}`);
	await expect.poll(async () => (await shownRows(page))[4]).toContain("whole screen");
	expect(await page.getByRole("slider", { name: "Moment" }).getAttribute("aria-valuetext")).toMatch(/s of \d+ s$/);
	expect(problems).toEqual([]);
});

it("playback works by keyboard, downloads the recording, and leads back to the terminal", async () => {
	const server = await start();
	// More rows than fit beside the controls, but few enough for the smallest letters of a tall font.
	const session = await create(server, { command: "echo one; sleep 0.2; echo two; cat", cols: 80, rows: 40 });
	await session.wait({ match: /two/ });
	const { page } = await openSession(server, session.id, { path: "/play?at=0" });
	await page.getByText(/Still running/).waitFor();
	// It can be played once it is loaded.
	await page.locator("button.big:enabled").waitFor();
	const slider = page.getByRole("slider", { name: "Moment" });
	const bottom = async (selector: string) => {
		const { y, height } = (await page.locator(selector).boundingBox()) ?? { y: Number.NaN, height: 0 };
		return y + height;
	};
	await expect.poll(async () => (await bottom(".xterm-screen")) <= (await bottom(".play .pane"))).toBe(true);
	// Output written meanwhile is at its end, after a silence that counts as well.
	const length = Number(await slider.getAttribute("aria-valuemax"));
	await session.write("three\n");
	await eventually("the output after opening", async () => {
		await page.keyboard.press("9");
		await page.keyboard.press("ArrowRight");
		return (await shownRows(page)).includes("three") && Number(await slider.getAttribute("aria-valuemax")) > length;
	});
	await page.keyboard.press("0");
	await expect.poll(() => shownRows(page)).not.toContain("two");
	await page.keyboard.press("9");
	await untilShown(page, "two");
	await page.keyboard.press("0");
	await expect.poll(() => shownRows(page)).not.toContain("two");
	await page.keyboard.press(">");
	const faster = page.getByRole("button", { name: "2×" });
	await expect.poll(() => faster.getAttribute("aria-pressed")).toBe("true");
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: ".cast" }).click(),
	]);
	const [header, ...lines] = (await readFile(await download.path(), "utf8")).split("\n");
	expect(JSON.parse(header ?? "")).toMatchObject({ version: 2 });
	expect(lines.join("\n")).toContain("two");
	await page.getByRole("slider", { name: "Moment" }).focus();
	await page.keyboard.press("End");
	await page.getByText("You can type").waitFor();
});

it("a view-only guest can play a session back", async () => {
	const server = await start();
	const session = await create(server, { command: "echo shown; cat" });
	await session.wait({ match: /shown/ });
	const token = await server.token(`session:${session.id}:view`);
	const { page } = await openSession(server, session.id, { token, path: "/play" });
	await untilShown(page, "shown");
});
