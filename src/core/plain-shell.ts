/**
 * Runs commands in a shell without our hooks, as far as that can be done from outside: typed as a person would, once the
 * kernel shows that the shell reads at its prompt, and over when it does so again. How a command ended only the shell
 * knows, and its echo and the next prompt are among the output; `exact` is false.
 */

import type { ActOptions, Origin, Receipt } from "./act.ts";
import { Change } from "./change.ts";
import { SessionError } from "./errors.ts";
import { type Inspection, isWaiting, SHELLS } from "./inspection.ts";
import { LONGEST_LINE_BYTES, longestLine } from "./line-mode.ts";
import type { RunAnswer, RunStatus } from "./run.ts";
import { type SentCommand, SentCommands } from "./sent-commands.ts";

/** Typed in one piece, so that a repeat is all of it or nothing: half of what an input stream may be ahead. */
const MAX_COMMAND_BYTES = 64 * 1024;
/** How shells' prompts end, where nothing better is known: `$`, `#`, `%`, `>`, and a blank. */
const LIKE_A_PROMPT = /[$#%>] ?$/;
/** How they ask for the rest of a command: `> `, in zsh after what is open. */
const LIKE_A_CONTINUATION = /^([a-z]+ )*[a-z]*> ?$/;
/** What line editors write around a prompt. */
const EDITORS_ESCAPES = /\u001b(\[[0-?]*[ -/]*[@-~]|[=>])/g;
/** Options of shells that are followed by a value, and still leave them to read commands. */
const TAKES_ANOTHER = /^([-+][oO]|--(rcfile|init-file|init-command)|-C)$/;
/** The keys that end a line, or throw it away: Enter, ^C, ^D, ^U. */
const LINE_ENDS: ReadonlySet<number | undefined> = new Set([0x0d, 0x0a, 0x03, 0x04, 0x15]);
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";
const ENTER = "\r";

export type PlainShellOptions = {
	readonly argv: readonly string[];
	/** Of the program that the session is. */
	readonly pid: () => number | undefined;
	/** Where the output ends. */
	readonly end: () => number;
	/** The last characters of the output. */
	readonly tail: () => string;
	/** Whether the program wants to know what is pasted: then it edits a line. */
	readonly takesPastes: () => boolean;
	/** Whether the terminal edits lines itself. */
	readonly isLineMode: () => boolean;
	/** How the program ended, once all of its output is there. */
	readonly exit: () => { readonly code: number | null } | undefined;
	readonly type: (bytes: Uint8Array, options: ActOptions) => Receipt;
	/** Types ^C, whoever has control: it ends what we have begun. */
	readonly interrupt: () => void;
	readonly receipt: (stream: string) => Receipt;
	readonly isInputWaiting: () => boolean;
	readonly inspect: () => Promise<Inspection>;
	/** Resolves once the program waits in a later episode, has ended, or the signal aborts. */
	readonly untilWaiting: (after: number, signal?: AbortSignal) => Promise<Inspection>;
};

/** A command that was typed, and where the output ended before. */
type Typed = SentCommand & {
	readonly from: number;
	/** That of the prompt at which it was typed. */
	readonly episode: number;
	readonly prompt: string;
	/** The shell wanted the rest of it, which will never come. */
	isGivenUp: boolean;
};

export class PlainShell {
	readonly #options: PlainShellOptions;
	readonly #typed: SentCommands<Typed>;
	/** Counts what was typed, by anybody: what was seen before is not true any more. */
	#turn = 0;
	/** Somebody is in the middle of a line. */
	#isHalfTyped = false;
	readonly #ended = new Change();

	constructor(options: PlainShellOptions) {
		this.#options = options;
		this.#typed = new SentCommands(options.receipt);
	}

	/** Somebody's input was written; answers of terminals are none. */
	noteInput(bytes: Uint8Array): void {
		this.#turn++;
		this.#isHalfTyped = !LINE_ENDS.has(bytes.at(-1));
	}

	/** The program ended, with all of its output. */
	noteEnd(): void {
		this.#ended.happen();
	}

	/** Whether a command was typed from this place. */
	has(origin: Origin | undefined): boolean {
		return this.#typed.has(origin);
	}

	async run(command: string, options: ActOptions, until: AbortSignal): Promise<RunAnswer> {
		const { inspect, untilWaiting, end, type } = this.#options;
		const turn = this.#turn;
		const known = this.#typed.repeated(command, options.origin);
		if (known) return this.#outcome(known, until);
		// What is in front once it waits for somebody, unless the session is no shell: then it is what is there now.
		const front = this.#isShell ? await untilWaiting(0, until) : await inspect();
		// Somebody has typed meanwhile, and it may have been this; from here to the typing nothing is awaited.
		if (turn !== this.#turn) return this.run(command, options, until);
		if (front.state === "ended") throw shellEnded();
		if (!this.#isFree(front)) {
			if (!this.#isShell && front.state !== "prompt") throw noShell();
			return this.#answer("busy", { from: this.#options.end(), origin: options.origin }, front);
		}
		const bytes = this.#bytesOf(command);
		const { origin } = options;
		const prompt = this.#lastLine();
		const typed: Typed = { command, origin, from: end(), episode: front.episode, prompt, isGivenUp: false };
		type(bytes, options);
		this.#turn++;
		this.#typed.add(typed);
		return this.#outcome(typed, until);
	}

	/** Whether what was seen is a shell that reads a command: an inner one, too, if its line editor shows it. */
	isAtPrompt({ state, kind, pid }: Inspection): boolean {
		if (state === "prompt") return true;
		if (state !== "waiting" || kind === "secret" || !this.#isShell || pid !== this.#options.pid()) return false;
		const { takesPastes, tail } = this.#options;
		return (kind === "key" && takesPastes()) || LIKE_A_PROMPT.test(tail());
	}

	/** Told what to do by its arguments, a shell reads no commands. */
	get #isShell(): boolean {
		const [program = "", ...given] = this.#options.argv;
		const rest = given.filter((_, index) => !TAKES_ANOTHER.test(given[index - 1] ?? ""));
		const isTold = rest.some((argument) => !/^[-+]/.test(argument) || /^-([a-z]*c|-command)/.test(argument));
		return SHELLS.has(program.slice(program.lastIndexOf("/") + 1)) && !isTold;
	}

	#isFree(front: Inspection): boolean {
		return this.isAtPrompt(front) && !this.#isHalfTyped && !this.#options.isInputWaiting();
	}

	/** Refuses what would not arrive as it is. */
	#bytesOf(command: string): Uint8Array {
		const { takesPastes, isLineMode } = this.#options;
		const lines = command.replaceAll(/\r?\n/g, "\n").replace(/\n+$/, "");
		const isPaste = takesPastes() && !isLineMode();
		const isTabSafe = isPaste || isLineMode();
		if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(lines) || (!isTabSafe && lines.includes("\t"))) {
			throw refused("it has a character that the shell would take for a key");
		}
		const typed = lines.replaceAll("\n", ENTER);
		const bytes = new TextEncoder().encode(isPaste ? PASTE_BEGIN + typed + PASTE_END + ENTER : typed + ENTER);
		if (bytes.byteLength > MAX_COMMAND_BYTES) throw refused(`it has more than ${MAX_COMMAND_BYTES} bytes`);
		const longest = longestLine(bytes);
		if (isLineMode() && longest > LONGEST_LINE_BYTES) {
			throw refused(`a line of it has ${longest} bytes, and the terminal takes ${LONGEST_LINE_BYTES}`);
		}
		return bytes;
	}

	async #outcome(typed: Typed, until: AbortSignal): Promise<RunAnswer> {
		const { untilWaiting, exit, end, interrupt } = this.#options;
		for (let after = typed.episode; ; ) {
			const front = await untilWaiting(after, until);
			// Who has ended is not waited for any more, and its last output may still be on its way.
			while (front.state === "ended" && !exit() && !until.aborted) await this.#ended.next(until);
			if (exit()) return this.#answer("ended", typed, front);
			// Even of a command that writes nothing there is the next prompt.
			if (isWaiting(front) && front.episode > after && end() > typed.from) {
				const isAtPrompt = this.isAtPrompt(front);
				if (typed.isGivenUp) return this.#answer("incomplete", typed, front);
				if (!isAtPrompt || !this.#isContinued(typed, front)) {
					return this.#answer(isAtPrompt ? "ended" : "waiting", typed, front);
				}
				typed.isGivenUp = true;
				interrupt();
			}
			if (until.aborted) return this.#answer("running", typed, front);
			after = Math.max(after, front.episode);
		}
	}

	/** Whether the shell wants the rest of a command, as far as that is told by its prompt, which is another than before. */
	#isContinued({ prompt }: Typed, { pid }: Inspection): boolean {
		const line = this.#lastLine();
		return pid === this.#options.pid() && line !== prompt && LIKE_A_CONTINUATION.test(line);
	}

	#lastLine(): string {
		const text = this.#options.tail().replaceAll(EDITORS_ESCAPES, "");
		return text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
	}

	#answer(status: RunStatus, { from, origin }: Pick<Typed, "from" | "origin">, front: Inspection): RunAnswer {
		const { end, exit, receipt } = this.#options;
		const isOver = status === "ended" || status === "incomplete";
		return {
			status,
			exact: false,
			seq: null,
			// The shell's own, which is known, if the command has ended it.
			exitCode: isOver ? (exit()?.code ?? null) : null,
			cwd: isOver ? front.cwd : null,
			output: { from, to: end() },
			front: isOver ? null : front,
			next: origin ? receipt(origin.stream).next : 0,
		};
	}
}

function refused(why: string): SessionError {
	return new SessionError("invalid_argument", `the command can't be typed: ${why}; nothing was typed`, {
		hint: "write it into a file, and let the shell read that; or start bash, zsh or fish with hooks",
	});
}

/** What somebody is told who wants to run a command where no shell reads one. */
export function noShell(): SessionError {
	return new SessionError("unsupported", "this session is no shell that takes commands", {
		hint: "start bash, zsh, fish or sh as a session of its own; or type, and wait for what the program writes",
	});
}

/** What somebody is told who wants to run a command in a shell that is gone. */
export function shellEnded(): SessionError {
	return new SessionError("session_closed", "the shell has ended; nothing was sent");
}
