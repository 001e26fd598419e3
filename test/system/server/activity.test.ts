import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { start } from "../../support/server.ts";

const BEGIN = Date.parse("2026-01-31T12:00:00Z");
const CAST = [
	{ version: 2, width: 20, height: 5, timestamp: BEGIN / 1000 },
	[0.5, "o", "12345"],
	[0.75, "i", "typed"],
	[1, "r", "30x6"],
	[5.5, "o", "1234567"],
	[5.9, "o", "1"],
	[10, "o", "123"],
]
	.map((line) => `${JSON.stringify(line)}\n`)
	.join("");

it("activity counts the bytes of each part of a session's life, or of an interval", async () => {
	const { url, adminToken } = await start();
	const session = await connect({ url, token: adminToken }).sessions.importRecording(CAST);
	expect(await session.activity({ buckets: 10 })).toEqual({
		from: BEGIN,
		to: BEGIN + 10_000,
		bytes: [5, 0, 0, 0, 0, 8, 0, 0, 0, 3],
		until: null,
	});
	expect((await session.activity()).bytes).toHaveLength(100);
	const part = { from: new Date(BEGIN + 5_000), to: BEGIN + 6_000, buckets: 2 };
	expect(await session.activity(part)).toEqual({ from: BEGIN + 5_000, to: BEGIN + 6_000, bytes: [0, 8], until: null });
	await expect(session.activity({ from: BEGIN + 1, to: BEGIN })).rejects.toMatchObject({ code: "invalid_argument" });
});

it("activity of a running session extends to now", async () => {
	const { url, adminToken } = await start();
	const session = await connect({ url, token: adminToken }).sessions.create({
		command: "printf 123; exec cat",
		durable: false,
	});
	await session.wait({ match: /123/ });
	const before = Date.now();
	const { from, to, bytes } = await session.activity({ buckets: 3 });
	expect(from).toBe(session.snapshot.createdAt);
	expect(to).toBeGreaterThanOrEqual(before);
	expect(bytes.reduce((sum, part) => sum + part, 0)).toBe(3);
});
