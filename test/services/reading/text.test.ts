import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type OutputText, type Session } from "../../../src/client/index.ts";
import { processorMs } from "../../support/cpu-time.ts";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 64 * 1024 * 1024 });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

/** A program that has written all its output. */
async function written(script: string): Promise<Session> {
	const retain = { memoryBytes: 64 * 1024 * 1024 };
	const { id } = await server.create({ argv: ["/usr/bin/python3", "-c", script], retain });
	const session = connect({ url: server.url, token: TOKEN }).sessions.at(id);
	await session.wait({ exit: true });
	return session;
}

/** Output of installers with progress displays. */
const installers: Readonly<Record<string, string>> = {
	npm: `
import sys
spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
for i in range(4000):
    sys.stdout.write("\\x1b[1G\\x1b[0K" + spinner[i % 10] + " reify:package-" + str(i % 90) + ": timing reifyNode Completed in " + str(i) + "ms")
    if i % 80 == 79: print("\\x1b[1G\\x1b[0K\\x1b[33mnpm warn deprecated\\x1b[0m package-" + str(i) + "@1.0.0: it is old")
print("\\x1b[1G\\x1b[0K\\nadded 300 packages in 4s")`,
	pip: `
import sys
for name in ("numpy", "scipy", "pandas", "torch", "jax", "flax", "optax", "chex", "dask", "numba"):
    print("Collecting " + name + "\\n  Downloading " + name + "-1.0-cp311-manylinux_2_17_x86_64.whl (17.3 MB)")
    for i in range(200):
        done = "━" * (i // 5)
        sys.stdout.write("\\r\\x1b[2K     \\x1b[38;5;197m" + done + "\\x1b[0m\\x1b[38;5;237m╺" + "━" * (39 - i // 5) + "\\x1b[0m \\x1b[32m" + str(i / 10) + "/17.3 MB\\x1b[0m")
    print()
print("Successfully installed")`,
	cargo: `
import sys
for i in range(600):
    if i % 5 == 0: sys.stdout.write("\\x1b[K\\x1b[0m\\x1b[0m\\x1b[1m\\x1b[32m   Compiling\\x1b[0m crate-" + str(i) + " v1.0." + str(i) + "\\r\\n")
    for _ in range(3): sys.stdout.write("\\x1b[K\\x1b[0m\\x1b[0m\\x1b[1m\\x1b[36m    Building\\x1b[0m [" + "=" * (i // 25) + "> ] " + str(i) + "/600: crate-" + str(i) + "\\r")
sys.stdout.write("\\x1b[K\\x1b[1m\\x1b[32m    Finished\\x1b[0m dev in 3.2s\\r\\n")`,
};

/** Checks that every omission is marked, and that the named bytes are the missing ones. */
async function expectHonest(session: Session, { text, omitted, next, end }: OutputText): Promise<void> {
	const [, from, length] = /left out: since=(\d+) limit=(\d+)/.exec(text) ?? [];
	if (!omitted) return expect(from).toBeUndefined();
	expect([Number(from), Number(length)]).toEqual([omitted.from, omitted.to - omitted.from]);
	const [head = "", tail = ""] = text.split(/\[… .*left out.*\]\n/);
	const missing = await session.output(omitted.from, { limit: omitted.to - omitted.from });
	const raw = Buffer.concat([
		(await session.output(0, { limit: omitted.from })).bytes,
		missing.bytes,
		(await session.output(omitted.to, { limit: end - omitted.to })).bytes,
	]);
	expect(raw.byteLength).toBe(end);
	expect(next).toBe(end);
	const lines = (bytes: Uint8Array) => Buffer.from(bytes).toString().replaceAll("\r\n", "\n");
	expect(lines(raw).startsWith(head)).toBe(true);
	expect(lines(raw).endsWith(tail.split("\n").slice(1).join("\n"))).toBe(true);
}

