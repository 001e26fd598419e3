/** The link between a server and a keeper that lives: cut anywhere, any number of times, it costs no byte. */

import { expect, test } from "vitest";
import type { Item } from "../../src/core/event.ts";
import { offer } from "../../src/core/offer.ts";
import type { FollowOptions, Session } from "../../src/core/session.ts";
import { randomOf, streamAt } from "../helpers/echo-stream.ts";
import { KeeperSite } from "../helpers/keepers.ts";
import { eventually, outputUntil } from "../helpers/reading.ts";
import { rawShell } from "../helpers/starts.ts";

const READY = "ready";
const TOTAL_BYTES = 6_000_000;
/** Fewer would prove little; there are some twenty for so many bytes. */
const LEAST_CUTS = 5;

/** A reader that compares all it gets with what must be there: the next bytes, or a gap that says what is not. */
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
	// Who wants to begin at a byte that is not there yet begins with the next that comes.
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
		await offer(session, { kind: "write", bytes }, { origin: { stream: "s", position }, until: "accepted" });
		position += bytes.length;
	}
	// Not by itself: the last write may have to be sent again, which a program that has ended does not take.
	await eventually("all output", async () => (await session.end()).offset === READY.length + TOTAL_BYTES);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
	const [lossless, plain, cut] = await Promise.all(readers);
	expect(lossless).toEqual({ bytes: READY.length + TOTAL_BYTES, gaps: 0 });
	expect(plain).toEqual({ bytes: TOTAL_BYTES, gaps: 0 });
	expect(cut).toEqual({ bytes: READY.length + TOTAL_BYTES - 3, gaps: 0 });
	expect(proxy.total).toBeGreaterThan(LEAST_CUTS);
}, 60_000);

test("who follows from the end misses nothing of what happens after that, though the link breaks before the first item", async () => {
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
		// With an origin, because a write that may have been done is not repeated otherwise.
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

test("what can't be recognised as a repeat is not sent again: its caller is told that nobody knows whether it was done", async () => {
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

test("a server that goes while it looks for a keeper keeps no link to the one that it finds", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(rawShell("printf ready; exec cat"));
	await first.keepers.close();
	const proxy = await site.proxy(id, () => undefined);
	const { keepers } = await site.open();
	const { keeper } = await site.record(id);
	const before = proxy.connections;
	// Stopped, so that it is still being greeted when the server goes.
	process.kill(keeper.pid, "SIGSTOP");
	proxy.cutAll();
	await eventually("the next link", () => proxy.connections > before);
	await keepers.close();
	process.kill(keeper.pid, "SIGCONT");
	await eventually("the end of that link", () => proxy.open === 0);
});

test("one write of any size is taken in parts, and no link breaks of it", async () => {
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
	await offer(session, { kind: "write", bytes: rest }, { origin: { stream: "s", position: 0 }, until: "written" });
	expect(await outputUntil(session, /\d+ 20000000/)).toMatch(/ 20000000/);
	expect(site.reports).toEqual([]);
	expect((await site.record(session.id)).keeper).toEqual(keeper);
});
