/** The screen at an earlier place, from a checkpoint and the output after it: that of a terminal that saw all before it. */

import { randomInt } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import type { Event, Size } from "../../src/core/event.ts";
import type { Session } from "../../src/core/session.ts";
import { FileCheckpoints } from "../../src/screen/checkpoints.ts";
import { type OpenedTerminal, openTerminal } from "../../src/screen/inside.ts";
import { SessionScreens } from "../../src/screen/screens.ts";
import { startTestServer, type TestServer } from "../fronts/native/test-server.ts";
import { itemsUntil } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { COLS, play, programs, ROWS } from "./programs.ts";
import { isSound, stateOf } from "./terminal-state.ts";

/** Of each program: more than 200 over all of them. */
const PLACES = 18;
const CHECKPOINTS = 6;
const SCROLLBACK = 200;
/** The share of places at which half of a wide character is left, or the cursor stands beyond an edge that was erased. */
const MAX_DIFFERENT = 0.01;

const { signal } = new AbortController();
const unreachable: string[] = [];

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
		// And whoever goes on from there sees what somebody sees who never left.
		const returned = shown(events, { from: offset, to: length, snapshot });
		expect(stateOf(returned, ended), where).toEqual(atTheEnd);
	}
});

it("differs at hardly any place, and only where no sequence leads to what xterm shows", () => {
	expect(unreachable.length, unreachable.join("; ")).toBeLessThanOrEqual(MAX_DIFFERENT * PLACES * programs.length);
});

/** Screens that no model is there for: they have a few checkpoints, at random places, and the log. */
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
	/** What was shown at its beginning, where that is not the first byte. */
	readonly snapshot?: { readonly bytes: Uint8Array; readonly size: Size };
};

/** A terminal that was given a part of a log, with the sizes that it had meanwhile. */
function shown(events: readonly Event[], { from, to, snapshot }: Part): OpenedTerminal {
	const opened = openTerminal({ ...(snapshot?.size ?? { cols: COLS, rows: ROWS }), scrollback: SCROLLBACK });
	// As one: xterm itself loses characters that are cut in two.
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
