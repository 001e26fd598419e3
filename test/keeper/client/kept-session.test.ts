import { expect, test } from "vitest";
import { sessionContract } from "../../contracts/session.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

sessionContract("in a keeper", async () => {
	const { keepers } = await (await KeeperSite.create()).open();
	return (start) => keepers.start(start);
});

test("a keeper sends at most a window ahead of a reader, and everything in the end", async () => {
	const { keepers } = await (await KeeperSite.create()).open();
	const bytes = 20_000_000;
	const retention = { memoryBytes: 64 * 1024, journalBytes: 0 };
	const argv = ["sh", "-c", `echo; read go; exec head -c ${bytes} /dev/zero`];
	const session = await keepers.start(startOf(argv, { mode: "pipe", retention }));
	const items = session.follow({ offset: 0 }, { flow: "lossless" })[Symbol.asyncIterator]();
	let read = 0;
	const take = async () => {
		const { value, done } = await items.next();
		if (!done && value.kind === "output") read += value.bytes.byteLength;
		return !done;
	};
	await take();
	await session.act({ kind: "write", bytes: Buffer.from("go\n") });
	await take();
	// Each answer is a turn of the keeper's loop, in which it could read more.
	const { offset } = await eventually("the program to be held up", async () => {
		const before = await session.end();
		for (let turn = 0; turn < 200; turn++) if ((await session.end()).offset !== before.offset) return undefined;
		return before;
	});
	// The window, the log's limit, and a chunk beyond each.
	expect(offset).toBeLessThan(2 * 1024 * 1024);
	while (await take());
	expect(read).toBe(1 + bytes);
});

test("a keeper limits cursors in its past, refuses one more, and serves the others", async () => {
	const { keepers } = await (await KeeperSite.create()).open();
	const session = await keepers.start(startOf(["sh", "-c", "head -c 3000000 /dev/zero; exec cat"], { mode: "pipe" }));
	await eventually("all output", async () => (await session.end()).offset === 3_000_000);
	const readers = Array.from({ length: 200 }, () => session.follow({ offset: 0 })[Symbol.asyncIterator]());
	const first = await Promise.allSettled(readers.map((items) => items.next()));
	const refused = first.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
	expect(refused).toHaveLength(200 - 128);
	expect(refused[0]).toMatchObject({ code: "limit_exceeded" });
	const watching = session.follow("end", { flow: "live" })[Symbol.asyncIterator]();
	const news = watching.next();
	await session.act({ kind: "write", bytes: Buffer.from("echo") });
	expect(await news).toMatchObject({ value: { kind: "output", offset: 3_000_000 } });
	for (const items of [...readers, watching]) await items.return?.();
	const again = session.follow({ offset: 0 })[Symbol.asyncIterator]();
	expect(await again.next()).toMatchObject({ value: { kind: "output", offset: 0 } });
	await again.return?.();
});
