/**
 * Mirrors program status (OSC 7501) to the local terminal, if it keeps records. The session answers the program's
 * query, so the local terminal's reply is not forwarded.
 */

import { reportOf, StatusRecords } from "../../core/terminal/program-status.ts";

/** Asks the local terminal whether it keeps records. A terminal that does echoes the query. */
export const STATUS_QUERY = "\u001b]7501;?\u001b\\";
const REPORT = /^(\u001b\]7501;[^\u0007\u001b]*)(?:\u0007|\u001b\\)$/;
const REPLY = /\u001b\]7501;\?(?:\u0007|\u001b\\)/g;
/** The start of a reply at the end of a chunk. A shorter one may be a key. */
const CUT_REPLY = /\u001b\]7(?:5(?:0(?:1(?:;(?:\?\u001b?)?)?)?)?)?$/;

export class StatusMirror {
	readonly #records = new StatusRecords();
	#isKnown = false;
	#cut = "";

	/** Whether the local terminal keeps records. */
	get isKnown(): boolean {
		return this.#isKnown;
	}

	/** Records a complete escape sequence of the session, live or replayed. */
	observe(sequence: string): void {
		const [whole = "", text] = REPORT.exec(sequence) ?? [];
		if (sequence === "\u001bc") this.#records.reset();
		else if (/^\u001b\]133;A[;\u0007\u001b]/.test(sequence)) this.#records.endPrograms();
		else if (text !== undefined)
			this.#records.take(text, { offset: 0, end: whole.length }, { at: 0, foreground: null });
	}

	/** Sequences that bring the local terminal's records up to date, if it keeps any. */
	current(): string {
		return this.#isKnown ? this.#records.all.map(reportOf).join("") : "";
	}

	/** Sequences that clear the session's records in the local terminal. */
	clear(): string {
		if (!this.#isKnown) return "";
		const ids = this.#records.all.map(({ id }) => id);
		if (ids.includes("")) return "\u001b]7501;state=clear\u001b\\";
		return ids.map((id) => `\u001b]7501;state=clear:id=${id}\u001b\\`).join("");
	}

	/** The user's input, without the replies of the local terminal. */
	takeReplies(typed: Buffer): Buffer {
		const text = this.#cut + typed.toString("latin1");
		if (!text.includes("\u001b]7")) {
			this.#cut = "";
			return typed;
		}
		const kept = text.replace(REPLY, "");
		if (kept !== text) this.#isKnown = true;
		this.#cut = CUT_REPLY.exec(kept)?.[0] ?? "";
		return Buffer.from(kept.slice(0, kept.length - this.#cut.length), "latin1");
	}
}
