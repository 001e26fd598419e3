/** Shell commands in the pages. `HAWSER_PICTURES=FOLDER` stores pictures of them. */

import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { create } from "../../support/web-sessions.ts";

const folder = process.env.HAWSER_PICTURES;

async function picture(page: Page, name: string): Promise<void> {
	if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}

const CHECKS =
	"for i in 1 2 3 4; do printf '\\033[32m✓\\033[0m ledger/entry.test.ts \\033[2m(%d tests)\\033[0m\\n' $i; done";
const VIEWPORT = { width: 1440, height: 900 };

it("commands are marked in the terminal, listed beside the playback, and shown in the grid and on a phone", async () => {
	const server = await start();
	const env = { HOME: await temporaryDirectory() };
	const session = await create(server, { argv: ["bash"], env, name: "api-refactor", cols: 100, rows: 30 });
	await create(server, { command: "printf 'Push 3 commits to origin/billing-split? [y/N] '; read -r x", name: "push" });
	await create(server, { command: `${CHECKS}; cat`, name: "agent-tests" });
	const { page, problems } = await openSession(server, session.id, { viewport: VIEWPORT });
	await page.emulateMedia({ colorScheme: "dark" });
	await page.getByText("You can type").waitFor();
	await page.keyboard.type("ls --color=always /usr\n");
	await untilShown(page, "share");
	await page.keyboard.type(`${CHECKS}\n`);
	await untilShown(page, /\(4 tests\)\n/);
	await page.keyboard.type("false\n");
	await expect.poll(() => page.locator(".command-mark.failed").count()).toBe(1);
	expect(await page.locator(".command-mark.ok").count()).toBe(2);
	await picture(page, "terminal");
	await page.goto(`${server.url}/s/${session.id}/play`);
	const failed = page.getByRole("button", { name: /^false/ });
	await failed.click();
	expect(await failed.textContent()).toContain("exit 1");
	await untilShown(page, /\(4 tests\)/);
	await picture(page, "playback");
	await page.goto(`${server.url}/grid`);
	const tile = page.getByRole("region", { name: /^agent-tests/ });
	await expect
		.poll(async () => {
			await page.getByRole("region", { name: /^push/ }).focus();
			await tile.focus();
			return tile.getByRole("img").getAttribute("aria-label");
		})
		.toBe("✓ ledger/entry.test.ts (4 tests)");
	await picture(page, "grid");
	expect(problems).toEqual([]);
	const phone = await openSession(server, session.id, { viewport: { width: 390, height: 844 }, isTouched: true });
	await phone.page.emulateMedia({ colorScheme: "dark" });
	await untilShown(phone.page, "false");
	await picture(phone.page, "phone-terminal");
});
