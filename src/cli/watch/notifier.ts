/** Tells somebody who does not look that a session needs them: by the terminal, and by a command. Seldom, and only what is new. */

import { spawn } from "node:child_process";
import { needingSentence } from "../../client/index.ts";
import type { Row } from "./rows.ts";

/** How a terminal is asked to show something: as iTerm2 does, as urxvt does, or only by its bell. */
export const ways = ["auto", "osc9", "osc777", "bell"] as const;
export type Way = (typeof ways)[number];

type NotifierOptions = {
	/** Writes to the terminal, where there is one that shall ring. */
	readonly ring: ((sequence: string) => void) | undefined;
	readonly command: string | undefined;
	/** Hears what is wrong with the command. */
	readonly onTrouble: (sentence: string) => void;
};

/** Between two: more often would only be in the way. What comes meanwhile is told together. */
const PAUSE_MS = 5_000;
/** A command that takes longer, in milliseconds, is ended. */
const COMMAND_MS = 30_000;
/** Of a text, in characters: what notifications show at most. */
const LONGEST_TEXT = 200;

const BELL = "\u0007";
const OSC_9_PROGRAMS: ReadonlySet<string | undefined> = new Set(["iTerm.app", "WezTerm", "ghostty"]);

/** What the terminal around us understands, as far as it says who it is; what is between us and it lets only bells through. */
export function wayOf(env: NodeJS.ProcessEnv): Exclude<Way, "auto"> {
	const { TERM = "", TERM_PROGRAM, TMUX, VTE_VERSION } = env;
	if (TMUX || /^(screen|tmux)/.test(TERM)) return "bell";
	if (VTE_VERSION || /^(foot|rxvt)/.test(TERM)) return "osc777";
	return OSC_9_PROGRAMS.has(TERM_PROGRAM) || /^xterm-(kitty|ghostty)$/.test(TERM) ? "osc9" : "bell";
}

/** The text has no controls. What stands for the next field there, and a number that is a command, is not in it. */
export function sequenceOf(way: Exclude<Way, "auto">, text: string): string {
	const safe = `hawser: ${text}`.replaceAll(";", ",");
	if (way === "osc9") return `\u001b]9;${safe}\u001b\\${BELL}`;
	return way === "osc777" ? `\u001b]777;notify;hawser;${safe}\u001b\\${BELL}` : BELL;
}

export class Notifier {
	readonly #options: NotifierOptions;
	readonly #way: Exclude<Way, "auto">;
	/** What was needed when it was looked last; undefined before that. */
	#known: ReadonlySet<string> | undefined;
	#fresh: ReadonlySet<string> = new Set();
	#needing: readonly Row[] = [];
	#pause: NodeJS.Timeout | undefined;

	constructor(options: NotifierOptions, way: Way) {
		this.#options = options;
		this.#way = way === "auto" ? wayOf(process.env) : way;
	}

	/** Who needs somebody now, the most urgent first. What the first look finds is no news. */
	look(needing: readonly Row[]): void {
		const keys = needing.map(keyOf);
		const known = this.#known;
		this.#known = new Set(keys);
		this.#needing = needing;
		// Who needs nobody any more has nothing to tell.
		this.#fresh = new Set(keys.filter((key) => known && (!known.has(key) || this.#fresh.has(key))));
		this.#tellSoon();
	}

	end(): void {
		clearTimeout(this.#pause);
	}

	#tellSoon(): void {
		const row = this.#needing.find((one) => this.#fresh.has(keyOf(one)));
		if (!row || this.#pause) return;
		this.#fresh = new Set();
		const text = textOf(row, this.#needing.length);
		this.#options.ring?.(sequenceOf(this.#way, text));
		if (this.#options.command !== undefined) this.#run(this.#options.command, row, text);
		this.#pause = setTimeout(() => {
			this.#pause = undefined;
			this.#tellSoon();
		}, PAUSE_MS);
	}

	/** By a shell, with everything in variables: nothing that a program wrote becomes part of the command. */
	#run(command: string, { session, need, name, word, text: question }: Row, text: string): void {
		const facts = {
			TEXT: text,
			COUNT: String(this.#needing.length),
			SESSION: session.id,
			NAME: name,
			WORKSPACE: session.workspace,
			KIND: need?.kind ?? "",
			STATE: word,
			QUESTION: question,
		};
		const env = { ...process.env };
		for (const [fact, value] of Object.entries(facts)) env[`HAWSER_NOTIFY_${fact}`] = value;
		const child = spawn("/bin/sh", ["-c", command], {
			env,
			stdio: "ignore",
			timeout: COMMAND_MS,
			killSignal: "SIGKILL",
		});
		const say = (what: string) => this.#options.onTrouble(`the command of --notify-command ${what}`);
		child.on("error", (error) => say(`could not be started: ${error.message}`));
		child.on("exit", (code, signal) => {
			if (code !== 0) say(`ended ${code === null ? `by ${signal}` : `with ${code}`}`);
		});
		// It may go on when the table does not.
		child.unref();
	}
}

/** A new question is news; the same one is not. */
function keyOf({ session, need }: Row): string {
	return `${session.id} ${need?.kind} ${need?.since}`;
}

function textOf({ name, word, need, text }: Row, count: number): string {
	const sentence = needingSentence(count, name, word);
	const isTold = need?.kind === "asks" || need?.kind === "approval";
	return `${sentence}${isTold ? ` ${text}` : ""}`.slice(0, LONGEST_TEXT);
}
