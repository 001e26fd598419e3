/** The signs that programs give of their state: reports of program status and of hooks, the title, and notifications. */

import { Change } from "../async/change.ts";
import { type HookRecord, type HookReport, hookRecord, type StatusRecord, StatusRecords } from "./program-status.ts";
import type { SequenceRange } from "./sequence-reader.ts";
import type { ShellMark } from "./terminal-scan.ts";

/**
 * In UTF-16 units. The rest is cut off.
 * @limit text of a notification (OSC 9, 99, 777) | it is cut
 */
const NOTIFICATION_LENGTH = 512;

/** A text, the offset of its sequence, when it came, and the foreground process group then. */
type SignalText = Pick<StatusRecord, "offset" | "at" | "foreground"> & { readonly text: string };

export type TerminalSignals = {
	/** Grows with each change, so that callers can wait for one. */
	readonly count: number;
	/** The end of the output. */
	readonly offset: number;
	/** The foreground process group; null if unknown. */
	readonly foreground: number | null;
	/** The least recently updated first. */
	readonly records: readonly StatusRecord[];
	readonly title: SignalText | null;
	/** The last notification. */
	readonly notification: SignalText | null;
	/** The last report of the agent's hooks. Keepers of older versions leave it out. */
	readonly hook?: HookRecord | null;
};

export const NO_SIGNALS: TerminalSignals = {
	count: 0,
	offset: 0,
	foreground: null,
	records: [],
	title: null,
	notification: null,
	hook: null,
};

const PROMPT = /^A(;|$)/;
const NOTIFICATION = /^\u001b\](9|99|777);(.*)$/s;
/** Commands of ConEmu, such as progress, have a number instead of a text. */
const CONEMU = /^\d+(;|$)/;

type CollectorOptions = {
	/** Milliseconds since the epoch. */
	readonly now: () => number;
	readonly foreground: () => number | null;
};

export class SignalCollector {
	readonly #options: CollectorOptions;
	readonly #records = new StatusRecords();
	#title: SignalText | null = null;
	#notification: SignalText | null = null;
	/** The parts of an OSC 99 notification that is not complete. */
	#parts: NoticeParts = NO_PARTS;
	#hook: HookRecord | null = null;
	#foreground: number | null = null;
	#count = 0;
	readonly #change = new Change();

	constructor(options: CollectorOptions) {
		this.#options = options;
	}

	get count(): number {
		return this.#count;
	}

	get records(): readonly StatusRecord[] {
		return this.#records.all;
	}

	/** Resolves at the next change, or when the signal aborts. */
	changed(signal: AbortSignal | undefined): Promise<void> {
		return this.#change.wait(signal);
	}

	read(offset: number): TerminalSignals {
		return {
			count: this.#count,
			offset,
			foreground: this.#options.foreground(),
			records: this.#records.all,
			title: this.#title,
			notification: this.#notification,
			hook: this.#hook,
		};
	}

	/**
	 * Takes a report of a hook. `group` is the process group of its agent. False if another one is in front, so that an
	 * agent that an agent has started does not count.
	 */
	noteHook(report: HookReport, group: number, offset: number): boolean {
		const moment = this.#moment();
		if (moment.foreground !== group) return false;
		this.#hook = hookRecord(this.#hook, report, { offset, ...moment });
		this.#foreground = group;
		this.#noteIf(true);
		return true;
	}

	/** Takes a string sequence, as `Scan` reports it. */
	noteString(text: string, place: SequenceRange, terminator: string): void {
		const [, code, content = ""] = NOTIFICATION.exec(text) ?? [];
		// A report without a terminator is none.
		if (code === undefined) this.#noteIf(terminator !== "" && this.#records.take(text, place, this.#moment()));
		else {
			const notice = code === "99" ? this.#noticeOfParts(content) : noticeOf(code, content);
			if (notice === undefined) return;
			this.#notification = { text: notice, offset: place.offset, ...this.#moment() };
			this.#noteIf(true);
		}
	}

	/** The text of an OSC 99 notification once its last part has come. */
	#noticeOfParts(content: string): string | undefined {
		const part = noticePart(content);
		if (!part) return undefined;
		const { id, text, isLast } = part;
		const texts = [...(this.#parts.id === id ? this.#parts.texts : []), text].filter((one) => one !== undefined);
		const notice = texts.join(": ").slice(0, NOTIFICATION_LENGTH);
		this.#parts = isLast ? NO_PARTS : { id, texts: [notice] };
		return isLast && notice !== "" ? notice : undefined;
	}

	noteMark({ code, text }: ShellMark): void {
		if (code === 133 && PROMPT.test(text)) this.#endPrograms();
	}

	noteReset(): void {
		this.#noteIf(this.#records.reset());
	}

	/** Called after new output, with the current title. */
	noteOutput(title: string | null, offset: number): void {
		if (title !== (this.#title?.text ?? null)) {
			this.#title = title === null ? null : { text: title, offset, ...this.#moment() };
			this.#noteIf(true);
		}
		if (this.#records.isEmpty && !this.#notification && !this.#hook) return;
		const foreground = this.#options.foreground();
		this.#noteIf(foreground !== this.#foreground);
		this.#foreground = foreground;
	}

	/** The session's program has ended. */
	noteEnd(): void {
		this.#endPrograms();
		this.#noteIf(true);
	}

	/** A result is kept until a user has seen it. */
	#endPrograms(): void {
		const hasHookEnded = this.#hook !== null && this.#hook.state !== "done" && this.#hook.state !== "error";
		if (hasHookEnded) this.#hook = null;
		this.#noteIf(this.#records.endPrograms() || hasHookEnded);
	}

	#moment(): Pick<StatusRecord, "at" | "foreground"> {
		return { at: this.#options.now(), foreground: this.#options.foreground() };
	}

	#noteIf(hasChanged: boolean): void {
		if (!hasChanged) return;
		this.#count++;
		this.#change.happen();
	}
}

type NoticeParts = { readonly id: string; readonly texts: readonly string[] };

const NO_PARTS: NoticeParts = { id: "", texts: [] };

/** The text of a notification by OSC 9 or 777; undefined for other sequences. `content` has one character per byte. */
function noticeOf(code: string, content: string): string | undefined {
	if (code === "9") return CONEMU.test(content) ? undefined : readable(content);
	const [first, ...rest] = content.split(";");
	return first === "notify" ? readable(rest.join(": ")) : undefined;
}

/** A part of an OSC 99 notification; undefined for other uses, such as a query. */
function noticePart(
	content: string,
): { readonly id: string; readonly text: string | undefined; readonly isLast: boolean } | undefined {
	const [metadata = "", ...rest] = content.split(";");
	const options = new Map(metadata.split(":").map((pair) => [pair.slice(0, 1), pair.slice(2)]));
	const part = options.get("p") ?? "title";
	if (part !== "title" && part !== "body") return undefined;
	const payload = rest.join(";");
	const text = readable(options.get("e") === "1" ? Buffer.from(payload, "base64").toString("latin1") : payload);
	return { id: options.get("i") ?? "", text, isLast: options.get("d") !== "0" };
}

function readable(content: string): string | undefined {
	const text = Buffer.from(content, "latin1").toString();
	return text.trim() === "" ? undefined : text.slice(0, NOTIFICATION_LENGTH);
}
