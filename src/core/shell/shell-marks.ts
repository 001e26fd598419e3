/**
 * A shell's commands, folded from the marks in its output: begin, end, exit code and directory of each.
 *
 * Any program can print a mark. With a key only marks that carry it count, as those of our own hooks do. Without one
 * all count, which is good enough for display. A program that reads the terminal's output learns the key and could
 * replay marks. So each line of the shell has a number, under which it ends only once, and a fetched command ends with
 * a random word that was not visible before.
 */

import type { ShellMark } from "../terminal/terminal-scan.ts";

/**
 * Newest commands kept. With their texts they take 1 MiB at most.
 * @limit known commands of a shell | the oldest are forgotten
 */
const MAX_COMMANDS = 500;
/**
 * Longest text of a command, in characters. The rest is cut off.
 * @limit text of a known command | it is cut
 */
const COMMAND_LENGTH = 1_000;

export type ShellCommand = {
	/** Counts the commands of the session from 1. */
	readonly seq: number;
	/** Null if the shell did not report it. */
	readonly command: string | null;
	/** The output between its beginning and its end; `to` is null while it runs. */
	readonly from: number;
	readonly to: number | null;
	readonly exitCode: number | null;
	/** The shell's directory after the command. */
	readonly cwd: string | null;
	readonly startedAt: number;
	readonly endedAt: number | null;
};

/**
 * The shell's phase: it is before its first prompt, at its prompt, at a continuation prompt, running a command, or
 * between a command's end and the next prompt.
 */
export type ShellPhase = "starting" | "prompt" | "continued" | "running" | "ended";

/**
 * The shell's reaction to input: it began to run it, refused it, refused it as incomplete, or waits for the rest.
 */
export type CommandReception = "begun" | "rejected" | "incomplete" | "continued";

export type ReceptionDetails = {
	/** For a rejected command. */
	readonly exitCode: number | null;
	/** Typed by a user, not fetched by our hooks. */
	readonly isTyped: boolean;
	/** Offset of the mark that reported it. */
	readonly offset: number;
};

type ShellMarksOptions = {
	/** Null trusts all marks. */
	readonly key: string | null;
	/** Called synchronously with the mark, after `commands` and `phase` were updated. Also called for typed commands. */
	readonly onReception?: (reception: CommandReception, how: ReceptionDetails) => void;
	/** The shell's response at its prompt: whether its line is empty. */
	readonly onLine?: (isEmpty: boolean) => void;
};

/** The line's number, and the word that was sent with its command. */
const TURN = /^n=(\d{1,12})(?:\.([0-9a-f]*))?$/;
/** The exit code in the mark of a prompt. */
const CODE = /^c=(.*)$/;

type Ending = {
	/** End of the output. */
	readonly to: number;
	/** The exit code, or the reason why there is none. */
	readonly how: string;
	readonly at: number;
	readonly turn: number;
	readonly word: string;
};

/** The end of a command's output, from a shell that reports the exit code with its next prompt. */
type OutputEnd = Pick<Ending, "to" | "at"> & {
	/** The phase that it ended. */
	readonly phase: ShellPhase;
};

export class ShellMarks {
	readonly #options: ShellMarksOptions;
	readonly #commands: ShellCommand[] = [];
	#phase: ShellPhase = "starting";
	/** A prompt has begun, but its end was not marked. */
	#isPrompting = false;
	#count = 0;
	#cwd: string | null = null;
	/** Text of the next command, reported before it begins. */
	#line: string | null = null;
	/** Number of the line that ended last. */
	#turn = 0;
	/** The word that must end the pending command. */
	#word: string | null = null;
	/** The running command was sent by us, not typed. */
	#isSent = false;
	#outputEnd: OutputEnd | null = null;
	#unhookedBy: string | null = null;

	constructor(options: ShellMarksOptions) {
		this.#options = options;
	}

	get phase(): ShellPhase {
		return this.#phase;
	}

	get isPrompting(): boolean {
		return this.#isPrompting;
	}

	/** Oldest first. */
	get commands(): readonly ShellCommand[] {
		return this.#commands;
	}

	/** End of the newest command's output, if the shell reported it; null while it runs. */
	get outputEnd(): number | null {
		return this.#outputEnd?.to ?? this.#commands.at(-1)?.to ?? null;
	}

	/** The shell's directory, as last reported. */
	get cwd(): string | null {
		return this.#cwd;
	}

	/** Why the hooks gave up, in their words; null if they did not. */
	get unhookedBy(): string | null {
		return this.#unhookedBy;
	}

	/** A signal has interrupted the prompt before its end was marked, and the shell reads at it. */
	endPrompt(at: number): void {
		this.#isPrompting = false;
		this.#ready(at);
	}

	/** A command is sent to the shell. Only a mark with this word ends it. */
	expect(word: string): void {
		this.#word = word;
	}

	/** Sets the text of the newest command. */
	name(line: string): void {
		this.#change({ command: shortened(line) });
	}

