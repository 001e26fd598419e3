/** Live readers of a session in a keeper share one stream. */

import { expect, test } from "vitest";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const LINES = 800;
const LINE_BYTES = 2_000;
/** More lines per second than the stream may pause for slow readers. */
const WRITER = `$| = 1; <STDIN>; for (1..${LINES}) { print "x" x ${LINE_BYTES - 1}, "\\n"; select(undef, undef, undef, 0.004) } <STDIN>`;
/** Bytes that a reader may lag behind when the program has written everything. */
const NEAR_BYTES = 256 * 1024;

test("readers that stop reading do not make another one fall behind a program that writes many short lines", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(startOf(["perl", "-e", WRITER], { mode: "pipe" }));
	const over = new AbortController();
	const follow = () => session.follow({ offset: 0 }, { flow: "live", signal: over.signal });
	const stopped = [follow(), follow()].map((reader) => reader[Symbol.asyncIterator]().next());
	let reached = 0;
	const reading = (async () => {
		for await (const item of follow()) {
			if (item.kind === "gap") throw new Error(`a gap from ${item.from} to ${item.to}`);
			if (item.kind === "output") reached = item.offset + item.bytes.byteLength;
		}
	})();
	await eventually("the readers", async () => (await session.info()).attachments === 3);
	await session.act({ kind: "write", bytes: Buffer.from("\n") });
	await eventually("all output", async () => (await session.end()).offset === LINES * LINE_BYTES, 60_000);
	expect(LINES * LINE_BYTES - reached).toBeLessThan(NEAR_BYTES);
	await eventually("the last line", () => reached === LINES * LINE_BYTES);
	over.abort();
	await Promise.all([...stopped, reading]);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
});
