/** A state directory that was copied while its sessions run: they stay with the original. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KeeperSite } from "../helpers/keepers.ts";
import { itemsUntil, outputUntil, write } from "../helpers/reading.ts";
import { shell } from "../helpers/starts.ts";

test.each([
	["a place of its own for sockets", false],
	["the original's place for sockets", true],
])("a server on a copy, with %s, leaves the keepers and programs of the original alone", async (_, isShared) => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(shell("stty -echo; echo begin; while read x; do echo got $x; done"));
	await outputUntil(session, /begin/);

	const copy = await KeeperSite.create();
	// But for what is just being written, which has another name as soon as it is whole.
	const filter = (path: string) => !path.endsWith(".new");
	await cp(join(site.directory, "sessions"), join(copy.directory, "sessions"), { recursive: true, filter });
	const socketDirectory = join((isShared ? site : copy).directory, "run");
	const { adopted } = await copy.open({ generation: 100, socketDirectory });
	expect(adopted.map(({ id, state }) => [id, state.status])).toEqual([[session.id, "lost"]]);
	const items = adopted[0] ? await itemsUntil(adopted[0], { offset: 0 }) : [];
	expect(items.at(-1)).toMatchObject({ kind: "lost", message: expect.stringContaining("this is a copy") });
	expect(String(copy.reports[0])).toContain("left to the original");

	await write(session, "one\n");
	await outputUntil(session, /got one/);
	// And so it is for the next server on either of the two.
	await keepers.close();
	const [again] = (await site.open()).adopted;
	if (!again) throw new Error("the session was not found again");
	await write(again, "two\n");
	await outputUntil(again, /got two/);
	const [still] = (await copy.open({ generation: 101, socketDirectory })).adopted;
	expect(still?.state.status).toBe("lost");
	await again.kill({ signal: "SIGKILL", graceMs: 0 });
});