	take({ code, text, offset, end }: ShellMark, at: number): void {
		if (code === 7) {
			this.#move(text);
			return;
		}
		const [letter, ...fields] = text.split(";");
		if (code === 633 && letter === "E") {
			if (this.#isTrusted(fields[1], `${this.#options.key}`)) this.#learn(unescaped(fields[0] ?? ""));
			return;
		}
		if (!this.#isTrusted(fields.at(-1), `h=${this.#options.key}`)) return;
		const [turn, word] = turnOf(fields);
		if (turn <= this.#turn) return;
		this.#isPrompting = letter === "A";
		if (letter === "A") this.#prompt({ to: offset, how: codeOf(fields), at, turn, word });
		else if (letter === "B") this.#ready(at);
		else if (letter === "C") this.#begin({ offset, end }, at, fields[0] === "t=");
		else if (letter === "D") this.#end({ to: offset, how: fields[0] ?? "", at, turn, word });
		else if (letter === "T" && this.#phase === "prompt") this.#options.onLine?.(fields[0] === "");
		else if (letter === "X") this.#unhookedBy = fields[0] ?? "";
		else if (letter === "P" && fields[0] === "k=s" && this.#phase !== "running") {
			this.#phase = "continued";
			this.#options.onReception?.("continued", { exitCode: null, isTyped: false, offset });
		}
	}

	#isTrusted(shown: string | undefined, wanted: string): boolean {
		return this.#options.key === null || shown === wanted;
	}

	/**
	 * An end without an exit code is settled by the next prompt. Until then a later mark replaces it, because a command
	 * that runs the shell's own prompt hook prints one too early.
	 */
	#end(ending: Ending): void {
		const { to, how, at, word } = ending;
		if (how !== "") {
			this.#finish(ending);
			return;
		}
		const phase = this.#outputEnd?.phase ?? this.#phase;
		if (phase === "running" && this.#isSent && this.#isOther(word)) return;
		this.#outputEnd = { to, at, phase };
		this.#phase = "ended";
	}

	/** A prompt with an exit code ends the command, even without a mark of its end. */
	#prompt({ to, how, at, turn, word }: Omit<Ending, "how"> & { readonly how: string | null }): void {
		if (how === null) return;
		const end = this.#outputEnd;
		if ((end?.phase ?? this.#phase) === "running" && this.#isSent && this.#isOther(word)) return;
		this.#settle({ to: end?.to ?? to, how, at: end?.at ?? at, turn, word });
	}

	#ready(at: number): void {
		const end = this.#outputEnd;
		// The shell did not report the exit code.
		if (end) this.#settle({ to: end.to, how: "", at, turn: Number.POSITIVE_INFINITY, word: this.#word ?? "" });
		if (this.#phase !== "running") this.#phase = "prompt";
	}

	#settle(ending: Ending): void {
		if (this.#outputEnd) this.#phase = this.#outputEnd.phase;
		this.#outputEnd = null;
		this.#finish(ending);
	}

	#isOther(word: string): boolean {
		return this.#word !== null && word !== this.#word;
	}

	/** Several lines typed at once begin one after another and end together. */
	#begin({ offset, end: from }: Pick<ShellMark, "offset" | "end">, at: number, isTyped: boolean): void {
		if (this.#outputEnd) this.#ready(at);
		if (this.#phase === "running") return;
		this.#phase = "running";
		this.#isSent = !isTyped && this.#word !== null;
		this.#commands.push({
			seq: ++this.#count,
			command: this.#line === null ? null : shortened(this.#line),
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

	/** Without a beginning nothing ran: the line was empty or invalid. A second end belongs to the same command. */
	#finish({ to, how, at, turn, word }: Ending): void {
		const phase = this.#phase;
		const exitCode = /^\d{1,3}$/.test(how) ? Number(how) : null;
		const isTyped = this.#isOther(word);
		if (phase === "running" && this.#isSent && isTyped) return;
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

	/** A directory counts right after a command's end. At other times any program may have printed it. */
	#move(text: string): void {
		const path = pathOf(text);
		if (path === null || (this.#options.key !== null && this.#phase === "running")) return;
		this.#cwd = path;
		if (this.#phase === "ended" && this.#commands.at(-1)?.cwd === null) this.#change({ cwd: path });
	}

	/** Some shells report a command's text before they run it, some afterwards. */
	#learn(line: string): void {
		if (this.#phase === "prompt") this.#line = line;
		else if (this.#phase === "ended" && this.#commands.at(-1)?.command === null) this.name(line);
	}

	#change(fields: Partial<ShellCommand>): void {
		const last = this.#commands.pop();
		if (last) this.#commands.push({ ...last, ...fields });
	}
}

/** The beginning of a command, copied because a slice would keep a long text in memory. */
function shortened(line: string): string {
	return line.length <= COMMAND_LENGTH ? line : (JSON.parse(JSON.stringify(line.slice(0, COMMAND_LENGTH))) as string);
}

/** The line number and the word of a mark. A mark without them gets the highest number and no word. */
function turnOf(fields: readonly string[]): [turn: number, word: string] {
	const [, turn = "Infinity", word = ""] = fields.map((field) => TURN.exec(field)).find((found) => found) ?? [];
	return [Number(turn), word];
}

/** The exit code of a prompt's mark; null if it has none. */
function codeOf(fields: readonly string[]): string | null {
	return fields.map((field) => CODE.exec(field)?.[1]).find((code) => code !== undefined) ?? null;
}

/** Decodes `\\` and `\xHH` of OSC 633. */
function unescaped(text: string): string {
	return text.replace(/\\(?:\\|x([0-9a-fA-F]{2}))/g, (_, hex?: string) =>
		hex === undefined ? "\\" : String.fromCharCode(Number.parseInt(hex, 16)),
	);
}

/** The path of `file://HOST/path`. Not every shell encodes it properly, so an invalid encoding is taken literally. */
function pathOf(text: string): string | null {
	const [, path] = /^file:\/\/[^/]*(\/.*)$/.exec(text) ?? [];
	if (path === undefined) return null;
	try {
		return decodeURIComponent(path);
	} catch {
		return path;
	}
}
