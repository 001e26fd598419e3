/**
 * Decides whether a shell that waits for input is at its prompt, or in a command that asks something. Both the
 * session's activity and `run` use it.
 *
 * A shell reads commands and the input of its built-ins (`read -e`, `vared`, `select`) with the same calls and the same
 * line editor. Marks tell the two apart. Without marks the stack depth does: a shell always reads commands from the
 * same place in its code, and built-ins from elsewhere. The depth is learned at the session's first prompt. It is the
 * same in every process of a program. Some builds of bash reach their first prompt by another call than all later ones,
 * so there may be a second depth close to the first.
 */

import { type ActivityVerdict, SHELLS } from "../inspect/inspection.ts";
import type { ProcessSnapshot } from "../process/process-snapshot.ts";
import type { ShellPhase } from "./shell-marks.ts";

/** Options that take a value, and with which a shell still reads commands. */
const TAKES_ANOTHER = /^([-+][oO]|--(rcfile|init-file|init-command)|-C)$/;
/** Largest distance of two depths of one prompt: 32 bytes in bash 4.4 to 5.3. The rest of a command is 96 away. */
const NEAR_BYTES = 48;
/** The usual ends of prompts. */
const LIKE_A_PROMPT = /[$#%>❯➜λ»] ?$/;
/** Sequences that line editors write around a prompt: cursor movements to its end, sequences, titles, character sets. */
const EDITORS_ESCAPES =
	/\r\u001b\[\d+C|\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\([0-9A-Z]|[=>])/g;

type ShellPromptOptions = {
	/** Arguments and process of the session's program. */
	readonly argv: readonly string[];
	readonly pid: () => number | undefined;
	/** The phase by the marks of our hooks; null for a shell without hooks. */
	readonly phase: () => ShellPhase | null;
	/** Whether the marks show that a prompt has begun but not ended. */
	readonly isPrompting: () => boolean;
	/** Whether the program edits a line with bracketed paste. */
	readonly takesPastes: () => boolean;
	/** The last bytes of the output, one character per byte. */
	readonly tail: () => string;
};

/** The session's state at the time of the snapshot. */
type Moment = {
	/** The last shell mark in the output is the end of a prompt. */
	readonly isMarked: boolean;
	/** The output ends with a terminal query. */
	readonly isAsking: boolean;
	/** Number of lines, signals and ends of input so far. */
	readonly turns: number;
};

export class ShellPrompt {
	readonly #options: ShellPromptOptions;
	/** The one or two stack depths at which each program reads commands. */
	readonly #depths = new Map<string, readonly number[]>();
	/** The process that writes the marks, and its executable. */
	#hooked: Pick<ProcessSnapshot, "pid" | "image"> | undefined;
	/** The last shell that was at its prompt without marks. */
	#plain: ProcessSnapshot["image"] | undefined;
	/** The turn at which a shell started by the next command reaches its first prompt. */
	#firstAt = Number.NaN;
	#isOtherInFront = false;
	/** The depth in the last snapshot, if that was at a prompt. */
	#latest: { readonly program: string; readonly depth: number } | undefined;

	constructor(options: ShellPromptOptions) {
		this.#options = options;
	}

	/**
	 * Whether the last shell seen at a prompt is not the one with the hooks, but one that it started or that replaced it.
	 */
	get isOtherInFront(): boolean {
		return this.#isOtherInFront;
	}

	/** The shell with the hooks has begun to run a command at this turn. */
	noteCommand(turns: number): void {
		this.#firstAt = turns;
	}

	/** How certain it is that the foreground process is a shell at its prompt; null if it is not. */
	judge(snapshot: ProcessSnapshot, moment: Moment): ActivityVerdict["confidence"] | null {
		const confidence = this.#judge(snapshot, moment);
		this.#isOtherInFront = confidence !== null && this.#options.phase() !== null && !this.#isHooked(snapshot);
		// A shell with unread input was at its prompt before that line was counted.
		if (confidence !== null && confidence !== "guess" && snapshot.unread === 0 && !this.#isHooked(snapshot)) {
			this.#plain = snapshot.image;
			this.#firstAt = moment.turns + 1;
		}
		return confidence;
	}

	#judge(snapshot: ProcessSnapshot, moment: Moment): ActivityVerdict["confidence"] | null {
		const { program, depth, argv, pid, image } = snapshot;
		if (program === null || !SHELLS.has(program) || hasCommands(argv) || !(snapshot.reads || snapshot.listens))
			return null;
		if (this.#options.phase() === "prompt" && this.#hasHookedName(snapshot)) this.#hooked = { pid, image };
		const phase = this.#isHooked(snapshot) ? this.#options.phase() : null;
		if (phase === "continued") return null;
		if (phase === "prompt") return this.#learn(snapshot, moment, "sure");
		this.#latest = undefined;
		// With hooks, a known depth means that the marks have stopped coming.
		if (depth !== null && this.#depths.has(program)) return this.#isKnownDepth(program, depth) ? "likely" : null;
		if (phase === null && moment.isMarked) return "sure";
		const isLikely = LIKE_A_PROMPT.test(lastLineOf(this.#options.tail()));
		const isFirst = moment.turns === this.#firstAt && image !== this.#plain;
		if (!this.#isOwn(snapshot) && !isFirst) return isLikely ? "guess" : null;
		if (phase === "running") return null;
		const isEditing = !snapshot.canonical && (snapshot.listens || this.#options.takesPastes());
		// Before the first line is typed, only a startup file could ask something; after the end of a command, only what
		// the shell runs before its prompt.
		const isNext =
			phase === "ended" || this.#options.isPrompting() || (phase === null && (moment.turns === 0 || isFirst));
		return isLikely || (isEditing && isNext) ? this.#learn(snapshot, moment, "likely") : null;
	}

	/**
	 * A snapshot can be ahead of the output: the shell already reads in a built-in while the mark of the command has not
	 * been read yet. So a known depth is replaced only after two snapshots in a row had the new one.
	 */
	#learn(
		{ program, depth }: ProcessSnapshot,
		{ isAsking }: Moment,
		confidence: ActivityVerdict["confidence"],
	): ActivityVerdict["confidence"] {
		if (program === null || depth === null || isAsking) return confidence;
		const isSeenAgain = this.#latest?.program === program && this.#latest.depth === depth;
		if (isSeenAgain || !this.#depths.has(program)) this.#depths.set(program, [depth]);
		this.#latest = { program, depth };
		return confidence;
	}

	#isKnownDepth(program: string, depth: number): boolean {
		const known = this.#depths.get(program) ?? [];
		if (known.includes(depth)) return true;
		const [first, ...others] = known;
		if (first === undefined || others.length > 0 || Math.abs(depth - first) > NEAR_BYTES) return false;
		this.#depths.set(program, [first, depth]);
		return true;
	}

	/** Whether this is the shell with our hooks, not one that has replaced it. */
	#isHooked(snapshot: ProcessSnapshot): boolean {
		if (this.#options.phase() === null || !this.#hasHookedName(snapshot)) return false;
		if (!this.#hooked) return snapshot.pid === this.#options.pid();
		return snapshot.pid === this.#hooked.pid && snapshot.image === this.#hooked.image;
	}

	#hasHookedName({ program }: ProcessSnapshot): boolean {
		return program === baseName(this.#options.argv[0] ?? "");
	}

	/** The session's own shell, also behind a launcher such as a sandbox. */
	#isOwn({ pid, argv }: ProcessSnapshot): boolean {
		const { argv: own } = this.#options;
		return pid === this.#options.pid() || (argv.length === own.length && argv.every((one, i) => one === own[i]));
	}
}

/** Whether these arguments start a shell that reads commands from its terminal. */
export function isShell(argv: readonly string[]): boolean {
	return SHELLS.has(baseName(argv[0] ?? "")) && !hasCommands(argv);
}

/** The same, also if the shell is started by another program, such as `env`. */
export function startsShell(argv: readonly string[]): boolean {
	return argv.some((_, index) => isShell(argv.slice(index)));
}

/** Whether a shell gets its commands from `-c` or a script, so that it reads no others. */
function hasCommands([, ...given]: readonly string[]): boolean {
	const rest = given.filter((_, index) => !TAKES_ANOTHER.test(given[index - 1] ?? ""));
	const options = rest.filter((argument) => /^[-+]/.test(argument));
	if (options.some((option) => /^-([a-z]*c|-command)/.test(option))) return true;
	// With -s the remaining arguments are positional parameters.
	return options.length < rest.length && !options.some((option) => /^-[a-z]*s/.test(option));
}

/** The visible last line of output, as far as cursor movements allow. */
export function lastLineOf(tail: string): string {
	const bytes = Uint8Array.from(tail, (character) => character.charCodeAt(0));
	const text = new TextDecoder().decode(bytes).replaceAll(EDITORS_ESCAPES, "");
	return text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
}

function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}
