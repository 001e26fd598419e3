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
/**
 * How many of one caller are told in that time, of what can be gathered. Whatever else it does is one entry for each
 * action, so that to vary what it does gets it no more lines: 20 a second, which fill a record of 64 MiB in hours.
 */
const MAX_OF_ONE = 100;
/** How many of all callers: whoever has many tokens is many callers. Whatever else they do is one entry for each action, of nobody by name. */
const MAX_OF_ALL = 500;

/** An entry, when it began, and how many there were of it; if those were various, it is one of them. */
export type Gathered = {
	readonly entry: AuditEntry;
	readonly time: number;
	readonly count: number;
	readonly isVarious: boolean;
};

export class Merger {
	readonly #clock: Clock;
	readonly #tell: (gathered: Gathered) => void;
	/** By who does what where; oldest first. */
	readonly #open = new Map<string, Gathered>();
	/** How many were begun by each caller since all were told; those that nobody knows are one. */
	readonly #begun = new Map<string | null, number>();
	#begunByAll = 0;
	#cancel: (() => void) | undefined;

	constructor(clock: Clock, tell: (gathered: Gathered) => void) {
		this.#clock = clock;
		this.#tell = tell;
	}

	add(entry: AuditEntry): void {
		const time = this.#clock.now();
		const alike = keyOf(entry);
		if (alike === undefined) {
			// What was done before is told before: to the same session, or else by the same caller.
			this.#flushAll(({ entry: { by, session } }) =>
				entry.session === undefined ? by?.id === entry.by?.id : session === entry.session,
			);
			this.#tell({ entry, time, count: 1, isVarious: false });
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

	/** Tells everything that is there. */
	flush(): void {
		this.#cancel?.();
		this.#cancel = undefined;
		this.#flushAll(() => true);
		this.#begun.clear();
		this.#begunByAll = 0;
	}

	/** Where something is gathered that is not there yet: by itself, unless its caller, or all together, have begun as many as they may. */
	#begin({ by, action }: AuditEntry, alike: string): { readonly key: string; readonly isVarious: boolean } {
		const caller = by?.id ?? null;
		const begun = this.#begun.get(caller) ?? 0;
		if (begun >= MAX_OF_ONE) return { key: JSON.stringify([caller, action]), isVarious: true };
		if (this.#begunByAll >= MAX_OF_ALL) return { key: JSON.stringify([action]), isVarious: true };
		this.#begun.set(caller, begun + 1);
		this.#begunByAll++;
		return { key: alike, isVarious: false };
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
		case "attach":
		case "detach":
		case "run":
		case "resize":
		case "read":
		case "eof":
		case "sign-in-link":
		case "sign-in":
		case "sign-out":
			return JSON.stringify(who);
		case "signal":
		case "kill":
			return JSON.stringify([...who, entry.signal]);
		case "remove":
			return JSON.stringify([...who, entry.force]);
		case "task-set":
		case "task-removed":
			return JSON.stringify([...who, entry.task]);
		case "webhook-tested":
			return JSON.stringify([...who, entry.webhook]);
		case "webhook-retried":
			return JSON.stringify([...who, entry.webhook, entry.retried]);
		case "files":
			return JSON.stringify([...who, entry.method]);
		case "proxy":
			return JSON.stringify([...who, entry.port]);
		case "ticket":
			return JSON.stringify([...who, entry.right]);
		case "control":
		case "take-over":
			return JSON.stringify([...who, entry.exclusive]);
		case "refused": {
			// Without a session, the workspace is one that the caller made up.
			const where = session === undefined ? [] : [session, workspace];
			return JSON.stringify([by?.id, by?.from, by?.front, action, ...where, entry.code, entry.right, entry.route]);
		}
		default:
			return undefined;
	}
}

/** Of input the sum, from where it began; of all else the last; of nobody if there were several callers, and without a workspace if there were several. */
function merged(before: AuditEntry, entry: AuditEntry): AuditEntry {
	const by = before.by?.id === entry.by?.id ? entry.by : null;
	if (before.action === "input" && entry.action === "input")
		return { ...before, by: by && before.by, bytes: before.bytes + entry.bytes };
	if (before.workspace === entry.workspace) return { ...entry, by };
	const { workspace: _, ...rest } = entry;
	return { ...rest, by };
}
