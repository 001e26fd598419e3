/** The screen model, based on `@xterm/headless`. */

import type { ScreenRow, ScreenRun, ScreenView } from "../core/terminal/screen-view.ts";
import type { Size } from "../words/state.ts";
import { IncompleteInput } from "./incomplete-input.ts";
import { penOf, styleOf } from "./pen.ts";
import { SCROLLBACK_ROWS } from "./requests.ts";
import { snapshotOf } from "./screen-snapshot.ts";
import { TerminalSettings } from "./terminal-settings.ts";
import {
	type Charset,
	type OpenedTerminal,
	openTerminal,
	type Params,
	type Terminal,
	type TerminalBuffer,
	type XtermInternals,
} from "./xterm-internals.ts";

/**
 * Cells of all scrollback rows, at 12 bytes each: many rows could be made wide later.
 * @limit rows above a screen | % cells | fewer rows are available
 */
const SCROLLBACK_CELLS = 2_000_000;
/** Bytes parsed at a time: less than xterm's own limit, at which it may split a character. */
const PIECE_BYTES = 64 * 1024;
/**
 * Sequences that xterm repeats as often as requested: insert, delete and scroll rows, tabs. More repetitions change
 * nothing.
 */
const REPEATED: readonly string[] = ["L", "M", "S", "T", "I", "Z"];

export class XtermModel {
	/** For tests, which check more than the model exposes. */
	readonly opened: OpenedTerminal;
	readonly #terminal: Terminal;
	readonly #inside: XtermInternals;
	readonly #extras: TerminalSettings;
	readonly #pending = new IncompleteInput();
	/** Number of scrollback rows, unless they are too wide. */
	readonly #scrollback: number;

