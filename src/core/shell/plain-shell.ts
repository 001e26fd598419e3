/**
 * Runs commands in a shell without our hooks: types them when the kernel shows that the shell reads at its prompt, and
 * considers them finished when it does so again. Exit codes stay unknown, and the output includes the echo and the next
 * prompt, so `exact` is false.
 */

import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";
import type { ActOptions, Receipt, StreamPosition } from "../input/action.ts";
import { longestLine, MAX_TERMINAL_LINE_BYTES } from "../input/line-limit.ts";
import { type Inspection, isAtPrompt, isWaitingForInput } from "../inspect/inspection.ts";
import type { BusyReason, RunOutcome, RunStatus } from "./run-command.ts";
import { type SentCommand, SentCommands } from "./sent-commands.ts";
import { isShell, lastLineOf } from "./shell-prompt.ts";
import { TypedLineLength } from "./typed-line-length.ts";

/**
 * A command is typed in one piece, so that a retry is all of it or nothing. Half of the input window.
 * @limit a command for a shell without hooks | 400, and nothing is typed
 */
const MAX_COMMAND_BYTES = 64 * 1024;
/** Continuation prompts: `> `, in zsh after the names of open constructs. */
const LIKE_A_CONTINUATION = /^([a-z]+ )*[a-z]*> ?$/;
/** A program that is in the foreground for this long is a command, not part of the shell's start or prompt. */
const COMMAND_MS = 3_000;
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";
const ENTER = "\r";

export type PlainShellOptions = {
	readonly argv: readonly string[];
	readonly clock: Clock;
	/** Number of lines, signals and ends of input so far. */
	readonly turns: () => number;
	/** The process of the session's program. */
	readonly pid: () => number | undefined;
	/** The end of the output. */
	readonly end: () => number;
	/** The last characters of the output. */
	readonly tail: () => string;
	/** Whether the program uses bracketed paste, so it edits a line. */
	readonly takesPastes: () => boolean;
	/** Whether the terminal is in canonical mode. */
	readonly isLineMode: () => boolean;
	/** How the program ended, once all of its output has come. */
	readonly exit: () => { readonly code: number | null } | undefined;
	readonly type: (bytes: Uint8Array, options: ActOptions) => Receipt;
	/** Types ^C regardless of the lease, to cancel our own command. */
	readonly interrupt: () => void;
	readonly receipt: (stream: string) => Receipt;
	readonly isInputWaiting: () => boolean;
	/** Resolves when the kernel has taken all input or takes no more, or when the signal aborts. */
	readonly untilInputTaken: (signal: AbortSignal) => Promise<void>;
	readonly inspect: () => Promise<Inspection>;
	/** Resolves when the program waits in a later episode, has ended, or the signal aborts. */
	readonly untilWaiting: (after: number, signal?: AbortSignal) => Promise<Inspection>;
};

/** A typed command, with the end of the output before it. */
type Typed = SentCommand & {
	readonly from: number;
	/** Episode of the prompt at which it was typed. */
	readonly episode: number;
	readonly prompt: string;
	/** The prompt was in a nested terminal. */
	readonly isInner: boolean;
	/** The shell asked for the rest of the command, which does not exist. */
	isGivenUp: boolean;
};

export class PlainShell {
	readonly #options: PlainShellOptions;
	readonly #typed: SentCommands<Typed>;
	/** Counts input from any client, which invalidates earlier inspections. */
	#turn = 0;
	readonly #line = new TypedLineLength();
	/** The process found instead of the prompt, since when, and after how many lines. */
	#inFront: { readonly pid: number | null; readonly turns: number; readonly since: number } | undefined;
	readonly #ended = new Change();

	constructor(options: PlainShellOptions) {
		this.#options = options;
		this.#typed = new SentCommands(options.receipt);
	}

	/** Notes a user's input. Terminal replies do not count. */
	noteInput(bytes: Uint8Array): void {
		this.#turn++;
		this.#line.type(bytes);
	}

