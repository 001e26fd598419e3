import { writeFileSync } from "node:fs";
import { appendFile, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listFiles } from "../../src/audit/audit-files.ts";
import { AuditLog, type AuditLogOptions } from "../../src/audit/audit-log.ts";
import { encodeLine } from "../../src/audit/chained-line.ts";
import { verify } from "../../src/audit/verify.ts";
import type { Actor } from "../../src/core/policy/audit.ts";
import { processorMs } from "../support/cpu-time.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { fill, withSmallDisk } from "../support/small-disk.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const ana: Actor = { id: "4f0c", name: "token:4f0c:ana", from: "127.0.0.1", front: "native" };
const KiB = 1024;

type Opened = { log: AuditLog; clock: FakeClock; problems: unknown[] };

async function open(directory: string, options: Partial<AuditLogOptions> = {}): Promise<Opened> {
	const clock = new FakeClock();
	const problems: unknown[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const log = await AuditLog.open({ directory, maxBytes: 1024 * KiB, fsync: "interval", clock, report, ...options });
	onTestFinished(() => log.close());
	return { log, clock, problems };
}

/** A closed record with this many lines. */
async function written(lines: number, options: Partial<AuditLogOptions> = {}): Promise<string> {
	const directory = await temporaryDirectory();
	const { log } = await open(directory, options);
	for (let i = 0; i < lines; i++) log.record({ action: "token-revoked", token: `t${i}-`, by: ana, session: `s${i}` });
	await log.close();
	return directory;
}

async function verdict(directory: string, head?: string) {
	return verify(await listFiles(directory), { head });
}

const first = (directory: string) => join(directory, "audit-000001.jsonl");

/** Changes the lines of a record's first file. */
async function edit(directory: string, change: (lines: string[]) => string[]): Promise<void> {
	const lines = (await readFile(first(directory), "utf8")).split("\n").slice(0, -1);
	await writeFile(
		first(directory),
		change(lines)
			.map((line) => `${line}\n`)
			.join(""),
	);
}

describe("a record", () => {
	test("a record written by several servers is valid", async () => {
		const directory = await temporaryDirectory();
		for (let i = 0; i < 3; i++) {
			const { log } = await open(directory);
			log.record({ action: "token-made", token: "é\u2028\ufffd", scopes: ["admin"], by: ana });
			await log.close();
		}
		expect(await verdict(directory)).toMatchObject({ fault: undefined, entries: 3, base: undefined, remarks: [] });
		const [line] = (await readFile(first(directory), "utf8")).split("\n");
		expect(JSON.parse(line ?? "")).toMatchObject({ seq: 1, action: "token-made", by: ana, prev: "0".repeat(64) });
	});

	test("every changed byte of a record is found", async () => {
		// A first, a middle and a last line: each byte costs a verification.
		const directory = await written(3);
		const files = await listFiles(directory);
		const bytes = await readFile(first(directory));
		for (let at = 0; at < bytes.length; at++) {
			const changed = Buffer.from(bytes);
			changed[at] = (changed[at] ?? 0) ^ 1;
			writeFileSync(first(directory), changed);
			const { fault } = await verify(files);
			// A missing last line feed looks like an incomplete line, and is repaired.
			if (at < bytes.length - 1) expect(fault, `byte ${at}`).toBeDefined();
		}
	});

	test.each<[string, (lines: string[]) => string[], number]>([
		["a line is dropped", (lines) => lines.toSpliced(2, 1), 3],
		["its first line is dropped", (lines) => lines.slice(1), 1],
		["two lines are swapped", ([a, b, c, ...rest]) => [a, c, b, ...rest].map(String), 2],
		["a line is repeated", (lines) => lines.toSpliced(2, 0, String(lines[1])), 3],
		["a line is added that was never written", (lines) => lines.toSpliced(2, 0, "{}"), 3],
		["a line is cut in the middle", (lines) => lines.with(2, String(lines[2]).slice(0, 40)), 3],
		["a line is emptied", (lines) => lines.with(2, ""), 3],
	])("shows that %s", async (_, change, line) => {
		const directory = await written(6);
		await edit(directory, change);
		expect((await verdict(directory)).fault).toMatchObject({ path: first(directory), line });
	});

	test("a missing end is found only with a noted hash", async () => {
		const directory = await written(6);
		const { head } = await verdict(directory);
		const { log } = await open(directory);
		log.record({ action: "attach", by: ana });
		await log.close();
		// An earlier head is part of the longer record.
		expect((await verdict(directory, head.hash)).fault).toBeUndefined();
		await edit(directory, (lines) => lines.slice(0, 3));
		expect((await verdict(directory)).fault).toBeUndefined();
		expect((await verdict(directory, head.hash)).fault?.message).toContain(head.hash);
	});

	test("a record spans files and reports dropped ones; other missing files are found", async () => {
		const directory = await written(6_000, { maxBytes: 256 * KiB });
		const files = await listFiles(directory);
		expect(files).toHaveLength(16);
		expect(files[0]?.number).toBeGreaterThan(1);
		const { fault, base, entries, remarks } = await verdict(directory);
		expect(fault).toBeUndefined();
		expect(remarks.join()).toContain("were dropped to make room");
		expect((base?.seq ?? 0) + entries).toBeGreaterThan(6_000);
		await rm(files[7]?.path ?? "");
		expect((await verdict(directory)).fault).toMatchObject({ path: files[8]?.path, line: 1 });
		for (const { path } of files.slice(0, 7)) await rm(path);
		expect((await verdict(directory)).fault?.message).toContain("no later entry says that they were dropped");
	});

	test("a removed beginning is found despite a forged line after the noted one", async () => {
		const directory = await written(6);
		const { head } = await verdict(directory);
		const [, , , , fifth = ""] = (await readFile(first(directory), "utf8")).split("\n");
		const { seq, prev } = JSON.parse(fifth) as { seq: number; prev: string };
		await edit(directory, (lines) => lines.slice(4));
		const made = encodeLine({ time: 0, action: "dropped", files: 1, to: seq - 1, last: prev }, head);
		await appendFile(first(directory), made.text);
		// Without a noted head, this can't be found.
		expect((await verdict(directory)).fault).toBeUndefined();
		const { fault } = await verdict(directory, head.hash);
		expect(fault?.message).toContain("entries before the first one could not be checked: 4 entries are missing");
		expect((await verdict(directory, made.link.hash)).fault).toBeUndefined();
	});

	test("a record that dropped files is valid with a hash noted after that", async () => {
		const directory = await written(6_000, { maxBytes: 256 * KiB });
		const files = await listFiles(directory);
		const { head } = await verdict(directory);
		expect((await verdict(directory, head.hash)).fault).toBeUndefined();
		const [line = ""] = (await readFile(files[0]?.path ?? "", "utf8")).split("\n");
		const { hash } = JSON.parse(line) as { hash: string };
		expect((await verdict(directory, hash)).fault?.message).toContain("could not be checked");
	});

	test("a missing or empty record is not reported as valid", async () => {
		const directory = await temporaryDirectory();
		const nothing = { message: expect.stringContaining("there are no entries to verify") };
		expect((await verdict(join(directory, "none"))).fault).toMatchObject(nothing);
		expect((await verdict(directory)).fault).toMatchObject(nothing);
		await writeFile(first(directory), "");
		expect((await verdict(directory)).fault).toMatchObject({ path: first(directory), ...nothing });
	});

	test("a record whose server was killed within a line is repaired, with an entry about that", async () => {
		const directory = await written(3);
		const whole = (await readFile(first(directory))).length;
		await appendFile(first(directory), '{"seq":4,"time":17');
		expect(await verdict(directory)).toMatchObject({ fault: undefined, entries: 3 });
		const { log, problems } = await open(directory);
		log.record({ action: "attach", by: ana });
		await log.close();
		const { fault, entries, remarks } = await verdict(directory);
		expect({ fault, entries, problems }).toEqual({ fault: undefined, entries: 5, problems: [] });
		expect(remarks).toHaveLength(1);
		expect((await readFile(first(directory), "utf8")).slice(whole)).toContain('"action":"repaired","bytes":18');
	});

	test("a changed record is not repaired: it stays as it is, a new file is started, and the change is reported", async () => {
		const directory = await written(6);
		await edit(directory, (lines) => lines.with(3, String(lines[3]).replace("t3-", "t9-")));
		const before = await readFile(first(directory), "utf8");
		const { log, problems } = await open(directory);
		log.record({ action: "attach", by: ana });
		await log.close();
		expect(await readFile(first(directory), "utf8")).toBe(before);
		expect(await readdir(directory)).toHaveLength(2);
		expect(problems).toMatchObject([{ message: expect.stringContaining("damaged or changed") }]);
		expect((await verdict(directory)).fault).toMatchObject({ path: first(directory), line: 4 });
	});

	test("a record whose file is removed continues in a new one, and the missing lines are found and reported", async () => {
		const directory = await temporaryDirectory();
		const { log, problems } = await open(directory, { fsync: "always" });
		log.record({ action: "attach", by: ana });
		await log.read({ after: 0, limit: 1 });
		await rm(directory, { recursive: true });
		for (let i = 0; i < 2; i++) {
			log.record({ action: "detach", by: ana });
			await log.read({ after: 0, limit: 1 });
		}
		expect(problems).toMatchObject([{ message: expect.stringContaining("was removed by another program") }]);
		expect((await verdict(directory)).fault?.message).toContain("2 lines before it are missing");
	});

	test("a record with a long line is read in linear time", async () => {
		const directory = await temporaryDirectory();
		await writeFile(first(directory), Buffer.alloc(40 * 1024 * KiB, "x"));
		const read = async () =>
			expect(await verdict(directory)).toMatchObject({
				entries: 0,
				remarks: [expect.stringContaining("the last line is incomplete")],
			});
		expect(await processorMs(read)).toBeLessThan(3_000);
	});

	test("a record starts a new file while the previous one is being synced", async () => {
		const { log, clock, problems } = await open(await temporaryDirectory(), { maxBytes: 256 * KiB });
		const entry = { action: "token-revoked", token: "t", by: { ...ana, name: "n".repeat(500) } } as const;
		for (let i = 0; i < 100; i++) {
			log.record(entry);
			await log.read({ after: i, limit: 1 });
			// The sync starts, and by now the file may be full.
			clock.advance(1_000);
		}
		await log.close();
		expect(problems).toEqual([]);
	});

	test("a truncated record continues, and the missing lines are found", async () => {
		const directory = await written(2_000, { maxBytes: 256 * KiB });
		const files = await listFiles(directory);
		await truncate(files[1]?.path ?? "", 0);
		expect((await verdict(directory)).fault).toMatchObject({ path: files[2]?.path, line: 1 });
	});
});

describe("the audit", () => {
	test("many key presses are one entry, with the number of bytes and their first position", async () => {
		const directory = await temporaryDirectory();
		const { log, clock } = await open(directory);
		for (let position = 0; position < 1_000; position++) {
			log.record({ action: "input", bytes: 1, stream: "secret-name", position, by: ana, session: "s1" });
		}
		log.record({ action: "input", bytes: 5, stream: "other", position: 0, by: ana, session: "s1" });
		clock.advance(5_000);
		const { entries } = await log.read({ after: 0, limit: 10 });
		expect(entries).toMatchObject([
			{ action: "input", bytes: 1_000, position: 0, count: 1_000, session: "s1" },
			{ action: "input", bytes: 5, position: 0 },
		]);
		expect(await readFile(first(directory), "utf8")).not.toContain("secret-name");
	});

	test("entries come in the order of the actions, also merged ones", async () => {
		const directory = await temporaryDirectory();
		const { log } = await open(directory);
		const here = { by: ana, session: "s1" };
		log.record({ action: "attach", ...here });
		log.record({ action: "input", bytes: 3, ...here });
		log.record({ action: "open-failed", code: "internal", ...here });
		log.record({ action: "input", bytes: 4, ...here });
		log.record({ action: "kill", signal: null, ...here });
		log.record({ action: "input", bytes: 4, by: ana, session: "s2" });
		log.record({ action: "end", exit: null, session: "s1", by: null });
		const { entries } = await log.read({ after: 0, limit: 10 });
		expect(entries.map(({ action }) => action)).toEqual([
			"attach",
			"input",
			"open-failed",
			"input",
			"kill",
			"end",
			"input",
		]);
	});

	test("merged entries of a caller come before its later actions, in any session", async () => {
		const { log } = await open(await temporaryDirectory());
		const bob: Actor = { ...ana, id: "b0b", name: "token:b0b:bob" };
		log.record({ action: "input", bytes: 3, by: ana, session: "s1" });
		log.record({ action: "input", bytes: 3, by: bob, session: "s2" });
		log.record({ action: "token-revoked", token: "t", by: ana });
		const { entries } = await log.read({ after: 0, limit: 10 });
		expect(entries).toMatchObject([
			{ action: "input", by: { id: ana.id } },
			{ action: "token-revoked", by: { id: ana.id } },
			{ action: "input", by: { id: bob.id } },
		]);
	});

	test("a caller can't fill the audit by repeating an action", async () => {
		const { log } = await open(await temporaryDirectory());
		for (let i = 0; i < 1_000; i++) {
			const here = { by: ana, session: "s1" };
			log.record({ action: "signal", signal: i % 2 === 0 ? "SIGINT" : "SIGQUIT", ...here });
			log.record({ action: "resize", size: { cols: 80 + i, rows: 24 }, ...here });
			log.record({ action: "refused", code: "not_writable", ...here });
			log.record({ action: "take-over", exclusive: true, ...here });
		}
		const { entries } = await log.read({ after: 0, limit: 100 });
		expect(entries).toMatchObject([
			{ action: "signal", signal: "SIGINT", count: 500 },
			{ action: "resize", size: { cols: 1_079 }, count: 1_000 },
			{ action: "refused", code: "not_writable", count: 1_000 },
			{ action: "take-over", count: 1_000 },
			{ action: "signal", signal: "SIGQUIT", count: 500 },
		]);
	});

	test("a caller can't fill the audit by attaching and detaching, or by requests for missing sessions", async () => {
		const { log } = await open(await temporaryDirectory());
		for (let i = 0; i < 1_000; i++) {
			const here = { by: ana, session: "s1", workspace: "w1" };
			log.record({ action: "attach", ...here });
			log.record({ action: "detach", ...here });
			log.record({ action: "refused", code: "permission_denied", right: "manage", workspace: `no-${i}`, by: ana });
			log.record({ action: "kill", signal: null, ...here });
			log.record({ action: "remove", force: false, ...here });
			log.record({ action: "sign-in-link", by: ana });
			log.record({ action: "sign-in", by: ana });
			log.record({ action: "sign-out", by: ana });
		}
		const { entries } = await log.read({ after: 0, limit: 100 });
		expect(entries.map(({ action, count }) => [action, count])).toEqual(
			["attach", "detach", "refused", "kill", "remove", "sign-in-link", "sign-in", "sign-out"].map((one) => [
				one,
				1_000,
			]),
		);
		expect(entries[2]).not.toHaveProperty("workspace");
	});

	test("a caller can't fill the audit by varying its actions: above a limit they are one entry, which says so", async () => {
		const { log, clock } = await open(await temporaryDirectory());
		const others: Actor = { ...ana, id: "5a11" };
		for (let i = 0; i < 1_000; i++) {
			log.record({ action: "input", bytes: 2, stream: `stream-${i}`, position: 0, by: ana, session: "s1" });
			log.record({
				action: "refused",
				code: "unauthenticated",
				by: { ...ana, id: null, from: `127.0.${i >> 8}.${i % 256}` },
			});
			// A flush writes waiting entries, but does not allow more of them.
			if (i % 100 === 0) log.record({ action: "token-revoked", token: `t${i}`, by: ana });
		}
		log.record({ action: "input", bytes: 7, by: others, session: "s1" });
		clock.advance(5_000);
		log.record({ action: "read", by: ana, session: "s1" });
		const { entries } = await log.read({ after: 0, limit: 1_000 });
		const inputs = entries.filter(({ action }) => action === "input");
		expect(inputs.length).toBeLessThan(120);
		expect(inputs.reduce((sum, { count }) => sum + Number(count ?? 1), 0)).toBe(1_001);
		expect(inputs.reduce((sum, { bytes }) => sum + Number(bytes), 0)).toBe(2_007);
		expect(inputs.some(({ various }) => various === true)).toBe(true);
		expect(entries.filter(({ action }) => action === "refused").length).toBeLessThan(120);
		expect(inputs.find(({ by }) => by?.id === others.id)).toMatchObject({ session: "s1", bytes: 7 });
		expect(entries.at(-1)).toMatchObject({ action: "read", session: "s1" });
		expect(entries.at(-1)).not.toHaveProperty("various");
	});

	test("many tokens can't fill the audit: above a limit each action is one entry without a caller", async () => {
		const { log, clock } = await open(await temporaryDirectory());
		log.record({ action: "input", bytes: 1, by: ana, session: "s0" });
		for (let i = 0; i < 3_000; i++) {
			const by: Actor = { ...ana, id: `token-${i % 1_000}` };
			log.record({ action: "input", bytes: 1, by, session: `s${i}` });
			log.record({ action: "resize", by, session: `s${i}`, size: { cols: 80, rows: 24 } });
		}
		clock.advance(5_000);
		const { entries } = await log.read({ after: 0, limit: 1_000 });
		expect(entries.length).toBeLessThan(510);
		const inputs = entries.filter(({ action }) => action === "input");
		expect(inputs.reduce((sum, { count }) => sum + Number(count ?? 1), 0)).toBe(3_001);
		expect(inputs.reduce((sum, { bytes }) => sum + Number(bytes), 0)).toBe(3_001);
		expect(inputs[0]).toMatchObject({ by: { id: ana.id }, session: "s0" });
		const various = entries.filter((entry) => entry.various === true);
		expect(various.map(({ action, by }) => `${action} by ${by}`).toSorted()).toEqual([
			"input by null",
			"resize by null",
		]);
	});

	test("long fields can't push entries out of the audit: each is truncated, with its length", async () => {
		const directory = await temporaryDirectory();
		const { log } = await open(directory, { maxBytes: 256 * KiB });
		log.record({ action: "token-made", token: "first", scopes: ["admin"], by: ana });
		const long = "\u{1f389}".repeat(100_000);
		const rest = { cwd: long, mode: "pty", durable: false, sandbox: null, session: "s1" } as const;
		for (let i = 0; i < 20; i++)
			log.record({ action: "open", program: `${i}${long}`, ...rest, by: { ...ana, name: long } });
		const { entries } = await log.read({ after: 0, limit: 100 });
		expect(entries.map(({ action }) => action)).toEqual(["token-made", ...Array(20).fill("open")]);
		const { program, by } = entries[12] as { program?: string; by?: Actor };
		expect(program).toMatch(/^11\u{1f389}{100,}… \(200002 characters\)$/u);
		expect(by?.name).toContain("…");
		expect(Buffer.byteLength(JSON.stringify(entries[12]))).toBeLessThan(8 * KiB);
	});

	test("the audit is read by page, session, principal and action", async () => {
		const directory = await written(5_000, { maxBytes: 256 * KiB });
		const { log } = await open(directory, { maxBytes: 256 * KiB });
		const seen: number[] = [];
		for (let next: number | null = 4_700; next !== null; ) {
			const page = await log.read({ after: next, limit: 300 });
			seen.push(...page.entries.map(({ seq }) => seq));
			next = page.next;
			expect(page.head.seq).toBeGreaterThanOrEqual(5_000);
		}
		expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => 4_701 + index));
		const only = { after: 0, limit: 10 };
		expect((await log.read({ ...only, session: "s4900" })).entries).toMatchObject([{ token: "t4900-" }]);
		expect((await log.read({ ...only, principal: "admin" })).entries).toEqual([]);
		expect((await log.read({ ...only, action: "dropped" })).entries.length).toBeGreaterThan(0);
	});

	test("entries wait while the disk is full; those that do not fit are counted, and no caller is blocked", async () => {
		await withSmallDisk(256 * KiB, async (disk) => {
			const directory = join(disk, "audit");
			const { log, clock, problems } = await open(directory);
			log.record({ action: "attach", by: ana });
			await log.read({ after: 0, limit: 1 });
			const filler = await fill(disk);
			// The disk may accept some until its block is full.
			for (let i = 0; i < 50; i++) log.record({ action: "token-revoked", token: "t", by: ana });
			await log.read({ after: 0, limit: 1 });
			expect(log.status).toMatchObject({ isHealthy: false, lost: 0 });
			for (let i = 0; i < 10_000; i++) log.record({ action: "token-revoked", token: "t", by: ana });
			const { lost } = log.status;
			expect(lost).toBeGreaterThan(0);
			clock.advance(1_000);
			await log.read({ after: 0, limit: 1 });
			expect(problems).toHaveLength(1);
			await rm(filler);
		});
	});

	test("an entry that was written partially is written completely once there is space", async () => {
		await withSmallDisk(256 * KiB, async (disk) => {
			const directory = join(disk, "audit");
			const { log } = await open(directory);
			log.record({ action: "attach", by: ana });
			await log.read({ after: 0, limit: 1 });
			const filler = await fill(disk);
			// The rest of the block takes some entries, and half of one.
			for (let i = 0; i < 50; i++) log.record({ action: "token-revoked", token: `t${i}`, by: ana });
			await log.read({ after: 0, limit: 1 });
			expect(log.status).toMatchObject({ isHealthy: false, lost: 0 });
			await rm(filler);
			const { entries } = await log.read({ after: 0, limit: 100, action: "token-revoked" });
			expect(entries.map(({ token }) => token)).toEqual(Array.from({ length: 50 }, (_, i) => `t${i}`));
			await log.close();
			expect((await verdict(directory)).fault).toBeUndefined();
		});
	});

	test("entries wait in memory up to a limit of bytes, however few they are", async () => {
		await withSmallDisk(256 * KiB, async (disk) => {
			const { log } = await open(join(disk, "audit"));
			const filler = await fill(disk);
			const by = { ...ana, name: "\u0001".repeat(10_000) };
			for (let i = 0; i < 9_000; i++) log.record({ action: "token-revoked", token: "t", by });
			expect(log.status.lost).toBeGreaterThan(0);
			expect(log.status.lost).toBeLessThan(8_000);
			await rm(filler);
		});
	});

	test("entries are written once the disk works again, with the number of lost ones in their place", async () => {
		await withSmallDisk(8 * 1024 * KiB, async (disk) => {
			const directory = join(disk, "audit");
			const { log, problems } = await open(directory, { maxBytes: 64 * 1024 * KiB });
			const filler = await fill(disk);
			for (let i = 0; i < 10_100; i++) log.record({ action: "token-revoked", token: "t", by: ana });
			await log.read({ after: 0, limit: 1 });
			expect(log.status).toMatchObject({ isHealthy: false });
			const { lost } = log.status;
			expect(lost).toBeGreaterThan(0);
			await rm(filler);
			log.record({ action: "attach", by: ana });
			const { entries } = await log.read({ after: 0, limit: 1_000, action: "gap" });
			expect(entries.reduce((sum, entry) => sum + Number(entry.lost), 0)).toBeGreaterThanOrEqual(lost);
			expect(log.status).toMatchObject({ isHealthy: true });
			expect(problems).toMatchObject([
				{ message: expect.stringContaining("can't be written") },
				{ message: expect.stringContaining("written again") },
			]);
			await log.close();
			const { fault, remarks } = await verdict(directory);
			expect(fault).toBeUndefined();
			expect(remarks.join()).toContain("entries were lost");
		});
	});
});
