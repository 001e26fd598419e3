/** Output that attacks the page that displays it. */

import { expect, it } from "vitest";
import { openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { create, journalOf } from "../../support/web-sessions.ts";

declare const document: {
	readonly title: string;
	readonly querySelectorAll: (selector: string) => { readonly length: number };
};
declare const navigator: {
	readonly clipboard: { readText(): Promise<string>; writeText(text: string): Promise<void> };
};

const MARKUP = "<img src=x onerror=globalThis.pwned=1><script>globalThis.pwned=1</script>";

/** Each asks a terminal for something that a page must not provide. */
const CORPUS: readonly string[] = [
	// Titles and icons, set, pushed and popped.
	`\u001b]0;${MARKUP}\u0007`,
	`\u001b]2;${MARKUP}\u001b\\`,
	"\u001b[22;0t\u001b[21t\u001b[23;0t",
	// Queries: their replies would be typed.
	"\u001b[c\u001b[>c\u001b[=c\u001b[5n\u001b[6n\u001b[?6n\u001b[>q\u001bZ\u0005",
	"\u001b[?2004$p\u001b[4$p\u001bP$qm\u001b\\\u001bP+q544e\u001b\\",
	"\u001b]4;1;?\u0007\u001b]10;?\u0007\u001b]11;?\u0007\u001b]12;?\u0007\u001b[18t\u001b[14t\u001b[?u",
	// Focus reports, which a page would send when the user focuses it.
	"\u001b[?1004h",
	// Reading and writing the clipboard.
	"\u001b]52;c;?\u0007",
	`\u001b]52;c;${Buffer.from("from the program").toString("base64")}\u0007`,
	// Moving, resizing and minimizing windows, and 132 columns.
	"\u001b[2t\u001b[3;0;0t\u001b[8;1;1t\u001b[?40h\u001b[?3h",
	// Links to other schemes.
	"\r\n\u001b]8;;javascript:globalThis.pwned=1\u001b\\a script\u001b]8;;\u001b\\ ",
	"\u001b]8;;file:///etc/passwd\u001b\\a file\u001b]8;;\u001b\\\r\n",
	// Endless sequences and excessive numbers.
	"\u001b]1337;File=inline=1:AAAA\u0007\u001b[99999999999C\u001b[38;2;999;999;999m",
	`\u001b[0m\r\n${MARKUP}\r\n`,
];

it("a corpus of hostile sequences types nothing, runs nothing and copies nothing", async () => {
	const server = await start();
	const bytes = Buffer.from(CORPUS.join("")).toString("base64");
	// Its terminal echoes input, so the session replies to nothing itself, and a reply of the page would be visible.
	const session = await create(server, {
		command: `read -r go; echo ${bytes} | base64 -d; echo the end; exec cat`,
		name: MARKUP.slice(0, 64),
		cols: 80,
		rows: 24,
	});
	const { page, context, problems } = await openSession(server, session.id);
	const pages: unknown[] = [];
	context.on("page", (opened) => pages.push(opened));
	await page.getByText("You can type").waitFor();
	await page.evaluate(() => navigator.clipboard.writeText("mine"));
	await page.locator(".xterm-screen").click();
	await session.write("\n");
	await untilShown(page, "the end");
	await untilShown(page, MARKUP.slice(0, 40));
	await page.getByText("wants to write 16 characters to your clipboard.").waitFor();
	for (const text of [/a.script/, /a.file/]) {
		await page.locator(".xterm-rows").getByText(text).click({ force: true });
	}
	// Output that follows all of it.
	await session.write("typed by the test");
	await untilShown(page, "typed by the test");
	expect((await journalOf(session)).split("the end\r\n")[1]).toBe("typed by the test");
	expect(pages).toEqual([]);
	const seen = await page.evaluate(async () => ({
		isPwned: "pwned" in globalThis,
		images: document.querySelectorAll("img, script:not([src])").length,
		copied: await navigator.clipboard.readText(),
		title: document.title,
	}));
	expect(seen).toMatchObject({ isPwned: false, images: 0, copied: "mine" });
	expect(seen.title).not.toContain("<");
	expect(problems).toEqual([]);
	// Only after the user allows it.
	await page.getByRole("button", { name: "Allow for this session" }).click();
	await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("from the program");
});

it("viewing a program that enabled focus reports sends it none", async () => {
	const server = await start();
	const session = await create(server, {
		command: "stty raw -echo; printf '\\033[?1004h\\033[?1003h\\033[?1006hready'; exec cat -v",
	});
	await session.wait({ match: /ready/ });
	const { page } = await openSession(server, session.id);
	await untilShown(page, "ready");
	await page.mouse.move(600, 300);
	await page.mouse.move(700, 400);
	await page.getByRole("button", { name: "More" }).focus();
	await session.write("end");
	await untilShown(page, "readyend");
	// After the first key it gets reports.
	await page.locator(".xterm-screen").click();
	await untilShown(page, /\^\[\[<0;\d+;\d+M/);
});
