/** Our terminal while the table has it: the other screen, raw keys, and only what has changed is written. */

import { LocalTerminal, type Size } from "../local-terminal.ts";
import { TerminalModes } from "../terminal-modes.ts";
import type { Frame } from "./frame.ts";
import { type Key, KeyReader } from "./keys.ts";

const OTHER_SCREEN = "\u001b[?1049h";
/** No going on in the next row, no cursor, and what is pasted in one piece. */
const OURS = "\u001b[?7;25l\u001b[?2004h";
/** Drawn as a whole, by terminals that can. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
/** What most terminals have that do not say. */
const USUAL: Size = { cols: 80, rows: 24 };

type SurfaceOptions = {
	readonly onKeys: (keys: readonly Key[]) => void;
	/** Hears that everything has to be drawn anew. */
	readonly onSize: () => void;
	/** Hears of a signal that wants us gone, and of a terminal that is gone itself. */
	readonly onEnding: (signal: NodeJS.Signals) => void;
};

export class Surface {
	readonly #options: SurfaceOptions;
	readonly #keys: KeyReader;
	readonly #modes = new TerminalModes();
	#terminal: LocalTerminal | undefined;
	/** What is on the screen now. */
	#shown: readonly string[] = [];
	#cursor = "";

	constructor(options: SurfaceOptions) {
		this.#options = options;
		this.#keys = new KeyReader(options.onKeys);
		for (const sequence of [OTHER_SCREEN, ...OURS.split(/(?=\u001b)/)]) this.#modes.see(sequence);
	}

	get isOpen(): boolean {
		return this.#terminal !== undefined;
	}

	get size(): Size {
		return LocalTerminal.sizeHere ?? USUAL;
	}

	/** Takes the terminal; it is put back by `close`, and on every other way out. */
	open(): void {
		this.#terminal = new LocalTerminal(this.#modes, { isByLine: false, onSize: () => this.#begin() });
		this.#terminal.open(this.#options.onEnding);
		process.on("SIGTSTP", this.suspend);
		process.stdin.on("data", this.#onData);
		process.stdin.on("end", this.#onHungUp);
		process.stdin.resume();
		process.stdout.write(this.#modes.again());
		this.#begin();
	}

	close(): void {
		process.off("SIGTSTP", this.suspend);
		process.stdin.off("data", this.#onData);
		process.stdin.off("end", this.#onHungUp);
		process.stdin.pause();
		this.#keys.forget();
		this.#terminal?.close();
		this.#terminal?.letSignalsBe();
		this.#terminal = undefined;
	}

	/** As Ctrl-Z stops other programs, and until the shell continues us. */
	readonly suspend = (): void => {
		// Only without a listener does the signal stop us.
		process.off("SIGTSTP", this.suspend);
		this.#terminal?.suspend();
		process.on("SIGTSTP", this.suspend);
	};

	draw({ lines, cursor }: Frame): void {
		if (!this.isOpen) return;
		const changed = lines.flatMap((line, row) =>
			// Cleared before it is written: after it, the cursor may be on its last character.
			line === this.#shown[row] ? [] : [`\u001b[${row + 1};1H\u001b[0m\u001b[2K${line}`],
		);
		const place = cursor ? `\u001b[${cursor.row};${cursor.col}H\u001b[?25h` : "\u001b[?25l";
		if (changed.length === 0 && place === this.#cursor) return;
		this.#shown = lines;
		this.#cursor = place;
		process.stdout.write(`${BEGIN}\u001b[?25l${changed.join("")}${place}${END}`);
	}

	/** All of it, whatever else was written there. */
	redraw(): void {
		this.#begin();
	}

	/** Something that shows nothing, such as a bell; not while somebody else has the terminal. */
	send(sequence: string): void {
		if (this.isOpen) process.stdout.write(sequence);
	}

	/** On an empty screen. A shell that had the terminal meanwhile has left its own modes. */
	#begin(): void {
		process.stdout.write(`${OURS}\u001b[2J`);
		this.#shown = [];
		this.#cursor = "";
		this.#options.onSize();
	}

	readonly #onData = (chunk: Uint8Array): void => this.#keys.push(chunk);

	readonly #onHungUp = (): void => this.#options.onEnding("SIGHUP");
}
