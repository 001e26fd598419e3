/** The screen at an earlier offset, from a checkpoint and later output, equals that of a terminal with all output. */

import { randomInt } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/system-clock.ts";
import type { Event } from "../../src/core/log/event.ts";
import type { Session } from "../../src/core/session/session.ts";
import { Scan } from "../../src/core/terminal/terminal-scan.ts";
import { snapshotOfNewestOutput } from "../../src/emulator/newest-output.ts";
import { type OpenedTerminal, openTerminal } from "../../src/emulator/xterm-internals.ts";
import { XtermModel } from "../../src/emulator/xterm-model.ts";
import { FileCheckpoints } from "../../src/services/screens/checkpoints.ts";
import { SessionScreens } from "../../src/services/screens/session-screens.ts";
import { scanAsSequences } from "../../src/services/screens/starting-point.ts";
import type { Size } from "../../src/words/state.ts";
import { startTestServer, type TestServer } from "../support/native-server.ts";
import { itemsUntil } from "../support/reading.ts";
import { COLS, play, programs, ROWS } from "../support/screen-programs.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { isSound, stateOf } from "../support/terminal-state.ts";

/** Offsets per program; more than 200 in total. */
const PLACES = 18;
const CHECKPOINTS = 6;
const SCROLLBACK = 200;
/** Allowed share of offsets with half of a wide character, or with the cursor beyond an erased edge. */
const MAX_DIFFERENT = 0.01;

/** Offsets of a full-screen program in its newest output, and in its first. */
const NEWEST_PLACES = 100;
const NEWEST_BYTES = 4 * 1024;
const BEGIN_BYTES = 1024;

const { signal } = new AbortController();
const unreachable: string[] = [];
let toldByNewest = 0;

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024 });
});
afterAll(() => server.close());

it.each(programs)("$name", { timeout: 60_000 }, async (program) => {
	const session = server.sessions.get(await play(server, program));
	if (!session) throw new Error("the session is gone");
	const events = (await itemsUntil(session, { offset: 0 })).filter((item): item is Event => item.kind !== "gap");
	const length = events.at(-1)?.offset ?? 0;
	const screens = await screensWithCheckpoints(session, events);
	const isResized = (to: number) => events.some((event) => event.kind === "resized" && event.offset < to);
	const ended = { hasScrollback: false, isResized: isResized(length) };
	const atTheEnd = stateOf(shown(events, { from: 0, to: length }), ended);

	for (let places = 0; places < PLACES; places++) {
		const offset = randomInt(length + 1);
		const { bytes, cols, rows } = await screens.snapshot(session, { signal, at: { offset }, scrollback: SCROLLBACK });
		const expected = shown(events, { from: 0, to: offset });
		const where = `${program.name}, at byte ${offset} of ${length}`;
		if (!isSound(expected)) {
			unreachable.push(where);
			continue;
		}
		const snapshot = { bytes, size: { cols, rows } };
		const there = { isResized: isResized(offset) };
		const restored = shown([], { from: offset, to: offset, snapshot });
		expect(stateOf(restored, there), where).toEqual(stateOf(expected, there));
		// A terminal that continues from there shows the same as one that stayed connected.
		const returned = shown(events, { from: offset, to: length, snapshot });
		expect(stateOf(returned, ended), where).toEqual(atTheEnd);
	}
});

it.each(programs.filter(({ name }) => ["vim", "less", "nvim"].includes(name)))(
	"$name is rendered correctly from its newest output alone, or not at all",
	{ timeout: 60_000 },
	async (program) => {
		const session = server.sessions.get(await play(server, program));
		if (!session) throw new Error("the session is gone");
		const events = (await itemsUntil(session, { offset: 0 })).filter((item): item is Event => item.kind !== "gap");
		const length = events.at(-1)?.offset ?? 0;
		for (let places = 0; places < NEWEST_PLACES; places++) {
			const offset = randomInt(length + 1);
			const drawn = drawnAt(events, offset);
			if (!drawn) continue;
			toldByNewest++;
			const restored = new XtermModel(drawn.size);
			restored.feed(drawn.snapshot);
			const whole = shown(events, { from: 0, to: offset });
			if (!isSound(whole)) continue;
			const where = `${program.name}, at byte ${offset} of ${length}`;
			expect(visible(restored.opened), where).toEqual(visible(whole));
		}
	},
);

