/**
 * The screens of several sessions, told one after the other as they change. Whoever reads the changes takes them at its
 * own pace: a screen that was not taken yet is looked at no further, so that a slow reader costs less, not more.
 */

import { Change } from "../../../core/change.ts";
import { SessionError } from "../../../core/errors.ts";
import type { ScreenRow, Screens } from "../../../core/screen.ts";
import type { Session } from "../../../core/session.ts";
import { isEnded } from "../../../core/state.ts";
import { limits } from "../../../protocol/messages.ts";
import type { ScreenRunMessage, ScreensError, ScreenUpdate } from "../../../protocol/screens.ts";
import { untilMore } from "../../screen-wait.ts";
import { pause } from "../pause.ts";
import { withoutBlanks } from "../screen/rows.ts";

/** Between two looks at one screen, in milliseconds: people see no more of it in a small picture. */
const LOOK_MS = 100;
/** How long more output is waited for until a look, in milliseconds, in case that it was missed. */
const WAIT_MS = 60_000;
/** Before a screen that can't be had now is asked for again, in milliseconds. */
const AWAY_MS = 1_000;

/** One screen, and what was told of it. */
type Tile = {
	readonly over: AbortController;
	/** What is to be told next. */
	due: Shown | SessionError | undefined;
	told: Shown | undefined;
};

type Shown = Omit<ScreenUpdate, "session" | "changes" | "reset"> & {
	readonly lines: readonly ScreenRunMessage[][];
	/** The same as text, by which lines are compared; and by which all the rest is. */
	readonly texts: readonly string[];
	readonly rest: string;
};

type BoardEvent =
	| { readonly kind: "screen"; readonly update: ScreenUpdate }
	| { readonly kind: "error"; readonly error: ScreensError };

export type BoardOptions = {
	readonly screens: Screens;
	/** The session of this id for as long as it is looked at; throws if the caller may not, or may not now. */
	readonly open: (id: string) => { readonly session: Session; readonly leave: () => void };
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
	readonly signal: AbortSignal;
};

export class Board {
	readonly #options: BoardOptions;
	readonly #tiles = new Map<string, Tile>();
	/** Those of which something is due, in this order. */
	readonly #due = new Set<string>();
	readonly #change = new Change();
	readonly #taken = new Change();

	constructor(options: BoardOptions) {
		this.#options = options;
		options.signal.addEventListener("abort", () => this.show([]), { once: true });
	}

	/** From now on these, and no others. What was shown before and is again is told anew. */
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
			const tile: Tile = { over: new AbortController(), due: undefined, told: undefined };
			this.#tiles.set(id, tile);
			void this.#follow(id, tile);
		}
	}

	/** Until the signal aborts. */
	async *changes(): AsyncGenerator<BoardEvent, void, void> {
		const { signal } = this.#options;
		while (!signal.aborted) {
			const [id] = this.#due;
			if (id === undefined) {
				await this.#change.next(signal);
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
				const update = updateOf(id, due, tile.told);
				tile.told = due;
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
				await pause(AWAY_MS, signal);
			}
		}
	}

	async #watch(id: string, tile: Tile): Promise<void> {
		const { signal } = tile.over;
		const { session, leave } = this.#options.open(id);
		try {
			for (;;) {
				// Asked before the reading: a screen that is read after the end is the last.
				const isLast = isEnded(session.state);
				const shown = await this.#look(session, signal);
				if (signal.aborted) return;
				if (!isSame(shown, tile.told)) this.#put(id, tile, shown);
				if (isLast) return;
				await Promise.all([untilMore(session, shown.revision, signal, WAIT_MS), pause(LOOK_MS, signal)]);
				while (tile.due && !signal.aborted) await this.#taken.next(signal);
			}
		} finally {
			leave();
		}
	}

	async #look(session: Session, signal: AbortSignal): Promise<Shown> {
		// Of before the reading: what is told as the last is the last.
		const { status: state } = session.state;
		const { cols, rows } = session.state.size;
		if (cols * rows > limits.tileCells) {
			throw new SessionError("limit_exceeded", `a screen of ${cols} columns and ${rows} rows is too large for this`);
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

function isSame(shown: Shown, told: Shown | undefined): boolean {
	return told?.rest === shown.rest && shown.texts.every((text, row) => text === told.texts[row]);
}

/** With the lines that are not as they were told; with all that have something, if none counts any more. */
function updateOf(session: string, shown: Shown, told: Shown | undefined): ScreenUpdate {
	const { lines, texts, rest: _, ...common } = shown;
	const isReset = told?.cols !== shown.cols || told.rows !== shown.rows;
	const changes = lines.flatMap((runs, row) => {
		const isKnown = isReset ? runs.length === 0 : texts[row] === told.texts[row];
		return isKnown ? [] : [{ row, runs }];
	});
	return { session, ...common, ...(isReset ? { reset: true } : {}), changes };
}