	constructor({ cols, rows }: Size, scrollback: number = SCROLLBACK_ROWS) {
		this.#scrollback = scrollback;
		this.opened = openTerminal({ cols, rows, scrollback: this.#scrollbackFor(cols) });
		const { terminal, inside } = this.opened;
		this.#terminal = terminal;
		this.#inside = inside;
		this.#extras = new TerminalSettings(terminal);
		this.#boundRepeats();
	}

	get size(): Size {
		return { cols: this.#terminal.cols, rows: this.#terminal.rows };
	}

	/** Takes the next bytes of the output, split anywhere. */
	feed(bytes: Uint8Array): void {
		for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
			const whole = this.#pending.whole(bytes.subarray(at, at + PIECE_BYTES));
			if (whole.byteLength > 0) this.#parse(whole);
		}
	}

	resize({ cols, rows }: Size): void {
		const scrollback = this.#scrollbackFor(cols);
		// Before a resize to more columns, and only if it changes, because it is not free.
		if (scrollback !== this.#terminal.options.scrollback) this.#terminal.options.scrollback = scrollback;
		this.#terminal.resize(cols, rows);
	}

	view(): ScreenView {
		const { active } = this.#terminal.buffer;
		const { isCursorHidden, decPrivateModes } = this.#inside.coreService;
		const { cols, rows } = this.size;
		return {
			cols,
			rows,
			alternate: active.type === "alternate",
			cursor: { row: active.cursorY, col: Math.min(active.cursorX, cols - 1), visible: !isCursorHidden },
			title: this.#inside._inputHandler._windowTitle,
			lines: Array.from({ length: rows }, (_, row) => this.#text(active, active.baseY + row)),
			firstRow: decPrivateModes.origin ? this.#inside.buffers.active.scrollTop : 0,
			isSynchronizing: decPrivateModes.synchronizedOutput,
		};
	}

	/** The rows of the screen as runs of one style each. */
	cells(): ScreenRow[] {
		return Array.from({ length: this.size.rows }, (_, row) => this.#runs(row));
	}

	/** The text of the kept scrollback rows, oldest first. */
	scrollback(): string[] {
		// The scrollback always belongs to the normal screen.
		const { normal } = this.#terminal.buffer;
		return Array.from({ length: normal.baseY }, (_, row) => this.#text(normal, row));
	}

	/**
	 * Escape sequences that make any terminal of this size show the same and continue in the same way. Feeding them to a
	 * new model restores this one. They have no side effects: no bell, no clipboard, no notifications.
	 */
	snapshot({ scrollback }: SnapshotOptions): Uint8Array {
		const { cursorBlink, convertEol } = this.#terminal.options;
		return snapshotOf({
			inside: this.#inside,
			size: this.size,
			newlineMode: convertEol,
			cursorBlink,
			extras: this.#extras,
			charsetName,
			pending: this.#pending.bytes(this.#inside._inputHandler._parser.currentState),
			scrollback,
		});
	}

	dispose(): void {
		this.#terminal.dispose();
	}

	/** The text of a row without trailing blanks. */
	#text(buffer: TerminalBuffer, y: number): string {
		const line = buffer.getLine(y)?.translateToString(true, 0, this.size.cols) ?? "";
		return line.replace(/ +$/, "");
	}

	#parse(bytes: Uint8Array): void {
		const { _parser: parser } = this.#inside._inputHandler;
		try {
			this.#inside.writeSync(bytes);
		} catch {
			// xterm has rare bugs of its own. The rest of this piece is not shown, and it continues with the next.
			parser.reset();
		}
		this.#pending.parsed(bytes, parser.currentState);
	}

	#scrollbackFor(cols: number): number {
		return Math.min(this.#scrollback, Math.floor(SCROLLBACK_CELLS / cols));
	}

	#runs(row: number): ScreenRun[] {
		const buffer = this.#inside.buffers.active;
		const line = buffer.lines.get(buffer.ybase + row);
		const runs: (ScreenRun & { text: string; cols: number; readonly pen: string })[] = [];
		for (let col = 0; line && col < Math.min(line.length, this.size.cols); col++) {
			if (line.getWidth(col) === 0) continue;
			const attributes = { fg: line.getFg(col), bg: line.getBg(col), extended: line._extendedAttrs[col] ?? NOTHING };
			const pen = penOf(attributes).sgr;
			const text = line.getString(col) || " ";
			const cols = Math.min(line.getWidth(col), this.size.cols - col);
			const last = runs.at(-1);
			if (text.length > 1 || cols > 1) runs.push({ text, cols, pen, style: styleOf(attributes), isSingle: true });
			else if (last?.pen === pen && !last.isSingle) {
				last.text += text;
				last.cols++;
			} else runs.push({ text, cols, pen, style: styleOf(attributes) });
		}
		return runs.map(({ pen: _, ...run }) => run);
	}

	/** Limits repetitions, so that a few bytes of output can't take minutes. */
	#boundRepeats(): void {
		const { _parser: parser } = this.#inside._inputHandler;
		const bound = (most: () => number) => (params: Params) => {
			params.params[0] = Math.min(params.params[0] ?? 0, most());
			return false;
		};
		for (const final of REPEATED) {
			parser.registerCsiHandler(
				{ final },
				bound(() => Math.max(this.size.cols, this.size.rows)),
			);
		}
		parser.registerCsiHandler(
			{ final: "b" },
			bound(() => this.size.cols * this.size.rows),
		);
		// At the last cell everything is before the cursor. xterm would access the row after it and fail.
		parser.registerCsiHandler({ final: "J" }, ({ params }) => {
			const { x, y, lines } = this.#inside.buffers.active;
			if (params[0] === 1 && x + 1 >= this.size.cols && lines.get(y + 1) === undefined) params[0] = 2;
			return false;
		});
	}
}

const NOTHING = { _ext: 0, urlId: 0 };

let names: Map<Charset | undefined, string> | undefined;

/** xterm's charsets have no names, so they are identified by designating each. */
function charsetName(charset: Charset | undefined): string {
	names ??= learnCharsets();
	return names.get(charset) ?? "B";
}

function learnCharsets(): Map<Charset | undefined, string> {
	const learned = new Map<Charset | undefined, string>([[undefined, "B"]]);
	const { terminal, inside } = openTerminal({ cols: 2, rows: 1, scrollback: 0 });
	for (const name of "0A4CRQKYEZH=") {
		inside.writeSync(new TextEncoder().encode(`\x1b(${name}`));
		learned.set(inside._charsetService.charset, name);
	}
	terminal.dispose();
	return learned;
}

type SnapshotOptions = {
	/** Maximum number of scrollback rows before the screen. */
	readonly scrollback: number;
};
