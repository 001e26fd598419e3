/** The installed page: a web app with notifications. */

import { expect, it } from "vitest";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { openSignedIn } from "../../support/web-page.ts";
import { clientOf, create } from "../../support/web-sessions.ts";

declare const navigator: {
	readonly serviceWorker: {
		readonly ready: Promise<{ getNotifications(): Promise<readonly { title: string; body: string; tag: string }[]> }>;
	};
};

it("the page can be installed, and notifies subscribers when a session waits or ends, without the text of secret prompts", async () => {
	const server = await start();
	const { page, context, problems } = await openSignedIn(server, "/settings", { isLasting: true });
	const debugging = await context.newCDPSession(page);
	expect(await debugging.send("Page.getAppManifest")).toMatchObject({ errors: [] });
	const { installabilityErrors } = await debugging.send("Page.getInstallabilityErrors");
	expect(installabilityErrors).toEqual([]);

	// A shortcut of the installed page.
	await page.goto(`${server.url}/?start`);
	await page.getByRole("dialog", { name: "Start a session" }).waitFor();
	expect(page.url()).toBe(`${server.url}/`);
	await page.keyboard.press("Escape");
	await page.getByRole("link", { name: "Settings" }).click();

	await context.grantPermissions(["notifications"], { origin: server.url });
	await page.getByLabel("Notify when a session needs input or ends").check();
	await page.getByLabel("Include the question (may show on the lock screen)").check();
	const shown = () =>
		page.evaluate(async () => {
			const all = await (await navigator.serviceWorker.ready).getNotifications();
			return all.map(({ title, body, tag }) => ({ title, body, tag }));
		});
	// A user who has the page open gets no notification.
	const seen = await create(server, { command: "printf 'Seen? [y/N] '; read x", name: "seen" });
	await page.getByRole("link", { name: "Needs you" }).getByText("1", { exact: true }).waitFor();
	await page.evaluate(
		"Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })",
	);
	const asks = await create(server, { command: "printf 'Push 3 commits? [y/N] '; read x; exit 3", name: "asks" });
	const secret = await create(server, { command: "printf 'Password: '; stty -echo; read x", name: "secret" });
	const told = await eventually("two notifications", async () => {
		const all = await shown();
		return all.length === 2 && all;
	});
	expect(told).toContainEqual({ title: "asks", body: "Push 3 commits? [y/N]", tag: asks.id });
	expect(told).toContainEqual({ title: "secret", body: "needs a secret", tag: secret.id });
	await clientOf(server).sessions.at(asks.id).write("n\n");
	await eventually("its end in the place of its question", async () => {
		const all = await shown();
		return all.some(({ tag, body }) => tag === asks.id && body.startsWith("Ended with exit code 3"));
	});
	expect((await shown()).map(({ tag }) => tag)).not.toContain(seen.id);
	expect(problems).toEqual([]);
});
