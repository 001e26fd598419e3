/**
 * The local terminal while a session uses it: in raw mode, and restored on every exit.
 *
 * There are many exits: detaching, a signal, a crash. So an `exit` listener restores the terminal, which runs on all of
 * them.
 */

import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { printNotice } from "../print/output.ts";
import { safeLine } from "../print/safe-text.ts";
import type { TerminalModes } from "./modes.ts";

type LocalTerminalOptions = { readonly keepsLineMode: boolean; readonly onSize: (size: Size) => void };

export type Size = { readonly cols: number; readonly rows: number };

/** Signals that end the process. In raw mode the keys for them go to the program, so these come from outside. */
const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Terminals have a stack of titles, so the program's title can be undone. */
const KEEP_TITLE = "\u001b[22;0t";
const OLD_TITLE = "\u001b[23;0t";

export class LocalTerminal {
	readonly #modes: TerminalModes;
	readonly #onSize: (size: Size) => void;
	/**
	 * Without a terminal on the program's side, the local terminal stays in line mode: it echoes, and sends whole lines.
	 */
	readonly #keepsLineMode: boolean;
	#isOpen = false;
	#onEnding: (signal: NodeJS.Signals) => void = () => {};

	constructor(modes: TerminalModes, { keepsLineMode, onSize }: LocalTerminalOptions) {
		this.#modes = modes;
		this.#keepsLineMode = keepsLineMode;
		this.#onSize = onSize;
	}

	/** Whether stdin and stdout are both terminals. */
	static get isInteractive(): boolean {
		return process.stdin.isTTY === true && process.stdout.isTTY === true;
	}

	static get currentSize(): Size | undefined {
		const { columns: cols, rows } = process.stdout;
		// A terminal that was never given a size reports 0x0.
		return cols && rows ? { cols, rows } : undefined;
	}

	get size(): Size | undefined {
		return LocalTerminal.currentSize;
	}

	/** Hands the terminal to the program. `onTerminate` is called on a termination signal. */
	open(onTerminate: (signal: NodeJS.Signals) => void): void {
		this.#onEnding = onTerminate;
		process.on("exit", this.#restore);
		for (const signal of TERMINATION_SIGNALS) process.on(signal, onTerminate);
		process.on("SIGCONT", this.#onContinue);
		process.stdout.on("resize", this.#onResize);
		this.#isOpen = true;
		process.stdout.write(KEEP_TITLE);
		if (!this.#keepsLineMode) this.#makeRaw();
	}

	/** Restores the default effect of signals. Call it after cleanup. */
	releaseSignals(): void {
		for (const signal of TERMINATION_SIGNALS) process.off(signal, this.#onEnding);
	}

	/** Takes the terminal back. Idempotent. */
	close(): void {
		this.#restore();
		process.off("exit", this.#restore);
		process.off("SIGCONT", this.#onContinue);
		process.stdout.off("resize", this.#onResize);
	}

	/**
	 * Prints a message while the program uses the screen: on a line of its own, or in the title if a full-screen program
	 * is running, whose screen a line would destroy.
	 */
	say(message: string): void {
		const text = `hawser: ${safeLine(message)}`;
		if (!this.#isOpen || !process.stderr.isTTY) printNotice(message);
		else if (!this.#modes.isAlternate) process.stderr.write(`\r\n${text}\r\n`);
		else process.stderr.write(`\u001b]2;${text}\u0007`);
	}

	/** Prints lines, even over a full-screen program. */
	showLines(lines: readonly string[]): void {
		const safe = lines.map(safeLine);
		if (!this.#modes.isAlternate) process.stderr.write(`\r\n${safe.join("\r\n")}\r\n`);
		else process.stderr.write(`\u001b7\u001b[H${safe.map((line) => `\u001b[0m${line}\u001b[K`).join("\r\n")}\u001b8`);
	}

	/**
	 * Suspends as Ctrl-Z does, and returns when the shell continues the process. The shell has the terminal meanwhile.
	 */
	suspend(): void {
		writeSync(process.stdout.fd, this.#modes.reset());
		if (!this.#keepsLineMode) process.stdin.setRawMode(false);
		process.kill(process.pid, "SIGTSTP");
		writeSync(process.stdout.fd, this.#modes.restore());
		// Needed if no shell stopped the process, because then none continues it.
		this.#onContinue();
	}

	#makeRaw(): void {
		process.stdin.setRawMode(true);
		// Node leaves output processing on, which breaks programs that move the cursor by line feeds.
		spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
	}

	readonly #restore = (): void => {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		try {
			// Synchronous, because nothing asynchronous runs in an exit listener.
			writeSync(process.stdout.fd, OLD_TITLE + this.#modes.reset());
		} catch {
			// A terminal that is gone or full needs only the rest of the cleanup.
		}
		try {
			if (!this.#keepsLineMode) process.stdin.setRawMode(false);
		} catch {
			// The terminal is gone; nothing to restore.
		}
	};

	readonly #onResize = (): void => {
		if (this.size) this.#onSize(this.size);
	};

	/** After a stop, the shell has changed the terminal's settings. */
	readonly #onContinue = (): void => {
		if (!this.#isOpen || this.#keepsLineMode) return;
		// Node skips the call if it believes the mode is already set.
		process.stdin.setRawMode(false);
		this.#makeRaw();
		process.stdout.emit("resize");
	};
}

/** The exit code that shells report for a signal. */
export function signalExitCode(signal: string | null): number {
	const number = constants.signals[signal as NodeJS.Signals] as number | undefined;
	return 128 + (number ?? 0);
}
