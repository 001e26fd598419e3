/** The local terminal while the table uses it: alternate screen, raw mode, and only changed rows are written. */

import type { Frame } from "../watch/render.ts";
import { type Key, KeyReader } from "./key-reader.ts";
import { LocalTerminal, type Size } from "./local-terminal.ts";
import { TerminalModes } from "./modes.ts";

const ALTERNATE_SCREEN = "\u001b[?1049h";
/** No auto-wrap, no cursor, bracketed paste. */
const TABLE_MODES = "\u001b[?7;25l\u001b[?2004h";
/** Synchronized output, for terminals that support it. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
/** For terminals that don't report a size. */
const DEFAULT_SIZE: Size = { cols: 80, rows: 24 };

type SurfaceOptions = {
	readonly onKeys: (keys: readonly Key[]) => void;
	/** Called when everything must be redrawn. */
	readonly onSize: () => void;
	/** Called on a termination signal, and when the terminal is gone. */
	readonly onTerminate: (signal: NodeJS.Signals) => void;
};

export class FullScreen {
	readonly #options: SurfaceOptions;
	readonly #keys: KeyReader;
	readonly #modes = new TerminalModes();
	#terminal: LocalTerminal | undefined;
	/** Rows on the screen now. */
	#shown: readonly string[] = [];
	#cursor = "";

	constructor(options: SurfaceOptions) {
		this.#options = options;
		this.#keys = new KeyReader(options.onKeys);
		for (const sequence of [ALTERNATE_SCREEN, ...TABLE_MODES.split(/(?=\u001b)/)]) this.#modes.observe(sequence);
	}

	get isOpen(): boolean {
		return this.#terminal !== undefined;
	}

	get size(): Size {
		return LocalTerminal.currentSize ?? DEFAULT_SIZE;
	}

	/** Takes over the terminal. `close` restores it, and so does every other exit. */
	open(): void {
		this.#terminal = new LocalTerminal(this.#modes, { keepsLineMode: false, onSize: () => this.#begin() });
		this.#terminal.open(this.#options.onTerminate);
		process.on("SIGTSTP", this.suspend);
		process.stdin.on("data", this.#onData);
		process.stdin.on("end", this.#onHungUp);
		process.stdin.resume();
		process.stdout.write(this.#modes.restore());
		this.#begin();
	}

	close(): void {
		process.off("SIGTSTP", this.suspend);
		process.stdin.off("data", this.#onData);
		process.stdin.off("end", this.#onHungUp);
		process.stdin.pause();
		this.#keys.forget();
		this.#terminal?.close();
		this.#terminal?.releaseSignals();
		this.#terminal = undefined;
	}

	/** Suspends as Ctrl-Z does, until the shell continues the process. */
	readonly suspend = (): void => {
		// The signal stops the process only without a listener.
		process.off("SIGTSTP", this.suspend);
		this.#terminal?.suspend();
		process.on("SIGTSTP", this.suspend);
	};

	draw({ lines, cursor }: Frame): void {
		if (!this.isOpen) return;
		const changed = lines.flatMap((line, row) =>
			// Clear before writing: afterwards the cursor may be on the last character.
			line === this.#shown[row] ? [] : [`\u001b[${row + 1};1H\u001b[0m\u001b[2K${line}`],
		);
		const place = cursor ? `\u001b[${cursor.row};${cursor.col}H\u001b[?25h` : "\u001b[?25l";
		if (changed.length === 0 && place === this.#cursor) return;
		this.#shown = lines;
		this.#cursor = place;
		process.stdout.write(`${BEGIN}\u001b[?25l${changed.join("")}${place}${END}`);
	}

	/** Redraws everything, in case other output is on the screen. */
	redraw(): void {
		this.#begin();
	}

	/** Writes an invisible sequence, such as a bell, unless the terminal is released. */
	send(sequence: string): void {
		if (this.isOpen) process.stdout.write(sequence);
	}

	/** Starts from an empty screen. A shell in between may have changed the modes. */
	#begin(): void {
		process.stdout.write(`${TABLE_MODES}\u001b[2J`);
		this.#shown = [];
		this.#cursor = "";
		this.#options.onSize();
	}

	readonly #onData = (chunk: Uint8Array): void => this.#keys.push(chunk);

	readonly #onHungUp = (): void => this.#options.onTerminate("SIGHUP");
}
