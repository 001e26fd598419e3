/** axe-core on a terminal, a playback and a grid in both themes. The test of the list covers the rest of the page. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openSession, untilShown } from "../../support/browser.ts";
import { start } from "../../support/server.ts";
import { create } from "../../support/web-sessions.ts";

declare const axe: {
	run(
		context: object,
		options: object,
	): Promise<{ violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] }>;
};

/** Evaluated by the debugger, which the page's policy does not bind. */
async function violations(page: Page): Promise<string[]> {
	const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
	await page.evaluate(source);
	const found = await page.evaluate(() =>
		axe.run({ exclude: [[".rail"], [".tabs"]] }, { resultTypes: ["violations"] }),
	);
	return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}

it("a terminal with its panels, and a playback, have no violations in light and dark", async () => {
	const server = await start();
	const session = await create(server, { command: "printf '\\033[31mred\\033[0m ready\\n'; cat", name: "clean" });
	await session.wait({ match: /ready/ });
	const { page } = await openSession(server, session.id);
	for (const colorScheme of ["dark", "light"] as const) {
		await page.emulateMedia({ colorScheme });
		await page.goto(`${server.url}/s/${session.id}`);
		await untilShown(page, "ready");
		expect(await violations(page)).toEqual([]);
		for (const name of ["Search", "Share", "More"]) {
			await page.getByRole("button", { name, exact: true }).click();
			await page.locator(".pop").waitFor();
			expect([name, ...(await violations(page))]).toEqual([name]);
			await page.getByRole("button", { name, exact: true }).click();
		}
		await page.goto(`${server.url}/s/${session.id}/play`);
		await untilShown(page, "ready");
		expect(await violations(page)).toEqual([]);
		await page.goto(`${server.url}/grid`);
		await page.getByRole("img", { name: "Screen" }).waitFor();
		expect(await violations(page)).toEqual([]);
	}
});