	/** Notes a signal, or the end of input. */
	noteSignal(): void {
		this.#turn++;
		this.#line.interrupt();
	}

	/** The program has ended and all of its output has come. */
	noteEnd(): void {
		this.#ended.happen();
	}

	/** Whether a command was typed at this stream position. */
	has(origin: StreamPosition | undefined): boolean {
		return this.#typed.has(origin);
	}

	async run(command: string, options: ActOptions, until: AbortSignal): Promise<RunOutcome> {
		const { inspect, untilWaiting, end, type, isInputWaiting, untilInputTaken } = this.#options;
		const turn = this.#turn;
		const known = this.#typed.repeated(command, options);
		if (known) return this.#outcome(known, until);
		// If the session's own program is a shell, wait until it or its command waits for input.
		const isOurs = isShell(this.#options.argv);
		const front = isOurs ? await untilWaiting(0, until) : await inspect();
		// A client has typed meanwhile, maybe this very command. From here to the typing nothing is awaited.
		if (turn !== this.#turn) return this.run(command, options, until);
		if (front.state === "ended") throw shellEndedError();
		if (isAtPrompt(front) && isInputWaiting() && !until.aborted) {
			await untilInputTaken(until);
			return this.run(command, options, until);
		}
		if (!this.#isFree(front)) {
			if (!isOurs && front.state !== "prompt") throw noShellError();
			const place = { from: this.#options.end(), origin: options.origin };
			return { ...this.#answer("busy", place, front), why: this.#busyReason(front) };
		}
		const bytes = this.#bytesOf(command);
		const { origin } = options;
		const prompt = this.#lastLine();
		const isInner = front.isInner === true;
		const typed: Typed = { command, origin, from: end(), episode: front.episode, prompt, isInner, isGivenUp: false };
		type(bytes, options);
		this.#turn++;
		this.#typed.add(typed);
		return this.#outcome(typed, until);
	}

	#isFree(front: Inspection): boolean {
		return isAtPrompt(front) && this.#line.isEmpty && !this.#options.isInputWaiting();
	}

	/**
	 * A shell may run programs for its startup files or its prompt. So a program counts as a command only after it was in
	 * the foreground for some time, and never before the first line was typed.
	 */
	#busyReason(front: Inspection): BusyReason {
		const { clock, turns } = this.#options;
		if (isAtPrompt(front)) return "typed";
		if (isWaitingForInput(front)) return "command";
		const now = clock.monotonic();
		if (this.#inFront?.pid !== front.pid || this.#inFront.turns !== turns()) {
			this.#inFront = { pid: front.pid, turns: turns(), since: now };
		}
		return turns() > 0 && now - this.#inFront.since >= COMMAND_MS ? "command" : "starting";
	}

	/** The bytes to type. Refuses a command that would not arrive unchanged. */
	#bytesOf(command: string): Uint8Array {
		const { takesPastes, isLineMode } = this.#options;
		const lines = command.replaceAll(/\r?\n/g, "\n").replace(/\n+$/, "");
		const isPaste = takesPastes() && !isLineMode();
		const isTabSafe = isPaste || isLineMode();
		if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(lines) || (!isTabSafe && lines.includes("\t"))) {
			throw refused("it contains a character that the shell would take for a key");
		}
		const typed = lines.replaceAll("\n", ENTER);
		const bytes = new TextEncoder().encode(isPaste ? PASTE_BEGIN + typed + PASTE_END + ENTER : typed + ENTER);
		if (bytes.byteLength > MAX_COMMAND_BYTES) throw refused(`it is longer than ${MAX_COMMAND_BYTES} bytes`);
		const longest = longestLine(bytes);
		if (isLineMode() && longest > MAX_TERMINAL_LINE_BYTES) {
			throw refused(`one line has ${longest} bytes (limit of the terminal ${MAX_TERMINAL_LINE_BYTES})`);
		}
		return bytes;
	}

