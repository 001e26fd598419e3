/** What changes, a line each: for pipes, logs and programs. */

import { type Listed, type LiveSessions, matches, type Need, type Wanted, withAwaited } from "../../client/index.ts";
import { print } from "../output.ts";
import { safeJson } from "../safe-text.ts";
import { type Row, rowOf } from "./rows.ts";

type LinesOptions = { readonly wanted: Wanted; readonly isNeeding: boolean; readonly isJson: boolean };

export class ChangeLines {
	readonly #options: LinesOptions;
	/** What was said of each, last. */
	readonly #said = new Map<string, { readonly state: string; readonly row: Row }>();
	#isFirst = true;

	constructor(options: LinesOptions) {
		this.#options = options;
	}

	/** Prints what is otherwise than it was, and returns those that need somebody. */
	look({ all, held }: Pick<LiveSessions, "all" | "held">, now: number): Row[] {
		const needing: Row[] = [];
		const sessions = withAwaited(all, held);
		for (const session of sessions) {
			if (!matches(session, this.#options.wanted)) continue;
			const row = rowOf(session, { now, dismissed: new Set(), held });
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
		const state = need ? subjectOf(need) : stateOf(row);
		if (this.#said.get(session.id)?.state === state) return;
		this.#said.set(session.id, { state, row });
		// What had ended before anybody looked is no change.
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

/** A question that is put otherwise is another; a failure is one, whatever is still written after it. */
function subjectOf({ kind, since, question }: Need): string {
	return kind === "failed" ? `${kind} ${since}` : `${kind} ${since} ${question}`;
}

/** That it writes, or does not for a while, is no change. */
function stateOf({ session, word }: Row): string {
	return session.state === "running" ? "running" : word;
}

/** Whether it waits is known a moment after somebody has begun to ask. */
function isKnown({ state, overview, unreachable }: Listed): boolean {
	return state !== "running" || unreachable === true || overview?.waiting !== undefined;
}
