/** The ended state and the end of the output arrive together, so that a reader that gets both can stop there. */

import { describe, expect, test } from "vitest";
import { isEnded } from "../../../src/core/log/session-state.ts";
import type { Session, SessionSummary } from "../../../src/core/session/session.ts";
import type { FromKeeper } from "../../../src/keeper/link/messages.ts";
import type { HeldLink } from "../../support/held-link.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { rawShell } from "../../support/starts.ts";

/** Shorter than the keeper needs. */
const PATIENCE_MS = 20;
const OUTPUT = "ready and the tail";

/** A session behind a held link, whose program writes its tail and ends once it reads a line. */
async function begin(): Promise<{ session: Session; link: HeldLink }> {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(rawShell("printf ready; read -r line; printf ' and the tail'"));
	await first.keepers.close();
	const link = await site.heldLink(id);
	const session = only((await site.open()).adopted);
	await outputUntil(session, /ready/);
	expect((await session.info()).offsets.end).toBe("ready".length);
	return { session, link };
}

/** Fails if an ended session has an end before its last byte. */
function checkWhole(info: SessionSummary, at: string): void {
	if (!isEnded(info)) return;
	expect({ at, status: info.status, end: info.offsets?.end }).toEqual({
		at,
		status: "closed",
		end: OUTPUT.length,
	});
}

function stateOf(frame: FromKeeper): string | undefined {
	return "state" in frame ? frame.state.status : undefined;
}

describe("a session whose program ended", () => {
	test.each(["exited", "closed"])(
		"an ended session has its last byte in every answer while the keeper is silent after %s",
		async (last) => {
			const { session, link } = await begin();
			link.holdAfter((frame) => stateOf(frame) === last);
			const written = write(session, "go\n").catch(() => {});
			await eventually(`the news that it is ${last}`, () => link.isHeld);
			for (let asked = 0; asked < 10; asked++) checkWhole(await session.summary(PATIENCE_MS), `answer ${asked}`);
			checkWhole(await session.info(), "an answer that readers go by");
			link.release();
			await written;
			await eventually("the end", () => isEnded(session.state));
			const info = await session.info();
			checkWhole(info, "the end");
			expect(info.status).toBe("closed");
		},
	);

	test("an ended session has its last byte in every answer, whichever frame is the keeper's last", async () => {
		let silences = 0;
		for (let frames = 1; ; frames++) {
			const { session, link } = await begin();
			const from = link.passed.length;
			link.holdAfter(() => link.passed.length - from >= frames);
			const written = write(session, "go\n").catch(() => {});
			for (let asked = 0; asked < 50 && !link.isHeld && !isEnded(session.state); asked++) {
				checkWhole(await session.summary(PATIENCE_MS), `frame ${frames}, before`);
			}
			if (link.isHeld) silences++;
			checkWhole(await session.summary(PATIENCE_MS), `frame ${frames}, held`);
			checkWhole(await session.summary(0), `frame ${frames}, not asked`);
			const told = link.passed.slice(from).map(stateOf);
			link.release();
			await written;
			await eventually("the end", () => isEnded(session.state));
			checkWhole(await session.summary(PATIENCE_MS), `frame ${frames}, after`);
			if (told.includes("closed")) break;
		}
		expect(silences).toBeGreaterThan(2);
	}, 60_000);
});
