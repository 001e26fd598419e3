/** What a browser makes of the page besides showing it: an app that can be installed, and notifications of it. */

import { expect, it } from "vitest";
import { eventually } from "../helpers/reading.ts";
import { start } from "../server/start.ts";
import { openSignedIn } from "./page.ts";
import { clientOf, create } from "./sessions.ts";

declare const navigator: {
	readonly serviceWorker: {
		readonly ready: Promise<{ getNotifications(): Promise<readonly { title: string; body: string; tag: string }[]> }>;
	};
};

it("can be installed, and tells who asked for it that a session waits or has ended, but no secret's question", async () => {
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
	await page.getByLabel("Say when a session waits for somebody, or ends").check();
	await page.getByLabel("Say what it asks, too, which others may see on a locked screen").check();
	const shown = () =>
		page.evaluate(async () => {
			const all = await (await navigator.serviceWorker.ready).getNotifications();
			return all.map(({ title, body, tag }) => ({ title, body, tag }));
		});
	// Nobody who looks at the page is told.
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
	expect(told).toContainEqual({ title: "secret", body: "wants a secret", tag: secret.id });
	await clientOf(server).sessions.at(asks.id).write("n\n");
	await eventually("its end in the place of its question", async () => {
		const all = await shown();
		return all.some(({ tag, body }) => tag === asks.id && body.startsWith("Ended with exit code 3"));
	});
	expect((await shown()).map(({ tag }) => tag)).not.toContain(seen.id);
	expect(problems).toEqual([]);
});
