/**
 * Reports the screens of several sessions as they change. The reader takes updates at its own pace: a screen whose
 * update was not taken yet is not read again, so a slow reader costs less, not more.
 */

import { limits } from "../../api/messages.ts";
import type { ScreenRunMessage, ScreensError, ScreenUpdate } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { Change } from "../../core/async/change.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { ScreenRow } from "../../core/terminal/screen-view.ts";
import { untilNewEvent } from "../waits/screen.ts";
import { withoutBlanks } from "./rows.ts";

/**
 * Shortest time between two reads of one screen, in milliseconds.
 * @limit updates of one screen in a stream of screens | one in % | updates in between are combined
 */
const LOOK_MS = 100;
/** Longest wait for new output before the screen is read again, in milliseconds, in case a change was missed. */
const WAIT_MS = 60_000;
/** Retry delay for a screen that is not available, in milliseconds. */
const AWAY_MS = 1_000;

/** One screen and the state that was last reported. */
type Tile = {
	readonly over: AbortController;
	/** The next update to report. */
	due: Shown | SessionError | undefined;
	reported: Shown | undefined;
};

type Shown = Omit<ScreenUpdate, "session" | "changes" | "reset"> & {
	readonly lines: readonly ScreenRunMessage[][];
	/** Serialized lines and other fields, for comparison. */
	readonly texts: readonly string[];
	readonly rest: string;
};

type BoardEvent =
	| { readonly kind: "screen"; readonly update: ScreenUpdate }
	| { readonly kind: "error"; readonly error: ScreensError };

type BoardOptions = {
	readonly screens: ScreenReader;
	/** Opens a session for reading. Throws if the caller may not read it, or not now. */
	readonly open: (id: string) => { readonly session: Session; readonly leave: () => void };
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
	readonly signal: AbortSignal;
};

export class ScreenUpdates {
	readonly #options: BoardOptions;
	readonly #tiles = new Map<string, Tile>();
	/** Sessions with pending updates, in order. */
	readonly #due = new Set<string>();
	readonly #change = new Change();
	readonly #taken = new Change();

	constructor(options: BoardOptions) {
		this.#options = options;
		options.signal.addEventListener("abort", () => this.show([]), { once: true });
	}

	/** Replaces the set of sessions. Screens that were shown before are reported completely again. */
	show(ids: readonly string[]): void {
		const wanted = new Set(this.#options.signal.aborted ? [] : ids);
		for (const [id, { over }] of this.#tiles) {
			if (wanted.has(id)) continue;
			over.abort();
			this.#tiles.delete(id);
			this.#due.delete(id);
		}
		for (const id of wanted) {
			if (this.#tiles.has(id)) continue;
			const tile: Tile = { over: new AbortController(), due: undefined, reported: undefined };
			this.#tiles.set(id, tile);
			void this.#follow(id, tile);
		}
	}

	/** Updates until the signal aborts. */
	async *changes(): AsyncGenerator<BoardEvent, void, void> {
		const { signal } = this.#options;
		while (!signal.aborted) {
			const [id] = this.#due;
			if (id === undefined) {
				await this.#change.wait(signal);
				continue;
			}
			this.#due.delete(id);
			const tile = this.#tiles.get(id);
			const { due } = tile ?? {};
			if (!tile || !due) continue;
			tile.due = undefined;
			if (due instanceof SessionError) {
				yield { kind: "error", error: { session: id, code: due.code, message: due.message } };
			} else {
				const update = updateOf(id, due, tile.reported);
				tile.reported = due;
				yield { kind: "screen", update };
			}
			this.#taken.happen();
		}
	}

	async #follow(id: string, tile: Tile): Promise<void> {
		const { signal } = tile.over;
		while (!signal.aborted) {
			try {
				await this.#watch(id, tile);
				return;
			} catch (error) {
				if (signal.aborted) return;
				const refusal = SessionError.from(error);
				if (refusal.code === "internal") this.#options.report(error);
				if (refusal.code !== "node_unavailable") return this.#put(id, tile, refusal);
				await sleep(AWAY_MS, signal);
			}
		}
	}

	async #watch(id: string, tile: Tile): Promise<void> {
		const { signal } = tile.over;
		const { session, leave } = this.#options.open(id);
		try {
			for (;;) {
				// Checked before reading: a screen that is read after the end is final.
				const isLast = isEnded(session.state);
				const shown = await this.#read(session, signal);
				if (signal.aborted) return;
				if (!isSame(shown, tile.reported)) this.#put(id, tile, shown);
				if (isLast) return;
				await Promise.all([
					untilNewEvent(session, { seq: shown.revision, offset: shown.offset }, signal, WAIT_MS),
					sleep(LOOK_MS, signal),
				]);
				while (tile.due && !signal.aborted) await this.#taken.wait(signal);
			}
		} finally {
			leave();
		}
	}

	async #read(session: Session, signal: AbortSignal): Promise<Shown> {
		// Taken before reading: the last reported state must be final.
		const { status: state } = session.state;
		const { cols, rows } = session.state.size;
		if (cols * rows > limits.tileCells) {
			throw new SessionError(
				"limit_exceeded",
				`a screen of ${cols}×${rows} is too large for a stream (limit ${limits.tileCells} cells)`,
			);
		}
		const { offset, seq, alternate, cursor, title, cells, ...size } = await this.#options.screens.cells(session, {
			signal,
		});
		const lines = cells.map(lineOf);
		const common = { revision: seq, cols: size.cols, rows: size.rows, alternate, cursor, title, state };
		const rest = JSON.stringify({ ...common, revision: 0 });
		return { offset, ...common, lines, texts: lines.map((line) => JSON.stringify(line)), rest };
	}

	#put(id: string, tile: Tile, due: Shown | SessionError): void {
		tile.due = due;
		this.#due.add(id);
		this.#change.happen();
	}
}

function lineOf(row: ScreenRow): ScreenRunMessage[] {
	return withoutBlanks(row).map(({ text, cols, style }) =>
		Object.keys(style).length === 0 ? { text, cols } : { text, cols, style },
	);
}

function isSame(shown: Shown, reported: Shown | undefined): boolean {
	return reported?.rest === shown.rest && shown.texts.every((text, row) => text === reported.texts[row]);
}

/** With the lines that have changed; with all lines that are not empty after a change of size. */
function updateOf(session: string, shown: Shown, reported: Shown | undefined): ScreenUpdate {
	const { lines, texts, rest: _, ...common } = shown;
	const isReset = reported?.cols !== shown.cols || reported.rows !== shown.rows;
	const changes = lines.flatMap((runs, row) => {
		const isKnown = isReset ? runs.length === 0 : texts[row] === reported.texts[row];
		return isKnown ? [] : [{ row, runs }];
	});
	return { session, ...common, ...(isReset ? { reset: true } : {}), changes };
}
