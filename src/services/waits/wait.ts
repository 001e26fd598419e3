/** Waits for the first of several conditions of a session, from an offset of its output on. */

import { SessionError } from "../../core/errors.ts";
import { isWaitingForInput } from "../../core/inspect/inspection.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import { echoLength } from "../../words/typed-echo.ts";
import { VisibleText } from "../../words/visible-text.ts";
import type { Agents } from "../agents/agents.ts";
import { screenStable, waitForScreen } from "./screen.ts";

/** Conditions that end a wait. The program's end always does. */
export type WaitConditions = {
	/** The visible output matches. */
	readonly match?: OutputMatcher | undefined;
	/** No output for this many milliseconds. With `input`, the time counts only while no agent works. */
	readonly idleMs?: number | undefined;
	/** The screen has not changed for this many milliseconds. */
	readonly stableMs?: number | undefined;
	/** The program waits for input. */
	readonly input?: boolean | undefined;
	/** The shell is at its prompt. */
	readonly end?: boolean | undefined;
};

export type WaitOutcome = "match" | "idle" | "stable" | "input" | "end" | "exit" | "timeout";

/** Searches text that comes in pieces. */
export interface OutputMatcher {
	/** Whether this piece completes a match. */
	isIn(piece: string, signal: AbortSignal): boolean | Promise<boolean>;
	/** Output is missing before the next piece. */
	restart(): void;
}

type WaitOptions = {
	/** Offset of the first byte that counts. */
	readonly from: number;
	/** Lines typed there, whose echo does not match. */
	readonly typed?: readonly string[] | undefined;
	readonly timeoutMs: number;
	/** Aborts when the caller no longer waits; the outcome is `timeout`. */
	readonly signal: AbortSignal;
	/** See `allowedFlow`. A lossless reader sees every match, since the program can't write faster than it reads. */
	readonly flow?: FollowOptions["flow"] | undefined;
	/** Needed for `stableMs`. */
	readonly screens?: ScreenReader | undefined;
	/** With the agents of all sessions, `input` follows the state of an agent instead of the kernel's view. */
	readonly agents?: Agents | undefined;
};

type Wait = { readonly session: Session; readonly causes: WaitConditions } & WaitOptions;

/** Finders of the conditions; undefined for those that are not requested. Each finds its condition or never resolves. */
const finders: readonly ((wait: Wait) => Promise<WaitOutcome> | undefined)[] = [
	(wait) => (wait.causes.match === undefined ? exited(wait) : matched(wait.causes.match, wait)),
	(wait) => (wait.causes.idleMs === undefined ? undefined : quiet(wait.causes.idleMs, wait)),
	(wait) => (wait.causes.stableMs === undefined ? undefined : still(wait.causes.stableMs, wait)),
	(wait) => (wait.causes.input || wait.causes.end ? listening(wait) : undefined),
];

export async function waitFor(session: Session, causes: WaitConditions, options: WaitOptions): Promise<WaitOutcome> {
	const { timeoutMs } = options;
	const over = new AbortController();
	const signal = AbortSignal.any([options.signal, over.signal]);
	let timer: NodeJS.Timeout | undefined;
	const timeout = new Promise<"timeout">((resolve) => {
		timer = setTimeout(() => resolve("timeout"), timeoutMs);
		// The listener is removed at the end, since the same signal may be used for many waits.
		options.signal.addEventListener("abort", () => resolve("timeout"), { once: true, signal: over.signal });
		if (options.signal.aborted) resolve("timeout");
	});
	try {
		const found = finders.flatMap((find) => find({ ...options, session, causes, signal }) ?? []);
		return await Promise.race([...found, timeout]);
	} finally {
		clearTimeout(timer);
		over.abort();
	}
}

const never = (): Promise<never> => new Promise(() => {});

function exited({ session, signal }: Wait): Promise<"exit"> {
	if (isEnded(session.state)) return Promise.resolve("exit");
	return new Promise((resolve) => {
		const stop = session.watch((state) => {
			if (isEnded(state)) resolve("exit");
		});
		signal.addEventListener("abort", stop, { once: true });
	});
}

/** The last output comes before the exit, so the reader of the output also reports the exit. */
async function matched(
	matcher: OutputMatcher,
	{ session, from, typed, signal, flow }: Wait,
): Promise<"match" | "exit"> {
	let seen = new SeenText(session.spec.mode === "pty" ? typed : []);
	try {
		for await (const item of session.follow({ offset: from }, { signal, ...(flow ? { flow } : {}) })) {
			if (item.kind === "gap") {
				seen = new SeenText();
				matcher.restart();
			}
			if (item.kind !== "output") continue;
			if (await matcher.isIn(seen.take(item.offset, item.bytes), signal)) return "match";
		}
	} catch (error) {
		if (signal.aborted) return never();
		throw error;
	}
	return signal.aborted ? never() : "exit";
}

