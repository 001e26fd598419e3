/**
 * A shell's commands, folded from the marks in its output: where each began and ended, its exit code and directory.
 *
 * Anybody can print a mark. With a key only those count that carry it, as those of our own hooks do; without one, all
 * do, which is good enough to be shown. Whoever reads the output has the key, and may print what he has read: so each
 * line of the shell has a number, under which it ends but once, and a command that was fetched ends with a word that
 * nobody could have read before.
 */

import type { ShellMark } from "./scan.ts";

/** The newest are kept: with their texts they take 1 MiB at most. */
const MAX_COMMANDS = 500;
/** Of a command's text, in characters; the rest is cut off. */
const COMMAND_LENGTH = 1_000;

export type ShellCommand = {
	/** Counts the commands of the session from 1. */
	readonly seq: number;
	/** Null if the shell did not tell. */
	readonly command: string | null;
	/** The bytes between its beginning and its end; `to` is null while it runs. */
	readonly from: number;
	readonly to: number | null;
	readonly exitCode: number | null;
	/** The shell's directory after it. */
	readonly cwd: string | null;
	readonly startedAt: number;
	readonly endedAt: number | null;
};

/**
 * What the shell does: it has not come to its first prompt, takes a command, wants the rest of one, runs one, or has
 * ended one and is on its way to the next prompt.
 */
export type ShellPhase = "starting" | "prompt" | "continued" | "running" | "ended";

/**
 * What became of what was typed: it began to run, the shell would not run it, or would not because more is missing, or
 * waits for what is missing.
 */
export type Reception = "begun" | "rejected" | "incomplete" | "continued";

export type ReceptionDetails = {
	/** Of what was rejected. */
	readonly exitCode: number | null;
	/** By hand, and not fetched by our hooks. */
	readonly isTyped: boolean;
	/** Where the mark stands that told it. */
	readonly offset: number;
};

type ShellMarksOptions = {
	/** Null believes everybody. */
	readonly key: string | null;
	/** In the same turn as the mark; `commands` and `phase` say the same already. What was typed by hand begins, too. */
	readonly onReception?: (reception: Reception, how: ReceptionDetails) => void;
};

/** A number, and what was given to the shell together with the line. */
const TURN = /^n=(\d{1,12})(?:\.([0-9a-f]*))?$/;

type Ending = {
	/** Where the output ends. */
	readonly to: number;
	/** The exit code, or why there is none. */
	readonly how: string;
	readonly at: number;
	readonly turn: number;
	readonly word: string;
};

export class ShellMarks {
	readonly #options: ShellMarksOptions;
	readonly #commands: ShellCommand[] = [];
	#phase: ShellPhase = "starting";
	#count = 0;
	#cwd: string | null = null;
	/** Told before the command that it is the text of. */
	#line: string | null = null;
	/** The number of the line that ended last. */
	#turn = 0;
	/** With which the command ends that was given to the shell, until it has. */
	#word: string | null = null;
	/** What runs was given to it, and not typed. */
	#isGiven = false;

	constructor(options: ShellMarksOptions) {
		this.#options = options;
	}

	get phase(): ShellPhase {
		return this.#phase;
	}

	/** Oldest first. */
	get commands(): readonly ShellCommand[] {
		return this.#commands;
	}

	/** Where the shell is, as far as it told. */
	get cwd(): string | null {
		return this.#cwd;
	}

	/** A command is given to the shell: no mark but the one with this word ends it. */
	expect(word: string): void {
		this.#word = word;
	}

	/** Of the newest command, by somebody who knows it. */
	name(line: string): void {
		this.#change({ command: line.slice(0, COMMAND_LENGTH) });
	}

