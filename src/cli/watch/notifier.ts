/**
 * Notifies a user who does not watch the table, through the terminal and through a command. Rate-limited, and only for
 * new needs.
 */

import { spawn } from "node:child_process";
import { isEnded, type LiveSessions, needSummary, type SessionInfo } from "../../client/index.ts";
import type { Row } from "./rows.ts";

/** Notification methods: OSC 9 (iTerm2), OSC 777 (urxvt), or the bell. */
export const notifyMethods = ["auto", "osc9", "osc777", "bell"] as const;
export type NotifyMethod = (typeof notifyMethods)[number];

type NotifierOptions = {
	/** Writes to the terminal; undefined without terminal notifications. */
	readonly writeToTerminal: ((sequence: string) => void) | undefined;
	readonly command: string | undefined;
	/** Called when the command fails. */
	readonly onTrouble: (message: string) => void;
};

/** Minimum time between notifications. Needs in between are combined. */
const PAUSE_MS = 5_000;
/** The command is killed after this time, in milliseconds. */
const COMMAND_MS = 30_000;
/** Maximum notification text, in characters. */
const LONGEST_TEXT = 200;

const BELL = "\u0007";
const OSC_9_PROGRAMS: ReadonlySet<string | undefined> = new Set(["iTerm.app", "WezTerm", "ghostty"]);

/**
 * The method that the terminal supports, as far as the environment tells. Inside tmux or screen only the bell works.
 */
export function detectMethod(env: NodeJS.ProcessEnv): Exclude<NotifyMethod, "auto"> {
	const { TERM = "", TERM_PROGRAM, TMUX, VTE_VERSION } = env;
	if (TMUX || /^(screen|tmux)/.test(TERM)) return "bell";
	if (VTE_VERSION || /^(foot|rxvt)/.test(TERM)) return "osc777";
	return OSC_9_PROGRAMS.has(TERM_PROGRAM) || /^xterm-(kitty|ghostty)$/.test(TERM) ? "osc9" : "bell";
}

/**
 * The text has no control characters. Remove field separators, and a leading number, which iTerm2 would read as a
 * command.
 */
export function sequenceOf(way: Exclude<NotifyMethod, "auto">, text: string): string {
	const safe = `hawser: ${text}`.replaceAll(";", ",");
	if (way === "osc9") return `\u001b]9;${safe}\u001b\\${BELL}`;
	return way === "osc777" ? `\u001b]777;notify;hawser;${safe}\u001b\\${BELL}` : BELL;
}

export class Notifier {
	readonly #options: NotifierOptions;
	readonly #way: Exclude<NotifyMethod, "auto">;
	/** Needs at the last update; undefined before the first one. */
	#known: ReadonlySet<string> | undefined;
	/** Sessions of the first list whose wait state was still unknown. */
	readonly #unknown = new Map<string, SessionInfo>();
	#fresh: ReadonlySet<string> = new Set();
	#needing: readonly Row[] = [];
	#pause: NodeJS.Timeout | undefined;

	constructor(options: NotifierOptions, way: NotifyMethod) {
		this.#options = options;
		this.#way = way === "auto" ? detectMethod(process.env) : way;
	}

	/** Takes the rows that need attention, most urgent first. Needs in the first list are not new. */
	look(needing: readonly Row[], { all }: Pick<LiveSessions, "all">): void {
		const keys = needing.map(keyOf);
		const known = this.#known && new Set([...this.#known, ...this.#oldQuestions(all)]);
		if (!this.#known)
			for (const session of all.values()) if (isUnknown(session)) this.#unknown.set(session.id, session);
		this.#known = new Set(keys);
		this.#needing = needing;
		// Drop needs that are gone.
		this.#fresh = new Set(keys.filter((key) => known && (!known.has(key) || this.#fresh.has(key))));
		this.#tellSoon();
	}

	end(): void {
		clearTimeout(this.#pause);
	}

	/**
	 * The keys of questions that existed at the first list but are reported only now. A server starts to inspect programs
	 * when the first client follows them, so the first list may lack their waits. Such a question has no output after the
	 * first list; a program that asked later wrote more.
	 */
	#oldQuestions(all: ReadonlyMap<string, SessionInfo>): string[] {
		const keys: string[] = [];
		for (const [id, before] of this.#unknown) {
			const session = all.get(id);
			if (session && isUnknown(session)) continue;
			this.#unknown.delete(id);
			const waiting = session?.overview?.waiting;
			if (!session || !waiting || waiting.offset > (before.offsets?.end ?? 0)) continue;
			for (const kind of ["asks", "secret"]) keys.push(`${id} ${kind} ${waiting.since}`);
		}
		return keys;
	}

	#tellSoon(): void {
		const row = this.#needing.find((one) => this.#fresh.has(keyOf(one)));
		if (!row || this.#pause) return;
		this.#fresh = new Set();
		const text = textOf(row, this.#needing.length);
		this.#options.writeToTerminal?.(sequenceOf(this.#way, text));
		if (this.#options.command !== undefined) this.#run(this.#options.command, row, text);
		this.#pause = setTimeout(() => {
			this.#pause = undefined;
			this.#tellSoon();
		}, PAUSE_MS);
	}

	/**
	 * Runs the command with a shell. The details are in variables, so program output never becomes part of the command.
	 */
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
		const say = (what: string) => this.#options.onTrouble(`--notify-command ${what}`);
		child.on("error", (error) => say(`could not start: ${error.message}`));
		child.on("exit", (code, signal) => {
			if (code !== 0) say(code === null ? `was killed by ${signal}` : `exited with ${code}`);
		});
		// The command may outlive the table.
		child.unref();
	}
}

/** Whether the server has not inspected the program yet. */
function isUnknown(session: SessionInfo): boolean {
	return !isEnded(session) && session.overview?.waiting === undefined;
}

/** A new question is a new need; the same one is not. */
function keyOf({ session, need }: Row): string {
	return `${session.id} ${need?.kind} ${need?.since}`;
}

function textOf({ name, word, need, text }: Row, count: number): string {
	const message = needSummary(count, name, word);
	const isQuestion = need?.kind === "asks" || need?.kind === "approval";
	return `${message}${isQuestion ? `: ${text}` : ""}`.slice(0, LONGEST_TEXT);
}
