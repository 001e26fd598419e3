/**
 * Merges similar entries. One line per key press would say no more than one for all, and a caller that repeats an action
 * endlessly could push the entries of others out of the record.
 */

import type { Clock } from "../core/async/clock.ts";
import type { AuditEntry } from "../core/policy/audit.ts";

/**
 * Longest time that one entry covers.
 * @limit repeats that one entry combines | the next entry begins
 */
const GATHER_MS = 5_000;
/**
 * Input bytes that one entry covers.
 * @limit input that one entry combines | the next entry begins
 */
const GATHER_BYTES = 1024 * 1024;
/** Entries that are merged at a time, some hundred bytes each. One more writes the oldest. */
const MAX_OPEN = 1_000;
/**
 * Merged entries per caller in that time. Further actions get one entry per kind, so varying them gains a caller no more
 * lines: at most 20 per second, which fill a record of 64 MiB in hours.
 * @limit combined entries of one caller in that time | one entry for each action, marked `various`
 */
const MAX_OF_ONE = 100;
/**
 * Merged entries of all callers, since one user may have many tokens. Further actions get one entry per kind without a caller.
 * @limit combined entries of all callers in that time | one entry for each action, without a caller
 */
const MAX_OF_ALL = 500;

/** An entry, its start, and the number of merged ones. If they vary, it is one of them. */
export type MergedEntry = {
	readonly entry: AuditEntry;
	readonly time: number;
	readonly count: number;
	readonly isVarious: boolean;
};

export class Merger {
	readonly #clock: Clock;
	readonly #write: (gathered: MergedEntry) => void;
	/** By caller, action and target; oldest first. */
	readonly #open = new Map<string, MergedEntry>();
	/** Entries begun by each caller since the last flush. Unknown callers count as one. */
	readonly #begun = new Map<string | null, number>();
	#begunByAll = 0;
	#cancel: (() => void) | undefined;

	constructor(clock: Clock, write: (gathered: MergedEntry) => void) {
		this.#clock = clock;
		this.#write = write;
	}

	add(entry: AuditEntry): void {
		const time = this.#clock.now();
		const alike = keyOf(entry);
		if (alike === undefined) {
			// Earlier actions must be written first: those on the same session, or else of the same caller.
			this.#flushAll(({ entry: { by, session } }) =>
				entry.session === undefined ? by?.id === entry.by?.id : session === entry.session,
			);
			this.#write({ entry, time, count: 1, isVarious: false });
			return;
		}
		const { key, isVarious } = this.#open.has(alike) ? { key: alike, isVarious: false } : this.#begin(entry, alike);
		const known = this.#open.get(key);
		const gathered = known
			? { ...known, entry: merged(known.entry, entry), count: known.count + 1 }
			: { entry, time, count: 1, isVarious };
		this.#open.set(key, gathered);
		if (!isVarious && gathered.entry.action === "input" && gathered.entry.bytes >= GATHER_BYTES) {
			this.#flush(key, gathered);
		}
		const [oldest] = this.#open;
		if (oldest && this.#open.size > MAX_OPEN) this.#flush(...oldest);
		this.#cancel ??= this.#clock.after(GATHER_MS, () => this.flush());
	}

	/** Writes all merged entries. */
	flush(): void {
		this.#cancel?.();
		this.#cancel = undefined;
		this.#flushAll(() => true);
		this.#begun.clear();
		this.#begunByAll = 0;
	}

	/** Where a new entry is merged: separately, unless its caller or all callers have too many. */
	#begin({ by, action }: AuditEntry, alike: string): { readonly key: string; readonly isVarious: boolean } {
		const caller = by?.id ?? null;
		const begun = this.#begun.get(caller) ?? 0;
		if (begun >= MAX_OF_ONE) return { key: JSON.stringify([caller, action]), isVarious: true };
		if (this.#begunByAll >= MAX_OF_ALL) return { key: JSON.stringify([action]), isVarious: true };
		this.#begun.set(caller, begun + 1);
		this.#begunByAll++;
		return { key: alike, isVarious: false };
	}

	#flushAll(isMeant: (gathered: MergedEntry) => boolean): void {
		for (const [key, gathered] of this.#open) if (isMeant(gathered)) this.#flush(key, gathered);
	}

	#flush(key: string, gathered: MergedEntry): void {
		this.#open.delete(key);
		this.#write(gathered);
	}
}

type Action = AuditEntry["action"];

/** The members that similar entries of an action have in common. Entries of other actions get a line each. */
const common: { readonly [Name in Action]?: readonly (keyof Extract<AuditEntry, { readonly action: Name }>)[] } = {
	input: ["stream"],
	attach: [],
	detach: [],
	run: [],
	resize: [],
	read: [],
	eof: [],
	"sign-in-link": [],
	"sign-in": [],
	"sign-out": [],
	signal: ["signal"],
	kill: ["signal"],
	remove: ["force"],
	"task-set": ["task"],
	"task-removed": ["task"],
	"webhook-tested": ["webhook"],
	"webhook-retried": ["webhook", "retried"],
	files: ["method"],
	proxy: ["port"],
	ticket: ["ticket"],
	control: ["exclusive"],
	"take-over": ["exclusive"],
	refused: ["code", "right", "route"],
};

/** Identifies similar entries; undefined for actions that get a line each. */
function keyOf(entry: AuditEntry): string | undefined {
	const { by, session, workspace, action } = entry;
	const members: readonly string[] | undefined = common[action];
	if (!members) return undefined;
	// A refused caller without a session may have invented the workspace.
	const where = action === "refused" && session === undefined ? null : [session, workspace];
	const values: Readonly<Record<string, unknown>> = { ...entry };
	return JSON.stringify([by?.id, by?.from, by?.front, action, where, ...members.map((member) => values[member])]);
}

/** Sums input from its start; keeps the last of other entries. Different callers or workspaces are left out. */
function merged(before: AuditEntry, entry: AuditEntry): AuditEntry {
	const by = before.by?.id === entry.by?.id ? entry.by : null;
	if (before.action === "input" && entry.action === "input")
		return { ...before, by: by && before.by, bytes: before.bytes + entry.bytes };
	if (before.workspace === entry.workspace) return { ...entry, by };
	const { workspace: _, ...rest } = entry;
	return { ...rest, by };
}
