/** Waiting for what a session does: whichever of several causes comes first, looked for from one place of its output on. */

import { SessionError } from "../core/errors.ts";
import { isWaiting } from "../core/inspection.ts";
import type { Screens } from "../core/screen.ts";
import type { FollowOptions, Session } from "../core/session.ts";
import { isEnded } from "../core/state.ts";
import { VisibleText } from "../protocol/visible-text.ts";
import { stable, untilShown } from "./screen-wait.ts";

/** What may end a wait; that the program has ended always does. */
export type Causes = {
	/** It is in the output as a person sees it. */
	readonly match?: Matcher | undefined;
	/** Nothing was written for so many milliseconds. */
	readonly idleMs?: number | undefined;
	/** What the terminal shows is the same for so many milliseconds. */
	readonly stableMs?: number | undefined;
	/** The program waits for somebody to type. */
	readonly input?: boolean | undefined;
	/** The shell is at its prompt. */
	readonly end?: boolean | undefined;
};

export type Cause = "match" | "idle" | "stable" | "input" | "end" | "exit" | "timeout";

/** Looks for something in a text that comes in pieces. */
export interface Matcher {
	/** Whether it is there, with this piece. */
	isIn(piece: string, signal: AbortSignal): boolean | Promise<boolean>;
	/** What comes now does not follow on what came. */
	restart(): void;
}

export type WaitOptions = {
	/** The first byte that counts. */
	readonly from: number;
	readonly timeoutMs: number;
	/** Nobody waits any more, which ends as a timeout does. */
	readonly signal: AbortSignal;
	/** As `flowFor` says: without loss, a match can't be written faster than it is looked for. */
	readonly flow?: FollowOptions["flow"] | undefined;
	/** What terminals show, for who waits for that. */
	readonly screens?: Screens | undefined;
};

type Wait = { readonly session: Session; readonly causes: Causes } & WaitOptions;

/** How each of them is found; undefined if it is not asked for. What is not found before the others is never told. */
const finders: readonly ((wait: Wait) => Promise<Cause> | undefined)[] = [
	(wait) => (wait.causes.match === undefined ? exited(wait) : matched(wait.causes.match, wait)),
	(wait) => (wait.causes.idleMs === undefined ? undefined : idle(wait.causes.idleMs, wait)),
	(wait) => (wait.causes.stableMs === undefined ? undefined : still(wait.causes.stableMs, wait)),
	(wait) => (wait.causes.input || wait.causes.end ? listening(wait) : undefined),
];

export async function waitFor(session: Session, causes: Causes, options: WaitOptions): Promise<Cause> {
	const { timeoutMs } = options;
	const over = new AbortController();
	const signal = AbortSignal.any([options.signal, over.signal]);
	let timer: NodeJS.Timeout | undefined;
	const timeout = new Promise<"timeout">((resolve) => {
		timer = setTimeout(() => resolve("timeout"), timeoutMs);
		// Taken back when it is over: who waits may do so again and again.
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

/** The program's last words come before its end, so who looks at them is who tells that it has ended. */
async function matched(matcher: Matcher, { session, from, signal, flow }: Wait): Promise<"match" | "exit"> {
	let seen = new SeenText();
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

/** Output as a person sees it, in whole characters. */
class SeenText {
	readonly #visible = new VisibleText({ hasReturns: false });
	readonly #decoder = new TextDecoder();

	take(offset: number, bytes: Uint8Array): string {
		const runs = this.#visible.take(offset, bytes);
		return runs.map((run) => this.#decoder.decode(run.bytes, { stream: true })).join("");
	}
}

/** Looks for a text, to the letter. */
export class TextMatcher implements Matcher {
	readonly #told: (text: string) => string;
	readonly #wanted: string;
	/** It may begin in one piece and end in another. */
	#tail = "";

	constructor(wanted: string, ignoreCase = false) {
		this.#told = (text) => (ignoreCase ? text.toLowerCase() : text);
		this.#wanted = this.#told(wanted);
	}

	isIn(piece: string): boolean {
		const text = this.#tail + this.#told(piece);
		this.#tail = text.slice(Math.max(0, text.length - this.#wanted.length));
		return text.includes(this.#wanted);
	}

	restart(): void {
		this.#tail = "";
	}
}

/** Whether output comes is all that counts, so it may be skipped. */
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
		const condition = stable(ms, ({ lines }) => lines);
		const { isMet } = await untilShown(condition, { screens, session, waitMs: timeoutMs, signal });
		// Of one that has ended, that is what is told.
		return isMet && !isEnded(session.state) ? "stable" : await never();
	} catch (error) {
		// Something else came first, and nobody waits for this any more.
		if (signal.aborted) return never();
		throw error;
	}
}

/** Input that was accepted before this is asked has been read when the program is found to wait. */
async function listening({ session, causes, signal }: Wait): Promise<"input" | "end"> {
	try {
		for (let after = 0; ; ) {
			const found = await session.untilWaiting(after, signal);
			if (!isWaiting(found)) return await never();
			if (found.state === "prompt") return causes.end ? "end" : "input";
			if (causes.input) return "input";
			after = found.episode;
		}
	} catch (error) {
		if (signal.aborted) return never();
		// A keeper of an older version can't tell; the other causes can.
		if (error instanceof SessionError && error.code === "unsupported") return never();
		throw error;
	}
}
