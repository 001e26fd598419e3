/** A link between a server and a live keeper loses no byte, wherever and however often it breaks. */

import { expect, test } from "vitest";
import type { FollowOptions } from "../../../src/core/log/cursor.ts";
import type { Item } from "../../../src/core/log/event.ts";
import { sendInParts } from "../../../src/core/session/send-input.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, outputUntil } from "../../support/reading.ts";
import { rawShell } from "../../support/starts.ts";
import { randomOf, streamAt } from "../../system/torture/support/echo-stream.ts";

const READY = "ready";
const TOTAL_BYTES = 6_000_000;
/** About twenty are expected for this many bytes; fewer would prove little. */
const LEAST_CUTS = 5;

/** A reader that checks that all items are consecutive, or a gap that names the missing bytes. */
async function read(session: Session, from: number, options: FollowOptions): Promise<{ bytes: number; gaps: number }> {
	let offset = from;
	let bytes = 0;
	let gaps = 0;
	for await (const item of session.follow({ offset: from }, options)) {
		if (item.kind === "gap") {
			expect(item.from).toBe(offset);
			expect(item.to).toBeGreaterThan(offset);
			expect(item.reason).toBe("live");
			offset = item.to;
			gaps++;
		} else if (item.kind === "output") {
			expect(item.offset).toBe(offset);
			const wanted = Buffer.concat([Buffer.from(READY), streamAt(0, 16)]);
			const expected =
				item.offset < READY.length
					? wanted.subarray(item.offset, item.offset + item.bytes.byteLength)
					: streamAt(item.offset - READY.length, item.bytes.byteLength);
			if (item.bytes.byteLength <= 16 || item.offset >= READY.length) {
				expect(expected.subarray(0, item.bytes.byteLength).equals(item.bytes)).toBe(true);
			}
			offset += item.bytes.byteLength;
			bytes += item.bytes.byteLength;
		}
	}
	return { bytes, gaps };
}

test("bytes go both ways exactly once over a link that is cut again and again, for every kind of reader", async () => {
	const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
	console.log(`seed ${seed}: repeat with SEED=${seed}`);
	const random = randomOf(seed);
	const site = await KeeperSite.create();
	const first = await site.open();
	const started = await first.keepers.start(rawShell(`printf ${READY}; head -c ${TOTAL_BYTES}; exec sleep 1000`));
	const { id } = started;
	// A reader that starts beyond the end starts with the next byte.
	await outputUntil(started, /ready/);
	await first.keepers.close();
	const proxy = await site.proxy(id, () => ({
		fault: random(8) === 0 ? "dribble" : "cut",
		direction: random(2) === 0 ? "up" : "down",
		afterBytes: 100 + random(1_000_000),
	}));
	const [session] = (await site.open()).adopted as [Session];
	const readers = [
		read(session, 0, { flow: "lossless" }),
		read(session, READY.length, {}),
		read(session, 3, {}),
		read(session, 0, { flow: "live" }),
		read(session, 0, { flow: "live" }),
	];
	for (let position = 0; position < TOTAL_BYTES; ) {
		const bytes = streamAt(position, Math.min(1 + random(200_000), TOTAL_BYTES - position));
		await sendInParts(session, { kind: "write", bytes }, { origin: { stream: "s", position }, until: "accepted" });
		position += bytes.length;
	}
	// Without ending by itself: the last write may be repeated, which an ended program would refuse.
	await eventually("all output", async () => (await session.end()).offset === READY.length + TOTAL_BYTES);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
	const [lossless, plain, cut] = await Promise.all(readers);
	expect(lossless).toEqual({ bytes: READY.length + TOTAL_BYTES, gaps: 0 });
	expect(plain).toEqual({ bytes: TOTAL_BYTES, gaps: 0 });
	expect(cut).toEqual({ bytes: READY.length + TOTAL_BYTES - 3, gaps: 0 });
	expect(proxy.total).toBeGreaterThan(LEAST_CUTS);
}, 60_000);

test("a reader from the end misses nothing that happens later, though the link breaks before the first item", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(rawShell("printf before; exec cat"));
	await first.keepers.close();
	const proxy = await site.proxy(id, () => undefined);
	const [session] = (await site.open()).adopted as [Session];
	await outputUntil(session, /before/);
	for (const flow of [undefined, "live", "lossless"] as const) {
		const controller = new AbortController();
		const seen: Item[] = [];
		const items = session.follow("end", { signal: controller.signal, ...(flow ? { flow } : {}) });
		const following = (async () => {
			for await (const item of items) seen.push(item);
		})();
		await eventually("the reader", async () => (await session.info()).attachments === 1);
		const { offset } = await session.end();
		proxy.cutAll();
		// With an origin, because other writes are not repeated when their outcome is unknown.
		await session.act(
			{ kind: "write", bytes: Buffer.from(`after ${flow}`) },
			{ origin: { stream: String(flow), position: 0 } },
		);
		const heard = () => Buffer.concat(seen.flatMap((item) => (item.kind === "output" ? [item.bytes] : [])));
		await eventually(`what came after (${flow})`, () => heard().toString().endsWith(`after ${flow}`));
		expect(seen[0]).toMatchObject({ kind: "output", offset });
		controller.abort();
		await following;
	}
});

test("a write that can't be recognized as a repeat is not repeated: its caller learns that the outcome is unknown", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(rawShell("printf ready; exec cat"));
	await first.keepers.close();
	const proxy = await site.proxy(id, () => undefined);
	const [session] = (await site.open()).adopted as [Session];
	await outputUntil(session, /ready/);
	const { keeper } = await site.record(id);
	// Stopped, so that it can't answer before the link is cut.
	process.kill(keeper.pid, "SIGSTOP");
	const written = session.act({ kind: "write", bytes: Buffer.from("once") });
	const refused = expect(written).rejects.toMatchObject({ code: "node_unavailable" });
	proxy.cutAll();
	process.kill(keeper.pid, "SIGCONT");
	await refused;
	await session.act({ kind: "write", bytes: Buffer.from(".") });
	expect(await outputUntil(session, /\./)).toMatch(/^ready(once)?\.$/);
});

test("a server that closes while it searches a keeper keeps no link to it", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(rawShell("printf ready; exec cat"));
	await first.keepers.close();
	const proxy = await site.proxy(id, () => undefined);
	const { keepers } = await site.open();
	const { keeper } = await site.record(id);
	const before = proxy.connections;
	// Stopped, so that the handshake is still in progress when the server closes.
	process.kill(keeper.pid, "SIGSTOP");
	proxy.cutAll();
	await eventually("the next link", () => proxy.connections > before);
	await keepers.close();
	process.kill(keeper.pid, "SIGCONT");
	await eventually("the end of that link", () => proxy.open === 0);
});

test("a large write is split into parts and breaks no link", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(rawShell("printf ready; head -c 20000000 | cksum"));
	await outputUntil(session, /ready/);
	const bytes = Buffer.alloc(20_000_000, "x");
	const { keeper } = await site.record(session.id);
	const receipt = await session.act({ kind: "write", bytes });
	expect(receipt.next).toBeGreaterThan(0);
	expect(receipt.next).toBeLessThan(1024 * 1024);
	const rest = bytes.subarray(receipt.next);
	await sendInParts(
		session,
		{ kind: "write", bytes: rest },
		{ origin: { stream: "s", position: 0 }, until: "written" },
	);
	expect(await outputUntil(session, /\d+ 20000000/)).toMatch(/ 20000000/);
	expect(site.reports).toEqual([]);
	expect((await site.record(session.id)).keeper).toEqual(keeper);
});
