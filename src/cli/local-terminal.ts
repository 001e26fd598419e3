/**
 * Our own terminal while a program far away uses it: raw, and as it was again whatever ends us.
 *
 * There is one terminal, and it must be put back on every way out: a normal end, leaving, a signal, a crash. So
 * it is put back by an `exit` listener, which runs on all of them, and nothing else has to remember.
 */

import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { remark } from "./output.ts";
import { safeLine } from "./safe-text.ts";
import type { TerminalModes } from "./terminal-modes.ts";

type LocalTerminalOptions = { readonly isByLine: boolean; readonly onSize: (size: Size) => void };

export type Size = { readonly cols: number; readonly rows: number };

/** Signals that end us. In raw mode the keys for them go to the program, so these come from outside. */
const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Terminals have a stack of titles, so that what a program makes of ours can be undone. */
const KEEP_TITLE = "\u001b[22;0t";
const OLD_TITLE = "\u001b[23;0t";

export class LocalTerminal {
	readonly #modes: TerminalModes;
	readonly #onSize: (size: Size) => void;
	/** For a program without a terminal ours stays as it is: it echoes, and hands on whole lines. */
	readonly #isByLine: boolean;
	#isOpen = false;
	#onEnding: (signal: NodeJS.Signals) => void = () => {};

	constructor(modes: TerminalModes, { isByLine, onSize }: LocalTerminalOptions) {
		this.#modes = modes;
		this.#isByLine = isByLine;
		this.#onSize = onSize;
	}

	/** Whether both what is typed and what is shown belong to a person. */
	static get isThere(): boolean {
		return process.stdin.isTTY === true && process.stdout.isTTY === true;
	}

	static get sizeHere(): Size | undefined {
		const { columns: cols, rows } = process.stdout;
		// A terminal that was never given a size has none; that is not one of zero.
		return cols && rows ? { cols, rows } : undefined;
	}

	get size(): Size | undefined {
		return LocalTerminal.sizeHere;
	}

	/** Gives the terminal to the program; `onEnding` hears of a signal that wants us gone. */
	open(onEnding: (signal: NodeJS.Signals) => void): void {
		this.#onEnding = onEnding;
		process.on("exit", this.#restore);
		for (const signal of ENDING) process.on(signal, onEnding);
		process.on("SIGCONT", this.#onContinue);
		process.stdout.on("resize", this.#onResize);
		this.#isOpen = true;
		process.stdout.write(KEEP_TITLE);
		if (!this.#isByLine) this.#makeRaw();
	}

	/** Signals take their usual course again: not before what they would cut short is done. */
	letSignalsBe(): void {
		for (const signal of ENDING) process.off(signal, this.#onEnding);
	}

	/** Takes it back. May be called twice. */
	close(): void {
		this.#restore();
		process.off("exit", this.#restore);
		process.off("SIGCONT", this.#onContinue);
		process.stdout.off("resize", this.#onResize);
	}

	/**
	 * A remark while the program has the screen. On a line of its own where lines scroll; a full-screen program's
	 * picture would be spoilt by that, so there it goes into the title.
	 */
	say(sentence: string): void {
		const text = `hawser: ${safeLine(sentence)}`;
		if (!this.#isOpen || !process.stderr.isTTY) remark(sentence);
		else if (!this.#modes.isAlternate) process.stderr.write(`\r\n${text}\r\n`);
		else process.stderr.write(`\u001b]2;${text}\u0007`);
	}

	/** Several lines, over whatever a full-screen program has drawn there. */
	showLines(lines: readonly string[]): void {
		const safe = lines.map(safeLine);
		if (!this.#modes.isAlternate) process.stderr.write(`\r\n${safe.join("\r\n")}\r\n`);
		else process.stderr.write(`\u001b7\u001b[H${safe.map((line) => `\u001b[0m${line}\u001b[K`).join("\r\n")}\u001b8`);
	}

	/** Stops us as Ctrl-Z stops other programs, and returns when the shell continues us. The terminal is the shell's meanwhile. */
	suspend(): void {
		writeSync(process.stdout.fd, this.#modes.reset());
		if (!this.#isByLine) process.stdin.setRawMode(false);
		process.kill(process.pid, "SIGTSTP");
		writeSync(process.stdout.fd, this.#modes.again());
		// Also where there is no shell to stop us, and so none to continue us.
		this.#onContinue();
	}

	#makeRaw(): void {
		process.stdin.setRawMode(true);
		// Node leaves the output's line ends to the kernel, which would spoil every program that moves by line feeds.
		spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
	}

	readonly #restore = (): void => {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		try {
			// Synchronously, because nothing asynchronous happens any more when this is an exit.
			writeSync(process.stdout.fd, OLD_TITLE + this.#modes.reset());
		} catch {
			// A terminal that is gone or full needs no more than the rest of this.
		}
		try {
			if (!this.#isByLine) process.stdin.setRawMode(false);
		} catch {
			// It is gone: there is nothing to put back.
		}
	};

	readonly #onResize = (): void => {
		if (this.size) this.#onSize(this.size);
	};

	/** After a stop the shell has had the terminal, and what it was set to is what the shell likes. */
	readonly #onContinue = (): void => {
		if (!this.#isOpen || this.#isByLine) return;
		// Node does nothing when it believes that the mode is set already.
		process.stdin.setRawMode(false);
		this.#makeRaw();
		process.stdout.emit("resize");
	};
}

/** What a shell says of a command that was ended by a signal. */
export function codeOfSignal(signal: string | null): number {
	const number = constants.signals[signal as NodeJS.Signals] as number | undefined;
	return 128 + (number ?? 0);
}
