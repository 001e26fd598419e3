/** Which sessions the table shows, in which order, and which one is selected. */

import {
	dismissalKey,
	groupSessions,
	keepOrder,
	type LiveSessions,
	type SessionFilter,
	type SessionInfo,
	withPendingStarts,
} from "../../client/index.ts";
import { flattenGroups, type Row, type RowNote, toRow } from "./rows.ts";

export type TableOptions = {
	readonly wanted: Omit<SessionFilter, "q">;
	/** Whether to show only sessions that need attention. */
	readonly isNeeding: boolean;
	/** Sessions to hide: those this command runs in, whose output it would change itself. */
	readonly hidden: readonly string[];
};

/** Rows keep their order for this long after a key, so that the next key does not hit another row. */
const ORDER_HOLD_MS = 2_000;

export class TableState {
	readonly #options: TableOptions;
	readonly #dismissed = new Set<string>();
	/** Outcomes of answers, by session; `until` is monotonic time. */
	readonly #notes = new Map<string, RowNote & { readonly until: number }>();
	#rows: readonly Row[] = [];
	#counts = { needing: 0, running: 0, ended: 0 };
	/** The selected session; undefined until a key selects one. */
	#selected: string | undefined;
	#index = 0;
	#top = 0;
	#query = "";
	#isNeeding: boolean;
	/** Monotonic time. */
	#heldUntil = 0;

	constructor(options: TableOptions) {
		this.#options = options;
		this.#isNeeding = options.isNeeding;
	}

	get rows(): readonly Row[] {
		return this.#rows;
	}

	get counts(): { readonly needing: number; readonly running: number; readonly ended: number } {
		return this.#counts;
	}

	/** Index of the selected row. */
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

	/**
	 * Updates the sessions and returns those that need attention, regardless of the filter. While the order is held, rows
	 * only change in place.
	 */
	update(
		{ all, held }: Pick<LiveSessions, "all" | "held">,
		{ now, isHeld }: { readonly now: number; readonly isHeld: boolean },
	): Row[] {
		const { wanted, hidden } = this.#options;
		const circumstances = { now, dismissed: this.#dismissed, held };
		const others = withPendingStarts(all, held).filter(({ id }) => !hidden.includes(id));
		const groups = groupSessions(others, { ...wanted, q: this.#query }, circumstances);
		const { needing, running, ended } = groups;
		this.#counts = { needing: needing.length, running: running.length, ended: ended.length };
		const fresh = flattenGroups(this.#isNeeding ? { needing, running: [], ended: [] } : groups);
		const order = this.#rows.map(({ session }) => session.id);
		const shown = isHeld || this.isHeld ? keepOrder(order, fresh, ({ id }) => id) : fresh;
		this.#dropNotes();
		this.#rows = shown.map((session) => toRow(session, circumstances, this.#notes.get(session.id)));
		const found = this.#rows.findIndex(({ session }) => session.id === this.#selected);
		// If the selected session is gone, keep the index.
		if (found >= 0 || this.#selected === undefined) this.#index = Math.max(0, found);
		else this.#select(this.#index);
		const unfiltered =
			this.#query === "" ? needing : groupSessions(others, { ...wanted, q: "" }, circumstances).needing;
		return unfiltered.map(({ session }) => toRow(session, circumstances));
	}

	/** Shows the outcome of an answer in the session's row, for this long. */
	note(session: Pick<SessionInfo, "id">, note: RowNote, ms: number): void {
		this.#notes.set(session.id, { ...note, until: performance.now() + ms });
	}

	get hasNotes(): boolean {
		return this.#notes.size > 0;
	}

	#dropNotes(): void {
		for (const [id, { until }] of this.#notes) if (until <= performance.now()) this.#notes.delete(id);
	}

	/** First visible row, such that the selected one is visible. */
	topFor(room: number): number {
		const top = Math.min(this.#top, this.#rows.length - room, this.#index);
		this.#top = Math.max(0, top, this.#index - room + 1);
		return this.#top;
	}

	/** The user has pressed a key: hold the order. */
	holdOrder(): void {
		this.#heldUntil = performance.now() + ORDER_HOLD_MS;
		this.#selected ??= this.row?.session.id;
	}

	move(by: number): void {
		this.#select(this.#index + by);
	}

	/** Changes the filter, which ends the hold. */
	change({ query = this.#query, isNeeding = this.#isNeeding }: { query?: string; isNeeding?: boolean }): void {
		this.#query = query;
		this.#isNeeding = isNeeding;
		this.#heldUntil = 0;
	}

	/** Filters by words and selects the first match. */
	find(query: string): void {
		this.change({ query });
		this.#selected = undefined;
	}

	/** Marks the session's need as seen. */
	dismiss(session: SessionInfo): void {
		this.#dismissed.add(dismissalKey(session));
		this.#heldUntil = 0;
	}

	#select(index: number): void {
		this.#index = Math.max(0, Math.min(index, this.#rows.length - 1));
		this.#selected = this.row?.session.id;
	}
}