	take({ code, text, offset, end }: ShellMark, at: number): void {
		if (code === 7) {
			this.#move(text);
			return;
		}
		const [letter, ...fields] = text.split(";");
		if (code === 633 && letter === "E") {
			if (this.#isBelieved(fields[1], `${this.#options.key}`)) this.#learn(unescaped(fields[0] ?? ""));
			return;
		}
		if (!this.#isBelieved(fields.at(-1), `h=${this.#options.key}`)) return;
		const [turn, word] = turnOf(fields);
		if (turn <= this.#turn) return;
		if (letter === "B" && this.#phase !== "running") this.#phase = "prompt";
		else if (letter === "C") this.#begin({ offset, end }, at, fields[0] === "t=");
		else if (letter === "D") this.#finish({ to: offset, how: fields[0] ?? "", at, turn, word });
		else if (letter === "P" && fields[0] === "k=s" && this.#phase !== "running") {
			this.#phase = "continued";
			this.#options.onReception?.("continued", { exitCode: null, isTyped: false, offset });
		}
	}

	#isBelieved(shown: string | undefined, wanted: string): boolean {
		return this.#options.key === null || shown === wanted;
	}

	/** Several lines that were typed at once begin one after the other, and end together. */
	#begin({ offset, end: from }: Pick<ShellMark, "offset" | "end">, at: number, isTyped: boolean): void {
		if (this.#phase === "running") return;
		this.#phase = "running";
		this.#isGiven = !isTyped && this.#word !== null;
		this.#commands.push({
			seq: ++this.#count,
			command: this.#line?.slice(0, COMMAND_LENGTH) ?? null,
			from,
			to: null,
			exitCode: null,
			cwd: null,
			startedAt: at,
			endedAt: null,
		});
		if (this.#commands.length > MAX_COMMANDS) this.#commands.shift();
		this.#line = null;
		this.#options.onReception?.("begun", { exitCode: null, isTyped, offset });
	}

	/** Without a beginning nothing ran: the line was empty, or made no sense. A second end is that of one command, too. */
	#finish({ to, how, at, turn, word }: Ending): void {
		const phase = this.#phase;
		const exitCode = /^\d{1,3}$/.test(how) ? Number(how) : null;
		const isTyped = this.#word !== null && word !== this.#word;
		if (phase === "running" && this.#isGiven && isTyped) return;
		if (Number.isFinite(turn)) this.#turn = turn;
		if (!isTyped) this.#word = null;
		if (phase === "ended") return;
		this.#phase = "ended";
		if (phase === "running") this.#change({ to, exitCode, endedAt: at });
		else if (phase !== "starting") {
			this.#line = null;
			this.#options.onReception?.(how === "incomplete" ? how : "rejected", { exitCode, isTyped, offset: to });
		}
	}

	/** A directory is told right after the end of a command; at other times it is anybody's. */
	#move(text: string): void {
		const path = pathOf(text);
		if (path === null || (this.#options.key !== null && this.#phase === "running")) return;
		this.#cwd = path;
		if (this.#phase === "ended" && this.#commands.at(-1)?.cwd === null) this.#change({ cwd: path });
	}

	/** Some shells tell what they run before they do, some afterwards. */
	#learn(line: string): void {
		if (this.#phase === "prompt") this.#line = line;
		else if (this.#phase === "ended" && this.#commands.at(-1)?.command === null) this.name(line);
	}

	#change(fields: Partial<ShellCommand>): void {
		const last = this.#commands.pop();
		if (last) this.#commands.push({ ...last, ...fields });
	}
}

/** The number of the line that a mark belongs to, and the word after it. Of marks that have none: later than any, no word. */
function turnOf(fields: readonly string[]): [turn: number, word: string] {
	const [, turn = "Infinity", word = ""] = fields.map((field) => TURN.exec(field)).find((found) => found) ?? [];
	return [Number(turn), word];
}

/** `\\` and `\xHH`, as OSC 633 has them. */
function unescaped(text: string): string {
	return text.replace(/\\(?:\\|x([0-9a-fA-F]{2}))/g, (_, hex?: string) =>
		hex === undefined ? "\\" : String.fromCharCode(Number.parseInt(hex, 16)),
	);
}

/** Of `file://HOST/path`. Not every shell encodes what it should, so only what is encoded for certain is decoded. */
function pathOf(text: string): string | null {
	const [, path] = /^file:\/\/[^/]*(\/.*)$/.exec(text) ?? [];
	if (path === undefined) return null;
	try {
		return decodeURIComponent(path);
	} catch {
		return path;
	}
}
