/** A flood of output that repeats a typed secret, with slow viewers and resizes: no viewer gets the secret. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { itemsUntil, outputUntil, textOf } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const SECRET = "correct-horse-battery";
const LINES = 40_000;
/** Random piece sizes, so that the secret is cut anywhere. */
const flood = `
$s = $ENV{S}; $| = 1; srand(7);
for $i (1..${LINES}) { $all .= sprintf("%06d %s %s\\n", $i, "x" x (rand() * 200), $s) }
while (length $all) { syswrite(STDOUT, substr($all, 0, 1 + int(rand() * 3000), "")) }
syswrite(STDOUT, "over\\n"); <STDIN>`;
const script = `stty -echo; echo ready; IFS= read -r s; S=$s exec perl -e '${flood}'`;

/** The text of a viewer that is slower than the program. */
async function slowly(session: Session, flow: "lossless" | "live"): Promise<string> {
	const parts: Buffer[] = [];
	for await (const item of session.follow({ offset: 0 }, { flow })) {
		if (item.kind === "gap") parts.push(Buffer.from("\n(gap)\n"));
		if (item.kind !== "output") continue;
		parts.push(Buffer.from(item.bytes));
		if (parts.length % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 70));
	}
	return Buffer.concat(parts).toString("latin1");
}

test("a secret in a flood reaches neither a slow lossless viewer, nor a live one, nor the journal", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const retention = { memoryBytes: 256 * 1024, journalBytes: 1024 * 1024 };
	const session = await keepers.start(startOf(["bash", "--norc", "-c", script], { retention }));
	await outputUntil(session, /ready/);
	await session.secret(Buffer.from(SECRET), {});

	const viewers = [slowly(session, "lossless"), slowly(session, "live")];
	let isOver = false;
	const resizing = (async () => {
		for (let count = 0; !isOver; count++) {
			await session.act({ kind: "resize", size: { cols: 80 + (count % 2), rows: 24 } });
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	})();
	await itemsUntil(session, "end", (_, text) => /over\r\n/.test(text.slice(-20)));
	isOver = true;
	await resizing;
	await session.act({ kind: "write", bytes: Buffer.from("\n") });
	const [lossless = "", live = ""] = await Promise.all(viewers);

	for (const text of [lossless, live]) expect(text.split(SECRET).length - 1).toBe(0);
	const lines = lossless.split("\r\n").slice(1, -2);
	expect(lines).toHaveLength(LINES);
	for (const [index, line] of lines.entries()) {
		const [, number, shown = ""] = /^(\d{6}) x* (.*)$/.exec(line) ?? [];
		expect(Number(number)).toBe(index + 1);
		// If the program gets no turn for long between two pieces, less than half of the secret is visible.
		expect(SECRET.startsWith(shown.replace(/\*+$/, ""))).toBe(true);
		expect(shown).toMatch(/^.{0,10}\*{11,21}$/);
		expect(shown).toHaveLength(SECRET.length);
	}
	expect(live).toContain("*".repeat(SECRET.length));
	expect(textOf(await itemsUntil(session, { offset: 0 }))).not.toContain(SECRET);
	const journal = join(site.directory, "sessions", session.id);
	for (const name of await readdir(journal, { recursive: true })) {
		const bytes = await readFile(join(journal, name)).catch(() => Buffer.alloc(0));
		expect({ name, hasSecret: bytes.includes(SECRET) }).toEqual({ name, hasSecret: false });
	}
});
