/** Which sessions are in the table, in which order, and which of them is selected. */

import {
	dismissalOf,
	grouped,
	heldInOrder,
	type Listed,
	type LiveSessions,
	type Wanted,
	withAwaited,
} from "../../client/index.ts";
import { inOrder, type Row, rowOf } from "./rows.ts";

export type ViewOptions = {
	readonly wanted: Omit<Wanted, "q">;
	/** Whether only those are shown that need somebody. */
	readonly isNeeding: boolean;
	/** Sessions that are not shown: those that we run in, which would never come to rest. */
	readonly hidden: readonly string[];
};

/** Rows keep their places for so long after a key: nobody presses the next one on another row than they meant. */
const HOLD_MS = 2_000;

export class View {
	readonly #options: ViewOptions;
	readonly #dismissed = new Set<string>();
	#rows: readonly Row[] = [];
	#counts = { needing: 0, running: 0, ended: 0 };
	/** The session that keys act on; the first, until somebody has pressed one. */
	#selected: string | undefined;
	#index = 0;
	#top = 0;
	#query = "";
	#isNeeding: boolean;
	/** By the monotonic clock. */
	#heldUntil = 0;

	constructor(options: ViewOptions) {
		this.#options = options;
		this.#isNeeding = options.isNeeding;
	}

	get rows(): readonly Row[] {
		return this.#rows;
	}

	get counts(): { readonly needing: number; readonly running: number; readonly ended: number } {
		return this.#counts;
	}

	/** Which of the rows is selected. */
	get index(): number {
		return this.#index;
	}

	get row(): Row | undefined {
		return this.#rows[this.#index];
	}

	get query(): string {
		return this.#query;
	}

	get isNeeding(): boolean {
		return this.#isNeeding;
	}

	get isHeld(): boolean {
		return performance.now() < this.#heldUntil;
	}

	/** Takes in how sessions are now, and gives those that need somebody, whatever words are filtered by. Held rows only change in place. */
	arrange(
		{ all, held }: Pick<LiveSessions, "all" | "held">,
		{ now, isHeld }: { readonly now: number; readonly isHeld: boolean },
	): Row[] {
		const { wanted, hidden } = this.#options;
		const circumstances = { now, dismissed: this.#dismissed, held };
		const others = withAwaited(all, held).filter(({ id }) => !hidden.includes(id));
		const groups = grouped(others, { ...wanted, q: this.#query }, circumstances);
		const { needing, running, ended } = groups;
		this.#counts = { needing: needing.length, running: running.length, ended: ended.length };
		const fresh = inOrder(this.#isNeeding ? { needing, running: [], ended: [] } : groups);
		const order = this.#rows.map(({ session }) => session.id);
		const shown = isHeld || this.isHeld ? heldInOrder(order, fresh, ({ id }) => id) : fresh;
		this.#rows = shown.map((session) => rowOf(session, circumstances));
		const found = this.#rows.findIndex(({ session }) => session.id === this.#selected);
		// Whoever was selected and is gone leaves the cursor where it is.
		if (found >= 0 || this.#selected === undefined) this.#index = Math.max(0, found);
		else this.#select(this.#index);
		const unfiltered = this.#query === "" ? needing : grouped(others, { ...wanted, q: "" }, circumstances).needing;
		return unfiltered.map(({ session }) => rowOf(session, circumstances));
	}

	/** The first row that is shown, where there is room for so many: the selected one is among them. */
	topFor(room: number): number {
		const top = Math.min(this.#top, this.#rows.length - room, this.#index);
		this.#top = Math.max(0, top, this.#index - room + 1);
		return this.#top;
	}

	/** Somebody has pressed a key, and looks at the rows as they are. */
	touch(): void {
		this.#heldUntil = performance.now() + HOLD_MS;
		this.#selected ??= this.row?.session.id;
	}

	move(by: number): void {
		this.#select(this.#index + by);
	}

	/** Other rows, whose places are not those that somebody looked at. */
	change({ query = this.#query, isNeeding = this.#isNeeding }: { query?: string; isNeeding?: boolean }): void {
		this.#query = query;
		this.#isNeeding = isNeeding;
		this.#heldUntil = 0;
	}

	/** Only those with these words; the first of them is selected. */
	find(query: string): void {
		this.change({ query });
		this.#selected = undefined;
	}

	/** Somebody has seen it. */
	dismiss(session: Listed): void {
		this.#dismissed.add(dismissalOf(session));
		this.#heldUntil = 0;
	}

	#select(index: number): void {
		this.#index = Math.max(0, Math.min(index, this.#rows.length - 1));
		this.#selected = this.row?.session.id;
	}
}