/** Visible output in whole characters, without the echo of typed lines at its beginning. */
class SeenText {
	readonly #visible = new VisibleText({ hasReturns: false });
	readonly #decoder = new TextDecoder();
	#typed: readonly string[];
	/** Text that is or may become an echo. */
	#echo = "";

	constructor(typed: readonly string[] = []) {
		this.#typed = typed;
	}

	take(offset: number, bytes: Uint8Array): string {
		const runs = this.#visible.take(offset, bytes);
		const text = runs.map((run) => this.#decoder.decode(run.bytes, { stream: true })).join("");
		return this.#typed.length === 0 ? text : this.#withoutEcho(text);
	}

	#withoutEcho(text: string): string {
		const all = this.#echo + text;
		const length = echoLength(all, this.#typed);
		this.#echo = length === all.length ? all : "";
		if (length === all.length) return "";
		this.#typed = [];
		return all.slice(length);
	}
}

/** Searches for a plain text. */
export class TextMatcher implements OutputMatcher {
	readonly #comparable: (text: string) => string;
	readonly #wanted: string;
	/** A match may span two pieces. */
	#tail = "";

	constructor(wanted: string, ignoreCase = false) {
		this.#comparable = (text) => (ignoreCase ? text.toLowerCase() : text);
		this.#wanted = this.#comparable(wanted);
	}

	isIn(piece: string): boolean {
		const text = this.#tail + this.#comparable(piece);
		this.#tail = text.slice(Math.max(0, text.length - this.#wanted.length));
		return text.includes(this.#wanted);
	}

	restart(): void {
		this.#tail = "";
	}
}

/** A wait for an agent goes on while the agent works: it may think in silence. */
async function quiet(ms: number, wait: Wait): Promise<"idle"> {
	const { session, agents, causes } = wait;
	for (;;) {
		const over = new AbortController();
		await idle(ms, { ...wait, signal: AbortSignal.any([wait.signal, over.signal]) });
		over.abort();
		if (!causes.input || (await agents?.read(session))?.state !== "working") return "idle";
	}
}

/** Only the times of output matter, so output may be skipped. */
async function idle(ms: number, { session, from, signal }: Wait): Promise<"idle"> {
	let isIdle = () => {};
	const found = new Promise<"idle">((resolve) => {
		isIdle = () => resolve("idle");
	});
	const timer = setTimeout(isIdle, ms);
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	const follow = async () => {
		for await (const item of session.follow({ offset: from }, { signal, flow: "live" })) {
			if (item.kind === "output" && !signal.aborted) timer.refresh();
		}
	};
	return Promise.race([found, follow().then(never)]);
}

async function still(ms: number, { session, screens, timeoutMs, signal }: Wait): Promise<"stable"> {
	if (!screens) throw new SessionError("unsupported", "this server shows no screens");
	try {
		const condition = screenStable(ms, ({ lines }) => lines);
		const { isMet } = await waitForScreen(condition, { screens, session, waitMs: timeoutMs, signal });
		// For an ended program, the outcome is `exit`.
		return isMet && !isEnded(session.state) ? "stable" : await never();
	} catch (error) {
		// The wait is over because of another condition.
		if (signal.aborted) return never();
		throw error;
	}
}

/** A program that waits has read all input that was accepted before the inspection. */
async function listening({ session, causes, signal, agents, from }: Wait): Promise<"input" | "end"> {
	try {
		for (let after = 0; ; ) {
			const found = await session.untilWaiting(after, signal);
			if (!isWaitingForInput(found)) return await never();
			if (found.state === "prompt") return causes.end ? "end" : "input";
			if (causes.input && (await isAgentResting(session, agents, { from, signal }))) return "input";
			after = found.episode;
		}
	} catch (error) {
		if (signal.aborted) return never();
		// Older keepers do not support this; other conditions can still end the wait.
		if (error instanceof SessionError && error.code === "unsupported") return never();
		throw error;
	}
}

/**
 * Resolves with true without an agent, or once the agent asks or rests in a state that began after `from`; with false
 * when the agent is gone or the signal aborts.
 */
async function isAgentResting(
	session: Session,
	agents: Agents | undefined,
	{ from, signal }: { readonly from: number; readonly signal: AbortSignal },
): Promise<boolean> {
	if (!agents || !(await agents.read(session))) return true;
	for await (const agent of agents.follow(session, signal)) {
		if (!agent) return false;
		if (agent.state !== "working" && agent.episode >= from) return true;
	}
	return false;
}
