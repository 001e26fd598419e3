/** Prints changes, one line each, for pipes, logs and programs. */

import {
	type LiveSessions,
	matchesFilter,
	type Need,
	type SessionFilter,
	type SessionInfo,
	withPendingStarts,
} from "../../client/index.ts";
import { print } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { type Row, toRow } from "./rows.ts";

type LinesOptions = { readonly wanted: SessionFilter; readonly isNeeding: boolean; readonly isJson: boolean };

export class ChangePrinter {
	readonly #options: LinesOptions;
	/** The last printed state of each session. */
	readonly #said = new Map<string, { readonly state: string; readonly row: Row }>();
	#isFirst = true;

	constructor(options: LinesOptions) {
		this.#options = options;
	}

	/** Prints what changed, and returns the sessions that need attention. */
	update({ all, held }: Pick<LiveSessions, "all" | "held">, now: number): Row[] {
		const needing: Row[] = [];
		const sessions = withPendingStarts(all, held);
		for (const session of sessions) {
			if (!matchesFilter(session, this.#options.wanted)) continue;
			const row = toRow(session, { now, dismissed: new Set(), held });
			if (row.need) needing.push(row);
			else if (!isKnown(session)) continue;
			this.#compare(row);
		}
		const present = new Set(sessions.map(({ id }) => id));
		for (const [id, { row }] of this.#said) {
			if (present.has(id)) continue;
			this.#said.delete(id);
			if (!this.#options.isNeeding) this.#print(row, "removed");
		}
		this.#isFirst = false;
		return needing;
	}

	#compare(row: Row): void {
		const { session, need } = row;
		const state = need ? needKey(need) : stateOf(row);
		if (this.#said.get(session.id)?.state === state) return;
		this.#said.set(session.id, { state, row });
		// Sessions that ended before the first list are not changes.
		const isOld = this.#isFirst && !need && session.state !== "running";
		if (!isOld && (need || !this.#options.isNeeding)) this.#print(row, need ? row.word : stateOf(row));
	}

	#print({ session, need, name, text }: Row, word: string): void {
		const time = new Date().toISOString();
		if (!this.#options.isJson) {
			void print(`${[time, name, word, ...(need && text !== "" ? [text] : [])].join("  ")}\n`);
			return;
		}
		const { id, workspace, labels, state, exit } = session;
		const change = { time, id, name: session.name, workspace, labels, word, state, exit, need: need ?? null };
		void print(`${safeJson(word === "removed" ? { ...change, state: "removed", need: null } : change, 0)}\n`);
	}
}

/** A changed question is a new need; a failure stays the same, whatever output follows. */
function needKey({ kind, since, question }: Need): string {
	return kind === "failed" ? `${kind} ${since}` : `${kind} ${since} ${question}`;
}

/** Output, or a pause in it, is not a change. The state of an agent is. */
function stateOf({ session, word }: Row): string {
	return session.state === "running" ? (session.overview?.agent?.state ?? "running") : word;
}

/** Whether the server has inspected the program. It starts to when the first client follows the sessions. */
function isKnown({ state, overview, unreachable }: SessionInfo): boolean {
	return state !== "running" || unreachable === true || overview?.waiting !== undefined;
}
