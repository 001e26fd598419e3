/** Actions that wait for approval, in a real browser: shown and decided there. */

import { expect, it, onTestFinished } from "vitest";
import { connect, hasOutputSince } from "../../../src/client/index.ts";
import { ApprovalDecisions } from "../../../web/state/approvals.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { expectAccessible, openSignedIn } from "../../support/web-page.ts";

/** Wider than a phone. */
const NAME = `agent-${"0123456789".repeat(5)}`;

it("a held action marks its session, is approved or denied in the list or on its page, and disappears", async () => {
	const server = await start();
	const person = connect({ url: server.url, token: server.adminToken });
	const scopes = ["workspace:default:manage"];
	const { token } = await person.tokens.create({ scopes, name: NAME, gate: { match: ["rm -rf"] } });
	const session = await person.sessions.create({ argv: ["cat"], name: "work", durable: false });
	onTestFinished(() => session.remove());
	await eventually("cat", async () => (await session.inspect()).state === "waiting");
	const agent = connect({ url: server.url, token });
	const mine = agent.sessions.at(session.id);
	const { page, problems } = await openSignedIn(server);
	await page.getByRole("row", { name: /^work, / }).waitFor();

	const denied = mine.write("rm -rf <b>it</b>\r");
	denied.catch(() => {});
	const held = page.getByRole("listitem", { name: /^work, needs approval: agent.* wants to type: rm -rf <b>it/ });
	await held.getByText("rm -rf <b>it</b>", { exact: true }).waitFor();
	expect(await page.title()).toBe("(1) Hawser");
	await expectAccessible(page, "a held act");
	await held.getByRole("button", { name: "Deny" }).click();
	await expect(denied).rejects.toMatchObject({ code: "not_approved" });
	await page.getByRole("row", { name: /^work, / }).waitFor();

	// For a session that does not exist yet.
	const starting = agent.sessions.create({ argv: ["echo", "rm -rf one"], name: "new", durable: false });
	const coming = page.getByRole("listitem", {
		name: /^new, needs approval: agent.* wants to start a program: echo .*rm -rf one/,
	});
	await coming.getByRole("button", { name: "Approve" }).click();
	const started = await starting;
	onTestFinished(() => started.remove());

	await page.getByRole("link", { name: "work", exact: true }).click();
	const granted = mine.write("rm -rf that\r");
	const asked = page.getByRole("group", { name: /agent.* wants to type$/ });
	// Complete on a phone as well, with nothing on top of it.
	await page.setViewportSize({ width: 390, height: 844 });
	await asked.getByText("rm -rf that", { exact: true }).waitFor();
	const title = await asked.locator("b").boundingBox();
	const button = await asked.getByRole("button", { name: "Approve" }).boundingBox();
	expect((title?.y ?? 0) + (title?.height ?? 0)).toBeLessThanOrEqual(button?.y ?? 0);
	await asked.getByRole("button", { name: "Approve" }).click();
	await granted;
	await asked.waitFor({ state: "detached" });
	await eventually("the line", async () => (await session.text()).text.includes("rm -rf that\nrm -rf that"));
	expect(problems).toEqual([]);
});

it("a click never hits a row that just moved under the pointer: rows keep their order while the pointer is on them", async () => {
	const server = await start();
	const person = connect({ url: server.url, token: server.adminToken });
	const scopes = ["workspace:default:manage"];
	const { token } = await person.tokens.create({ scopes, name: "agent", gate: { match: ["rm -rf"] } });
	const broken = await person.sessions.create({ argv: ["sh", "-c", "exit 3"], name: "broken", durable: false });
	const work = await person.sessions.create({ argv: ["cat"], name: "work", durable: false });
	onTestFinished(async () => void (await Promise.all([broken.remove(), work.remove()])));
	await eventually("cat", async () => (await work.inspect()).state === "waiting");
	await eventually("the end of the other", async () => (await broken.info()).state === "closed");
	const { page } = await openSignedIn(server);
	const again = page.getByRole("button", { name: "Run again" });
	await again.hover();
	const box = await again.boundingBox();
	if (!box) throw new Error("the row has no position");
	const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
	// The element under the pointer after each change.
	await page.evaluate(`{
		globalThis.found = [];
		const list = document.querySelector(".scroll");
		const look = () => {
			if (!list.classList.contains("changing")) return;
			const names = [...document.querySelectorAll(".need .name")].map(({ textContent }) => textContent);
			const under = document.elementFromPoint(${x}, ${y});
			found.push(names.join(" ") + ": " + (under.closest("a, button")?.textContent.trim() ?? "nothing"));
		};
		new MutationObserver(look).observe(list, { attributes: true, childList: true, subtree: true });
	}`);
	const agent = connect({ url: server.url, token });
	const held = agent.sessions.at(work.id).write("rm -rf it\r");
	held.catch(() => {});
	// For as long as the page may take: rows keep their order for a while after the pointer has moved.
	let moves = 0;
	await eventually("the row below the others", async () => {
		await page.mouse.move(x + (moves++ % 2), y);
		return (await page.evaluate<string[]>("found")).includes("broken work: nothing");
	});
	const first = page.getByRole("listitem").first();
	await first.getByText("rm -rf it", { exact: true }).waitFor();
	const found: string[] = await page.evaluate("found");
	expect([...new Set(found)]).toEqual(["broken work: nothing", "work broken: nothing"]);
	await first.getByRole("button", { name: "Deny" }).click();
	await expect(held).rejects.toMatchObject({ code: "not_approved" });
});

it("an approval is repeated if the session has written output since, and the page explains that", async () => {
	const server = await start();
	const person = connect({ url: server.url, token: server.adminToken });
	const scopes = ["workspace:default:manage"];
	const { token } = await person.tokens.create({ scopes, name: "agent", gate: { match: ["rm -rf"] } });
	const session = await person.sessions.create({ argv: ["cat"], durable: false });
	onTestFinished(() => session.remove());
	const mine = connect({ url: server.url, token }).sessions.at(session.id);
	const decisions = new ApprovalDecisions(person, () => {});
	const heldAndOvertaken = async (line: string) => {
		await eventually("cat", async () => (await session.inspect()).state === "waiting");
		const typed = mine.write(line);
		typed.catch(() => {});
		const held = await eventually("the held action", async () => (await person.approvals.list())[0]);
		await session.write("meanwhile\n");
		const changed = await eventually("the output", async () => {
			const info = await session.info({ overview: true });
			return hasOutputSince(held, info) && info;
		});
		expect(changed.offsets?.end).toBeGreaterThan(held.offset ?? 0);
		return { typed, held };
	};

	const known = await heldAndOvertaken("rm -rf this\r");
	await decisions.decide(known.held, "grant", true);
	expect(decisions.needsReconfirm(known.held)).toBe(true);
	expect(await person.approvals.list()).toHaveLength(1);
	await decisions.decide(known.held, "grant", true);
	await known.typed;

	const unknown = await heldAndOvertaken("rm -rf that\r");
	await decisions.decide(unknown.held, "grant", false);
	await expect(unknown.typed).rejects.toMatchObject({ code: "not_approved" });
	expect(decisions.failure.value).toBe(
		"there was more output since it was asked for; the requester is notified and can ask again",
	);
});