describe("output as text", () => {
	test("text has no escape sequences, and each progress bar once in its last state", async () => {
		const session = await written(`
import sys
for name in ("numpy", "scipy"):
    print("Collecting " + name)
    for i in range(101):
        sys.stdout.write("\\r\\x1b[2K   \\x1b[32m" + "━" * (i // 3) + "\\x1b[0m " + str(i) + "% eta 0:00:01")
    print()
print("\\x1b[1mSuccessfully installed\\x1b[0m")`);
		const { text, end } = await session.text();
		const bar = `   ${"━".repeat(33)} 100% eta 0:00:01`;
		expect(text).toBe(`Collecting numpy\n${bar}\nCollecting scipy\n${bar}\nSuccessfully installed\n`);
		expect(Buffer.byteLength(text)).toBeLessThan(end / 10);
	});

	test("redrawn lines of a builder appear once", async () => {
		const session = await written(`
import sys
crates = ["serde", "tokio", "regex"]
for i in range(300):
    sys.stdout.write("\\x1b[K\\x1b[1m\\x1b[32m   Compiling\\x1b[0m " + crates[i % 3] + " v1." + str(i) + "\\n" if i % 100 == 0 else "")
    sys.stdout.write("\\x1b[K\\x1b[36m    Building\\x1b[0m [" + "=" * (i // 10) + "> ] " + str(i) + "/300: " + crates[i % 3] + "\\r")
sys.stdout.write("\\x1b[K    Finished dev in 3.2s\\n")`);
		const { text, end } = await session.text();
		expect(text).toBe(
			"   Compiling serde v1.0\n   Compiling tokio v1.100\n   Compiling regex v1.200\n    Finished dev in 3.2s\n",
		);
		expect(Buffer.byteLength(text)).toBeLessThan(end / 10);
	});

	test.each(Object.entries(installers))("Text that is small and honest: %s", async (_, script) => {
		const session = await written(script);
		const { text, omitted, end } = await session.text(0, { max: 80_000 });
		expect(omitted).toBeNull();
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(end / 10);
		for (const max of [500, 1_000, 2_000]) {
			const part = await session.text(0, { max });
			expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(max);
			if (!part.omitted) throw new Error("nothing is left out");
			const { from, to } = part.omitted;
			const [head = "", tail = ""] = part.text.split(/\[… [\d,]+ bytes left out: .*\]\n/);
			expect(part.text).toContain(`since=${from} limit=${to - from}`);
			const missing = await session.text(from, { limit: to - from, max: 80_000 });
			expect(head + missing.text + tail).toBe(text);
		}
	});

	test("repeated lines are counted", async () => {
		const session = await written(
			"print('start'); [print('retrying') for _ in range(240)]; print('a'); print('a'); print('end')",
		);
		expect((await session.text()).text).toBe("start\nretrying\n[… the same line 239× more]\na\na\nend\n");
	});

	test("a full screen is summarized by its size, with its content if it is still shown", async () => {
		const session = await written(`
print("$ vim")
print("\\x1b[?1049h" + "\\x1b[Hline\\r\\n" * 1000 + "\\x1b[?1049l$ ls")
print("file")
print("\\x1b[?1049h\\x1b[Hdraft\\x1b[3;2Hmore\\x1b[H\\x1b[Kfinal", end="")`);
		const shown = "[it shows now:]\nfinal\n\n more\n";
		expect((await session.text()).text).toBe(
			`$ vim\n[full screen, 10 KB]\n$ ls\nfile\n[full screen, 29 bytes so far]\n${shown}`,
		);
		expect((await session.text(2_000)).text).toMatch(/^\[full screen, \d+ KB\]\n\$ ls\nfile\n/);
		// Parts of a screen are not shown as text.
		const { end } = await session.text();
		expect((await session.text(end - 5)).text).toBe(`[full screen, 5 bytes so far]\n${shown}`);
	});

	test("a large screen is shown as far as the budget allows", async () => {
		const session = await written(`
print("\\n".join("before " + str(i) for i in range(300)))
print("\\x1b[?1049h" + "".join("\\x1b[" + str(i) + ";1Hrow " + str(i) + "x" * 60 for i in range(1, 25)), end="")`);
		for (const max of [500, 1_000, 9_600]) {
			const { text } = await session.text(0, { max });
			expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
			expect(text).toMatch(/\n\[full screen, \d KB so far\]\n\[it shows now:\]\nrow 1x+\n/);
			expect(text).toMatch(max === 9_600 ? /\nrow 24x+\n$/ : /\n\[… \d+ more rows\]\n$/);
		}
	});

	test("a long text keeps its beginning, its end and errors in between within the budget, and names the omission", async () => {
		const session = await written(
			"for i in range(5000): print('test', i, 'FAILED: assertion' if i in (900, 4000) else 'ok')",
		);
		for (const max of [500, 2_000, 9_600]) {
			const output = await session.text(0, { max });
			expect(Buffer.byteLength(output.text)).toBeLessThanOrEqual(max);
			expect(Buffer.byteLength(output.text)).toBeGreaterThan(max / 2);
			expect(output.text).toMatch(/^test 0 ok\n/);
			expect(output.text).toMatch(/test 4999 ok\n$/);
			expect(output.text).toMatch(/errors in there:\]\ntest 900 FAILED: assertion\ntest 4000 FAILED: assertion\n/);
		}
		await expectHonest(session, await session.text(0, { max: 80_000 }));
		const short = await session.text(0, { limit: 1000 });
		expect(short).toMatchObject({ next: 1000, omitted: null });
	});

	test("text of 40 MB costs no more than of two", async () => {
		const session = await written("import os; [os.write(1, b'x' * 99 + b'\\n') for _ in range(400_000)]");
		const before = process.memoryUsage().rss;
		// Some 100 ms; rendering all of it would take seconds.
		const ms = await processorMs(async () => {
			expect(Buffer.byteLength((await session.text()).text)).toBeLessThanOrEqual(9_600);
		});
		expect(ms).toBeLessThan(3_000);
		expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
	});

	test("text marks output that is gone", async () => {
		const { id } = await server.create({
			command: "seq 200000",
			retain: { memoryBytes: 65_536, journalBytes: 0 },
		});
		const session = connect({ url: server.url, token: TOKEN }).sessions.at(id);
		await session.wait({ exit: true });
		const { gap, text } = await session.text();
		expect(gap).toMatchObject({ from: 0, reason: "retention" });
		expect(text).toMatch(/\n200000\n$/);
	});
});