	async #outcome(typed: Typed, until: AbortSignal): Promise<RunOutcome> {
		const { untilWaiting, inspect, exit, end, interrupt } = this.#options;
		for (let after = typed.episode; ; ) {
			let front = await untilWaiting(after, until);
			// The program of a nested terminal passes input on later, so the shell may have got the Enter since it was seen,
			// and its first output after that may have come before the inspection did. Another inspection finds no output.
			for (let shown = -1; typed.isInner && isWaitingForInput(front) && front.offset !== shown && !until.aborted; ) {
				shown = front.offset;
				front = await inspect();
			}
			// The program has ended, but its last output may still be on its way.
			while (front.state === "ended" && !exit() && !until.aborted) await this.#ended.wait(until);
			if (exit()) return this.#answer("ended", typed, front);
			// Even a command without output is followed by the next prompt.
			if (
				isWaitingForInput(front) &&
				front.episode > after &&
				end() > typed.from &&
				!isLeaving(typed, front) &&
				!this.#isEntering(typed)
			) {
				if (typed.isGivenUp) return this.#answer("incomplete", typed, front);
				if (!this.#isContinued(typed, front)) {
					return this.#answer(isAtPrompt(front) ? "ended" : "waiting", typed, front);
				}
				typed.isGivenUp = true;
				interrupt();
			}
			if (until.aborted) return this.#answer("running", typed, front);
			after = Math.max(after, front.episode);
		}
	}

	/** Whether a shell in a nested terminal still shows the command at its prompt: it has not got the Enter yet. */
	#isEntering({ command, isInner }: Typed): boolean {
		const shown = command.trimEnd().split("\n").at(-1) ?? "";
		return isInner && shown !== "" && this.#lastLine().trimEnd().endsWith(shown);
	}

	/** Whether the shell asks for the rest of a command, judged by its prompt, which differs from the one before. */
	#isContinued({ prompt }: Typed, { pid, program }: Inspection): boolean {
		// fish continues a command without a prompt, and the prompt of its `read` is `read> `.
		if (program === "fish") return false;
		const line = this.#lastLine();
		return pid === this.#options.pid() && line !== prompt && LIKE_A_CONTINUATION.test(line);
	}

	#lastLine(): string {
		return lastLineOf(this.#options.tail());
	}

	#answer(status: RunStatus, { from, origin }: Pick<Typed, "from" | "origin">, front: Inspection): RunOutcome {
		const { end, exit, receipt } = this.#options;
		const isOver = status === "ended" || status === "incomplete";
		return {
			status,
			exact: false,
			seq: null,
			// If the command has ended the shell, the shell's own exit code is known.
			exitCode: isOver ? (exit()?.code ?? null) : null,
			cwd: isOver ? front.cwd : null,
			output: { from, to: end() },
			front: isOver ? null : front,
			next: origin ? receipt(origin.stream).next : 0,
		};
	}
}

/**
 * A program with a nested terminal, such as `script`, seems to wait for keys between the end of its shell and its own.
 */
function isLeaving({ isInner }: Typed, front: Inspection): boolean {
	return isInner && front.isInner === false && !isAtPrompt(front);
}

function refused(why: string): SessionError {
	return new SessionError("invalid_argument", `the command can't be typed: ${why}; nothing was typed`, {
		hint: "write it to a file and run that; or start bash, zsh or fish with hooks",
	});
}

/** The error for a command in a session without a shell. */
export function noShellError(): SessionError {
	return new SessionError("unsupported", "this session does not run a shell that takes commands", {
		hint: "start bash, zsh, fish or sh as its own session; or type input and wait for output",
	});
}

/** The error for a command in a shell that has ended. */
export function shellEndedError(): SessionError {
	return new SessionError("session_closed", "the shell has ended; nothing was sent");
}
