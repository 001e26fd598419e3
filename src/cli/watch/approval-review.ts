/** Reviews a held action: the user sees all of it before approving. */

import { type ApprovalMessage, approvalTitle, callerName, type DecideApproval } from "../../client/index.ts";
import { safeLine } from "../print/safe-text.ts";
import { wrapped } from "../terminal/cell-width.ts";
import type { Key } from "../terminal/key-reader.ts";
import { displayText, LineEditor } from "./line-editor.ts";
import type { StatusLine } from "./render.ts";
import { timeLeft } from "./rows.ts";

/** Available size in cells. */
type Area = { readonly cols: number; readonly rows: number };

export class ApprovalReview {
	readonly approval: ApprovalMessage;
	readonly #decision: DecideApproval["decision"];
	/** Note for the requester. */
	readonly #note = new LineEditor();
	#room: Area = { cols: 0, rows: 0 };
	#top = 0;
	#isRead = false;
	/** The session wrote output since the request, so approving needs a second confirmation. */
	#needsReconfirm = false;

	constructor(approval: ApprovalMessage, decision: DecideApproval["decision"]) {
		this.approval = approval;
		this.#decision = decision;
	}

	/** The decision so far. */
	get decision(): DecideApproval {
		const note = this.#note.text.trim();
		return {
			decision: this.#decision,
			...(note === "" ? {} : { note }),
			...(this.#needsReconfirm ? { evenIfChanged: true } : {}),
		};
	}

	/**
	 * Handles a key. Returns "decided" or "left" when the review ends. `hasChanged` says that the session wrote output
	 * since the request.
	 */
	press(key: Key, hasChanged: boolean): "decided" | "left" | undefined {
		const isKey = (...names: readonly string[]) => key.kind === "key" && names.includes(key.value);
		const isDenied = this.#decision === "deny";
		if (isKey("Escape", "C-c")) return "left";
		if (isKey("Enter")) {
			if (isDenied || (this.#isRead && (this.#needsReconfirm || !hasChanged))) return "decided";
			this.#needsReconfirm = this.#isRead;
			return undefined;
		}
		if (isKey("Up", "PageUp")) this.#turn(-1);
		else if (isKey("Down", "PageDown") || (!isDenied && key.value === " ")) this.#turn(1);
		else if (isDenied) this.#note.press(key);
		// Every other key means no.
		else return "left";
		return undefined;
	}

	/** The visible part of the action, from the current scroll position. */
	page(room: Area): string[] {
		// A new size changes the pages.
		if (room.cols !== this.#room.cols || room.rows !== this.#room.rows) {
			this.#room = room;
			this.#top = 0;
			this.#isRead = false;
			this.#needsReconfirm = false;
		}
		const lines = this.#lines;
		this.#isRead ||= this.#top + room.rows >= lines.length;
		return lines.slice(this.#top, this.#top + room.rows);
	}

	/** `isOver` says that the action is no longer held. */
	statusLine(now: number, isOver: boolean): StatusLine {
		const left = isOver ? "no longer pending" : timeLeft(this.approval, now);
		if (this.#decision === "deny") {
			return { kind: "field", label: `deny (${left}); note for ${this.#who}:`, ...displayText(this.#note) };
		}
		if (!this.#isRead) return { kind: "question", text: `More below (${left})`, keys: "Space/Esc" };
		const question = this.#needsReconfirm
			? "The session wrote output since the request. Approve anyway?"
			: "Approve once?";
		return { kind: "question", text: `${question} ${left}`, keys: "Enter/Esc" };
	}

	get #who(): string {
		return safeLine(callerName(this.approval.by.name));
	}

	/** Pages without skipping lines; stays on the last page. */
	#turn(pages: -1 | 1): void {
		const top = this.#top + pages * this.#room.rows;
		if (top < this.#lines.length) this.#top = Math.max(0, top);
	}

	get #lines(): string[] {
		const { approval } = this;
		const { session, by, reason, preview } = approval;
		const why = reason === "unreadable" ? "; keys whose effect is unknown" : "";
		const about = [
			`${approvalTitle(approval)} in ${session.name ?? session.id}${why}`,
			`${by.name} · ${session.workspace} · ${session.id}`,
		];
		const paragraphs = [...about, "", ...preview.trimEnd().split("\n")].map(safeLine);
		const { cols } = this.#room;
		return paragraphs.flatMap((text) => (text === "" ? [""] : wrapped(text, cols, Number.POSITIVE_INFINITY)));
	}
}
