/** Screens of sessions: models that come and go, checkpoints that are a cache, and a thread that may die. */

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { inProcess } from "../../src/core/in-process.ts";
import type { Session } from "../../src/core/session.ts";
import { LocalSessions } from "../../src/core/sessions.ts";
import { MemoryCheckpoints } from "../../src/screen/checkpoints.ts";
import { SessionScreens } from "../../src/screen/screens.ts";
import { startOf } from "../../src/screen/start.ts";
import { ScreenThread } from "../../src/screen/thread.ts";
import { eventually } from "../backends/run.ts";
import { shell } from "../helpers/starts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

const { signal } = new AbortController();

async function setUp(file?: string) {
	const home = inProcess({ spawn, clock: systemClock });
	const sessions = new LocalSessions({ homes: { durable: home, transient: home }, maxRunning: 10, maxEnded: 10 });
	const problems: unknown[] = [];
	const thread = new ScreenThread((problem) => problems.push(problem));
	const screens = new SessionScreens({
		sessions,
		clock: systemClock,
		checkpointFile: () => file,
		report: (problem) => problems.push(problem),
		thread,
	});
	onTestFinished(async () => {
		await screens.close();
		await Promise.all(sessions.list().map(({ id }) => sessions.remove(id)));
		expect(problems).toEqual([]);
	});
	const start = (script: string) =>
		sessions.create(shell(script, { retention: { memoryBytes: 64 * 1024 * 1024, journalBytes: 0 } }));
	return { sessions, screens, thread, start };
}

async function lines(screens: SessionScreens, session: Session): Promise<readonly string[]> {
	return (await screens.read(session, { signal })).lines.filter((line) => line !== "");
}

async function shows(screens: SessionScreens, session: Session, text: string): Promise<void> {
	await eventually(async () => (await lines(screens, session)).includes(text), 20_000);
}

const type = (session: Session, text: string) => session.act({ kind: "write", bytes: Buffer.from(text) });

it("is the same after the thread has ended, and for those who waited for it", async () => {
	const { screens, thread, start } = await setUp();
	const session = await start("printf '\\033[?1049hpicture'; read -r x");
	await shows(screens, session, "picture");
	await thread.close();
	expect(await lines(screens, session)).toEqual(["picture"]);
	const asked = lines(screens, session);
	await thread.close();
	expect(await asked).toEqual(["picture"]);
});

it("is told neither slower nor otherwise by output that would keep an emulator busy for ever", async () => {
	const { screens, start } = await setUp();
	const session = await start(
		"printf '\\033[2147483647S\\033[2147483647T\\033[2147483647L\\033[2147483647M\\033[99999999I'; printf 'x\\033[2147483647b'; printf '\\033[24;80H\\033[1Jdone'; read -r x",
	);
	await shows(screens, session, `${" ".repeat(79)}d`);
});

it("leaves a checkpoint before a resize, of which nothing but whole ones of ours count", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const first = await setUp(file);
	const session = await first.start("stty -echo; printf 'one'; read -r x; read -r x; printf ' two'; read -r x");
	await shows(first.screens, session, "one");
	await session.act({ kind: "resize", size: { cols: 60, rows: 10 } });
	await eventually(async () => (await readFile(file, "utf8").catch(() => "")).includes('"offset":3'));
	await type(session, "\n\n");
	await shows(first.screens, session, "one two");

	const whole = await readFile(file, "utf8");
	const others = new SessionScreens({
		sessions: first.sessions,
		clock: systemClock,
		checkpointFile: () => file,
		report: () => {},
	});
	onTestFinished(() => others.close());
	// What it says is believed: there the screen is not what the log says.
	const [line = ""] = whole.split("\n").filter((each) => each !== "");
	await writeFile(file, `garbage\n${whole}`);
	await appendFile(file, `\n${line.replace('"offset":3', '"offset":2')}\n{"seq":1}\n${whole.slice(0, 40)}`);
	expect(await lines(others, session)).toEqual(["one two"]);
});

it("of a long history that nobody has looked at begins with its newest output, on either screen", async () => {
	const { screens, start } = await setUp();
	const flood = "yes 'a line of some length, as logs have them' | head -c 20000000; echo";
	const normal = await start(`printf '\\033]2;title\\007\\033[?2004h'; ${flood}; printf 'last\\007\\n'; read -r x`);
	const alternate = await start(
		`${flood}; echo behind; printf '\\033[?1049h\\033[Hfront'; read -r x; printf '\\033[?1049l'; read -r x`,
	);
	const written = (session: Session) => eventually(async () => (await session.end()).offset > 20_000_000, 20_000);
	await Promise.all([written(normal), written(alternate)]);
	await eventually(async () => (await normal.scan()).bells === 1);
	await eventually(async () => (await alternate.scan()).alternate.isOn);
	for (const session of [normal, alternate]) {
		const { offset } = await startOf(session, new MemoryCheckpoints());
		expect(offset).toBeGreaterThan(20_000_000 - 512 * 1024);
	}
	expect((await lines(screens, normal)).at(-1)).toBe("last");
	expect(await lines(screens, alternate)).toEqual(["front"]);
	const { offset } = await normal.end();
	const exact = await screens.read(normal, { signal, at: { offset } });
	expect(exact.lines).toEqual((await screens.read(normal, { signal })).lines);
	expect((await screens.read(normal, { signal })).title).toBe("title");
	await type(alternate, "\n");
	await eventually(async () => (await lines(screens, alternate)).at(-1) === "behind");
	expect(await lines(screens, alternate)).toHaveLength(23);
});

it("does not count as somebody who is attached", async () => {
	const { screens, start } = await setUp();
	const session = await start("printf here; read -r x");
	await shows(screens, session, "here");
	expect((await session.info()).attachments).toBe(0);
});