it("enough offsets are rendered from the newest output alone for the comparison to matter", () => {
	expect(toldByNewest).toBeGreaterThan(NEWEST_PLACES / 20);
});

it("screens differ at very few offsets, and only where no sequence can restore xterm's state", () => {
	expect(unreachable.length, unreachable.join("; ")).toBeLessThanOrEqual(MAX_DIFFERENT * PLACES * programs.length);
});

/**
 * The screen of a full-screen program at an offset, from a part of its output; undefined outside of such a program or
 * if unknown.
 */
function drawnAt(events: readonly Event[], offset: number): { snapshot: Uint8Array; size: Size } | undefined {
	const before = events.filter((event) => event.offset < offset);
	const output = Buffer.concat(before.flatMap((event) => (event.kind === "output" ? [event.bytes] : []))).subarray(
		0,
		offset,
	);
	const scan = new Scan();
	scan.feed(output);
	const { isOn, since } = scan.state.alternate;
	const resized = before.findLast((event) => event.kind === "resized");
	const from = Math.max(offset - NEWEST_BYTES, resized?.offset ?? 0);
	if (!isOn || from < since + BEGIN_BYTES) return undefined;
	const begin = Buffer.concat([
		output.subarray(0, since + BEGIN_BYTES),
		Buffer.from("\x18"),
		scanAsSequences(scan.state),
	]);
	const size = resized?.kind === "resized" ? resized.size : { cols: COLS, rows: ROWS };
	const snapshot = snapshotOfNewestOutput({
		size,
		scrollback: SCROLLBACK,
		before: begin,
		newest: output.subarray(from),
	});
	return snapshot && { snapshot, size };
}

/** Without state that only a resize reveals, and without what is behind the program. */
function visible(opened: OpenedTerminal) {
	const { screen, behind: _, titles: __, ...rest } = stateOf(opened, { hasScrollback: false, isResized: true });
	return { ...rest, screen: { ...screen, saved: null, lines: screen.lines.map((line) => line?.replace("↪", "|")) } };
}

/** Screens without a live model: a few checkpoints at random offsets, and the log. */
async function screensWithCheckpoints(session: Session, events: readonly Event[]): Promise<SessionScreens> {
	const file = join(await temporaryDirectory(), "screens");
	const checkpoints = new FileCheckpoints(file);
	const screens = new SessionScreens({
		sessions: server.sessions,
		clock: systemClock,
		checkpointFile: () => file,
		report: (problem) => server.problems.push(problem),
	});
	onTestFinished(async () => {
		await screens.close();
		expect(server.problems).toEqual([]);
	});
	for (let taken = 0; taken < CHECKPOINTS; taken++) {
		const event = events[randomInt(events.length)];
		if (event?.kind !== "output") continue;
		const at = { offset: event.offset + event.bytes.byteLength };
		const { bytes, ...place } = await screens.snapshot(session, { signal, at, scrollback: SCROLLBACK });
		await checkpoints.add({ ...place, time: event.time, snapshot: bytes });
	}
	return screens;
}

type Part = {
	readonly from: number;
	readonly to: number;
	/** The initial screen, if it does not start at the first byte. */
	readonly snapshot?: { readonly bytes: Uint8Array; readonly size: Size };
};

/** A terminal with a part of a log applied, including resizes. */
function shown(events: readonly Event[], { from, to, snapshot }: Part): OpenedTerminal {
	const opened = openTerminal({ ...(snapshot?.size ?? { cols: COLS, rows: ROWS }), scrollback: SCROLLBACK });
	// As one write: xterm loses characters that are cut in two.
	let waiting: Uint8Array[] = snapshot ? [snapshot.bytes] : [];
	const flush = () => {
		if (waiting.length > 0) opened.inside.writeSync(Buffer.concat(waiting));
		waiting = [];
	};
	for (const event of events) {
		if (event.kind === "output") {
			const [begin, end] = [Math.max(from - event.offset, 0), to - event.offset];
			if (end > 0) waiting.push(event.bytes.subarray(begin, end));
		} else if (event.kind === "resized" && event.offset >= from && event.offset < to) {
			flush();
			opened.terminal.resize(event.size.cols, event.size.rows);
		}
	}
	flush();
	return opened;
}
