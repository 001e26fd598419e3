/** The model of a screen on `@xterm/headless`. */

import type { Size } from "../core/event.ts";
import type { ScreenRow, ScreenRun, ScreenView } from "../core/screen.ts";
import { Extras } from "./extras.ts";
import {
	type Charset,
	type Inside,
	type OpenedTerminal,
	openTerminal,
	type Params,
	type Terminal,
	type TerminalBuffer,
} from "./inside.ts";
import { SCROLLBACK_ROWS, type ScreenModel, type SnapshotOptions } from "./model.ts";
import { penOf, styleOf } from "./pen.ts";
import { Pending } from "./pending.ts";
import { snapshotOf } from "./snapshot.ts";

/** Of all these rows, at 12 bytes each: they may be made wide after they were many. */
const SCROLLBACK_CELLS = 2_000_000;
/** How much is parsed at a time, in bytes: less than xterm itself would cut, which it does in the middle of characters. */
const PIECE_BYTES = 64 * 1024;
/** What xterm repeats as often as it is told: inserted, deleted and scrolled rows, tabs. More changes nothing. */
const REPEATED: readonly string[] = ["L", "M", "S", "T", "I", "Z"];

export class XtermModel implements ScreenModel {
	/** For whoever wants to know more than the model says. */
	readonly opened: OpenedTerminal;
	readonly #terminal: Terminal;
	readonly #inside: Inside;
	readonly #extras: Extras;
	readonly #pending = new Pending();
	/** How many rows of what scrolls away are kept, unless they are too wide. */
	readonly #scrollback: number;

	constructor({ cols, rows }: Size, scrollback: number = SCROLLBACK_ROWS) {
		this.#scrollback = scrollback;
		this.opened = openTerminal({ cols, rows, scrollback: this.#scrollbackFor(cols) });
		const { terminal, inside } = this.opened;
		this.#terminal = terminal;
		this.#inside = inside;
		this.#extras = new Extras(terminal);
		this.#boundRepeats();
	}

	get size(): Size {
		return { cols: this.#terminal.cols, rows: this.#terminal.rows };
	}

	feed(bytes: Uint8Array): void {
		for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
			const whole = this.#pending.whole(bytes.subarray(at, at + PIECE_BYTES));
			if (whole.byteLength > 0) this.#parse(whole);
		}
	}

	resize({ cols, rows }: Size): void {
		const scrollback = this.#scrollbackFor(cols);
		// Before they are made wider, and only then: it is not free.
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

	cells(): ScreenRow[] {
		return Array.from({ length: this.size.rows }, (_, row) => this.#runs(row));
	}

	scrollback(): string[] {
		// The alternate screen has nothing above it but what is above the one behind it.
		const { normal } = this.#terminal.buffer;
		return Array.from({ length: normal.baseY }, (_, row) => this.#text(normal, row));
	}

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

	/** Without the blanks at its end. */
	#text(buffer: TerminalBuffer, y: number): string {
		const line = buffer.getLine(y)?.translateToString(true, 0, this.size.cols) ?? "";
		return line.replace(/ +$/, "");
	}

	#parse(bytes: Uint8Array): void {
		const { _parser: parser } = this.#inside._inputHandler;
		try {
			this.#inside.writeSync(bytes);
		} catch {
			// xterm has bugs of its own at rare places: what was left of this piece is not shown, and it goes on with the next.
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

	/** Output can't keep us busy for minutes with a few bytes. */
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
		// At the last cell everything is before the cursor; xterm looks for a row after it there, and fails.
		parser.registerCsiHandler({ final: "J" }, ({ params }) => {
			const { x, y, lines } = this.#inside.buffers.active;
			if (params[0] === 1 && x + 1 >= this.size.cols && lines.get(y + 1) === undefined) params[0] = 2;
			return false;
		});
	}
}

const NOTHING = { _ext: 0, urlId: 0 };

let names: Map<Charset | undefined, string> | undefined;

/** xterm's charsets have no names; which is which is seen by asking for each. */
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
