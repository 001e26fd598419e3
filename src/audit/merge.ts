/**
 * Makes one entry of many alike: a line for each key that is pressed would say no more, and whoever may do something
 * without end could push what others did out of the record with it.
 */

import type { AuditEntry } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";

/** How long something may go on until it is told. */
const GATHER_MS = 5_000;
/** How much input is told as one. */
const GATHER_BYTES = 1024 * 1024;
/** How many may be gathered at a time, some hundred bytes each; for one more, the oldest is told. */
const MAX_OPEN = 1_000;

/** An entry, when it began, and how many there were of it. */
export type Gathered = { readonly entry: AuditEntry; readonly time: number; readonly count: number };

export class Merger {
	readonly #clock: Clock;
	readonly #tell: (gathered: Gathered) => void;
	/** By who does what where; oldest first. */
	readonly #open = new Map<string, Gathered>();
	#cancel: (() => void) | undefined;

	constructor(clock: Clock, tell: (gathered: Gathered) => void) {
		this.#clock = clock;
		this.#tell = tell;
	}

	add(entry: AuditEntry): void {
		const time = this.#clock.now();
		const key = keyOf(entry);
		if (key === undefined) {
			// What was done before is told before: to the same session, or else by the same caller.
			this.#flushAll(({ entry: { by, session } }) =>
				entry.session === undefined ? by?.id === entry.by?.id : session === entry.session,
			);
			this.#tell({ entry, time, count: 1 });
			return;
		}
		const known = this.#open.get(key);
		const gathered = known
			? { entry: merged(known.entry, entry), time: known.time, count: known.count + 1 }
			: { entry, time, count: 1 };
		this.#open.set(key, gathered);
		if (gathered.entry.action === "input" && gathered.entry.bytes >= GATHER_BYTES) this.#flush(key, gathered);
		const [oldest] = this.#open;
		if (oldest && this.#open.size > MAX_OPEN) this.#flush(...oldest);
		if (this.#open.size > 0) this.#cancel ??= this.#clock.after(GATHER_MS, () => this.flush());
	}

	/** Tells everything that is there. */
	flush(): void {
		this.#cancel?.();
		this.#cancel = undefined;
		this.#flushAll(() => true);
	}

	#flushAll(isMeant: (gathered: Gathered) => boolean): void {
		for (const [key, gathered] of this.#open) if (isMeant(gathered)) this.#flush(key, gathered);
	}

	#flush(key: string, gathered: Gathered): void {
		this.#open.delete(key);
		this.#tell(gathered);
	}
}

/** What is alike; undefined for what is worth a line of its own. */
function keyOf(entry: AuditEntry): string | undefined {
	const { by, session, workspace, action } = entry;
	const who = [by?.id, by?.from, by?.front, session, workspace, action];
	switch (action) {
		case "input":
			return JSON.stringify([...who, entry.stream]);
		case "resize":
		case "read":
		case "eof":
		case "sign-in-link":
			return JSON.stringify(who);
		case "signal":
			return JSON.stringify([...who, entry.signal]);
		case "ticket":
			return JSON.stringify([...who, entry.right]);
		case "control":
		case "take-over":
			return JSON.stringify([...who, entry.exclusive]);
		case "refused":
			return JSON.stringify([...who, entry.code, entry.right, entry.route]);
		default:
			return undefined;
	}
}

/** Of input the sum, from where it began; of all else the last. */
function merged(before: AuditEntry, entry: AuditEntry): AuditEntry {
	if (before.action !== "input" || entry.action !== "input") return entry;
	return { ...before, bytes: before.bytes + entry.bytes };
}
