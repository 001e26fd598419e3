/** Screens of sessions: models on demand, checkpoints as a cache, and a thread that may crash. */

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { MemoryCheckpoints } from "../../../src/services/screens/checkpoints.ts";
import { SessionScreens } from "../../../src/services/screens/session-screens.ts";
import { startOfNow } from "../../../src/services/screens/starting-point.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { lines, localScreens, shows, signal, type } from "../../support/local-screens.ts";
import { eventually } from "../../support/run-program.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

it("a screen is the same after the thread has ended, also for waiting requests", async () => {
	const { screens, thread, start } = await localScreens();
	const session = await start("printf '\\033[?1049hpicture'; read -r x");
	await shows(screens, session, "picture");
	await thread.close();
	expect(await lines(screens, session)).toEqual(["picture"]);
	const asked = lines(screens, session);
	await thread.close();
	expect(await asked).toEqual(["picture"]);
});

it("output that would keep an emulator busy forever neither slows down nor changes a screen", async () => {
	const { screens, start } = await localScreens();
	const session = await start(
		"printf '\\033[2147483647S\\033[2147483647T\\033[2147483647L\\033[2147483647M\\033[99999999I'; printf 'x\\033[2147483647b'; printf '\\033[24;80H\\033[1Jdone'; read -r x",
	);
	await shows(screens, session, `${" ".repeat(79)}d`);
});

it("a screen leaves a checkpoint before a resize, and only complete checkpoints of the server count", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const first = await localScreens({ file });
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
	// A wrong checkpoint shows that it is used: the screen then differs from the log.
	const [line = ""] = whole.split("\n").filter((each) => each !== "");
	await writeFile(file, `garbage\n${whole}`);
	await appendFile(file, `\n${line.replace('"offset":3', '"offset":2')}\n{"seq":1}\n${whole.slice(0, 40)}`);
	expect(await lines(others, session)).toEqual(["one two"]);
});

it("a terminal that was resized repeatedly is rendered without the sizes between which nothing was written", async () => {
	const { screens, thread, start } = await localScreens();
	const session = await start("printf one; read -r x");
	await eventually(async () => (await session.end()).offset === 3);
	for (let cols = 100; cols < 1_100; cols++) await session.act({ kind: "resize", size: { cols, rows: 24 } });
	const asked = vi.spyOn(thread, "ask");
	expect(await screens.read(session, { signal })).toMatchObject({ cols: 1_099, rows: 24 });
	expect(await lines(screens, session)).toEqual(["one"]);
	expect(asked.mock.calls.filter(([, name]) => name === "resize").length).toBeLessThan(100);
});

it("the first screen of a long session is rendered from its newest output, on either screen", async () => {
	const { screens, thread, start } = await localScreens();
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
		const { offset } = await startOfNow(session, { thread, checkpoints: new MemoryCheckpoints() }, signal);
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

it("the screen of a program that redraws everything needs only the newest output", async () => {
	const { screens, thread, start } = await localScreens();
	const drawing = `awk 'BEGIN { printf "behind\\n\\033[?1049h"; for (frame = 1; frame <= 20000; frame++) for (row = 1; row <= 24; row++) printf "\\033[%d;1H\\033[3%dmframe %d\\033[m\\033[K", row, row % 8, frame }'`;
	const session = await start(
		`stty -echo; ${drawing}; read -r x; printf '\\033[2;1Hmore '; read -r x; printf '\\033[?1049l'; read -r x`,
	);
	await eventually(
		async () => (await session.info()).terminal !== null && (await session.end()).offset > 10_000_000,
		20_000,
	);
	await shows(screens, session, "frame 20000");
	const { offset, snapshot } = await startOfNow(session, { thread, checkpoints: new MemoryCheckpoints() }, signal);
	expect(offset).toBe((await session.end()).offset);
	expect(snapshot?.byteLength).toBeGreaterThan(0);
	expect(await lines(screens, session)).toEqual(Array(24).fill("frame 20000"));
	const { cells } = await screens.cells(session, { signal });
	expect(cells[2]?.[0]).toMatchObject({ text: "frame 20000", style: { fg: 3 } });
	await type(session, "\n");
	await eventually(async () => (await lines(screens, session))[1] === "more  20000");
	await type(session, "\n");
	await eventually(async () => (await lines(screens, session)).at(-1) === "behind");
});

it("a model without requests is dropped after a minute, and the next request gets the same screen", async () => {
	const clock = new FakeClock();
	const { screens, start } = await localScreens({ clock });
	const session = await start("printf '\\033[?1049hpicture'; read -r x");
	await shows(screens, session, "picture");
	const screen = await screens.read(session, { signal });
	const isKept = () => screens.earlier(session, screen.seq) !== undefined;
	screens.remember(session, screen);
	clock.advance(59_000);
	expect(isKept()).toBe(true);
	// Each request keeps it for another minute.
	await screens.read(session, { signal });
	clock.advance(59_000);
	expect(isKept()).toBe(true);
	clock.advance(11_000);
	expect(isKept()).toBe(false);
	expect(await lines(screens, session)).toEqual(["picture"]);
});

it("a screen whose output has ended the thread three times is given up, and others are still rendered", async () => {
	const { screens, thread, start } = await localScreens();
	const [flood, other] = [await start("exec yes"), await start("printf other; read -r x")];
	const asked = new AbortController();
	onTestFinished(() => asked.abort());
	const refused = (async () => {
		while (!asked.signal.aborted) await screens.read(flood, { signal: asked.signal });
	})().catch((error: unknown) => error);
	const end = async () => {
		// Its output is always in flight, and there are no other requests.
		const { offset } = await flood.end();
		await eventually(async () => (await flood.end()).offset > offset + 1_000_000);
		await thread.close();
	};
	while ((await Promise.race([refused, end().then(() => "not yet")])) === "not yet");
	expect(await refused).toMatchObject({ code: "limit_exceeded" });
	await expect(screens.read(flood, { signal })).rejects.toMatchObject({ code: "limit_exceeded" });
	expect(await lines(screens, other)).toEqual(["other"]);
});

it("the oldest model is dropped when all models together have too many cells", async () => {
	const { screens, start } = await localScreens();
	const shown: { readonly session: Session; readonly seq: number }[] = [];
	// 3 million cells each, with scrollback and the second screen: the seventh exceeds the 20 million.
	for (let count = 0; count < 7; count++) {
		const session = await start(`printf 'screen %d' ${count}; read -r x`);
		await session.act({ kind: "resize", size: { cols: 10_000, rows: 50 } });
		await shows(screens, session, `screen ${count}`);
		const screen = await screens.read(session, { signal });
		screens.remember(session, screen);
		shown.push({ session, seq: screen.seq });
	}
	expect(shown.map(({ session, seq }) => screens.earlier(session, seq) !== undefined)).toEqual([
		false,
		...Array(6).fill(true),
	]);
	for (const [count, { session }] of shown.entries())
		expect(await lines(screens, session)).toEqual([`screen ${count}`]);
});

it("a screen request does not count as an attachment", async () => {
	const { screens, start } = await localScreens();
	const session = await start("printf here; read -r x");
	await shows(screens, session, "here");
	expect((await session.info()).attachments).toBe(0);
});
