/** Somebody who decides on an act that is held: it is shown to its end before it can be approved. */

import { type ApprovalMessage, callerName, type DecideApproval, wantsSentence } from "../../client/index.ts";
import { wrapped } from "../cells.ts";
import { safeLine } from "../safe-text.ts";
import type { Footing } from "./frame.ts";
import type { Key } from "./keys.ts";
import { LineField, shown } from "./line-field.ts";
import { leftOf } from "./rows.ts";

/** What there is room for, in cells. */
type Room = { readonly cols: number; readonly rows: number };

export class Deciding {
	readonly approval: ApprovalMessage;
	readonly #decision: DecideApproval["decision"];
	/** For who asked. */
	readonly #note = new LineField();
	#room: Room = { cols: 0, rows: 0 };
	#top = 0;
	#isRead = false;
	/** It was to be approved, and is to be once more: there was more output since it was asked for. */
	#isDoubted = false;

	constructor(approval: ApprovalMessage, decision: DecideApproval["decision"]) {
		this.approval = approval;
		this.#decision = decision;
	}

	/** As it is now. */
	get decision(): DecideApproval {
		const note = this.#note.text.trim();
		return {
			decision: this.#decision,
			...(note === "" ? {} : { note }),
			...(this.#isDoubted ? { evenIfChanged: true } : {}),
		};
	}

	/** What has become of it by a key, if that is not one to read or to write by; `hasChanged` says that there was more output since. */
	press(key: Key, hasChanged: boolean): "decided" | "left" | undefined {
		const isKey = (...names: readonly string[]) => key.kind === "key" && names.includes(key.value);
		const isDenied = this.#decision === "deny";
		if (isKey("Escape", "C-c")) return "left";
		if (isKey("Enter")) {
			if (isDenied || (this.#isRead && (this.#isDoubted || !hasChanged))) return "decided";
			this.#isDoubted = this.#isRead;
			return undefined;
		}
		if (isKey("Up", "PageUp")) this.#turn(-1);
		else if (isKey("Down", "PageDown") || (!isDenied && key.value === " ")) this.#turn(1);
		else if (isDenied) this.#note.press(key);
		// Every other key is a no.
		else return "left";
		return undefined;
	}

	/** As much of it as there is room for, from where somebody reads. */
	page(room: Room): string[] {
		// In other lines its pages are others.
		if (room.cols !== this.#room.cols || room.rows !== this.#room.rows) {
			this.#room = room;
			this.#top = 0;
			this.#isRead = false;
			this.#isDoubted = false;
		}
		const lines = this.#lines;
		this.#isRead ||= this.#top + room.rows >= lines.length;
		return lines.slice(this.#top, this.#top + room.rows);
	}

	/** `isOver` says that it is not held any more. */
	footing(now: number, isOver: boolean): Footing {
		const left = isOver ? "is not held any more" : leftOf(this.approval, now);
		if (this.#decision === "deny") {
			return { kind: "field", label: `deny, ${left}; a note for ${this.#who}:`, ...shown(this.#note) };
		}
		if (!this.#isRead) return { kind: "question", text: `There is more to read, ${left}.`, keys: "Space/Esc" };
		const question = this.#isDoubted
			? "There was more output since it was asked for. Approve it even so?"
			: "Approve this, once?";
		return { kind: "question", text: `${question} ${left}`, keys: "Enter/Esc" };
	}

	get #who(): string {
		return safeLine(callerName(this.approval.by.name));
	}

	/** Nothing is passed over, and the last page stays. */
	#turn(pages: -1 | 1): void {
		const top = this.#top + pages * this.#room.rows;
		if (top < this.#lines.length) this.#top = Math.max(0, top);
	}

	get #lines(): string[] {
		const { approval } = this;
		const { session, by, reason, preview } = approval;
		const why = reason === "unreadable" ? "; its keys do not say what it is" : "";
		const about = [
			`${wantsSentence(approval)} in ${session.name ?? session.id}${why}`,
			`${by.name} · ${session.workspace} · ${session.id}`,
		];
		const paragraphs = [...about, "", ...preview.trimEnd().split("\n")].map(safeLine);
		const { cols } = this.#room;
		return paragraphs.flatMap((text) => (text === "" ? [""] : wrapped(text, cols, Number.POSITIVE_INFINITY)));
	}
}
