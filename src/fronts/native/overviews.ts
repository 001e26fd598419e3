/**
 * What a list shows of each session besides what it is: its last line, how its output comes, what it waits for, and how
 * many watch. Kept up while somebody follows that, by one question for each session that is answered when something
 * came or went, and asked again a second later: who floods is asked no more often than who prints a line.
 */

import { SessionError } from "../../core/errors.ts";
import { type Inspection, isUnseen, isWaiting } from "../../core/inspection.ts";
import { NO_ACTIVITY, type Pulse } from "../../core/pulse.ts";
import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import type { ProgramState } from "../../protocol/feed.ts";
import type { Overview, Waiting } from "../../protocol/messages.ts";
import { choicesOf } from "../choices.ts";
import { describeProgram } from "../program-state.ts";
import { lastLineIn } from "../text.ts";
import { pause } from "./pause.ts";
import { persist } from "./persist.ts";

/** People read no faster. */
const DEFAULT_CHANGE_MS = 1_000;

type Known = {
	pulse: Pulse | undefined;
	lastLine: string | null;
	waiting: Waiting | null;
	toldAt: number;
	isToBeTold: boolean;
};

type OverviewsOptions = {
	/** How many are attached to a session now. */
	readonly watchersOf: (id: string) => number;
	/** How many acts on a session are held. */
	readonly approvalsOf: (id: string) => number;
	/** Between two changes of one session that are told; a second, when left out. */
	readonly changeMs?: number | undefined;
	/** Hears of a session of which something changed, no more often than that. */
	readonly onChange: (session: Session, overview: Overview) => void;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
};

export class Overviews {
	readonly #options: OverviewsOptions;
	readonly #changeMs: number;
	/** Of the sessions that are followed now. */
	readonly #known = new Map<string, Known>();

	constructor(options: OverviewsOptions) {
		this.#options = options;
		this.#changeMs = options.changeMs ?? DEFAULT_CHANGE_MS;
	}

	/** Keeps up with a session until it has ended or the signal aborts. */
	async follow(session: Session, signal: AbortSignal): Promise<void> {
		if (signal.aborted) return;
		const known: Known = { pulse: undefined, lastLine: null, waiting: null, toldAt: 0, isToBeTold: false };
		this.#known.set(session.id, known);
		// It may wait since before anybody followed, which is no news any more.
		let isSeen = false;
		await persist(signal, this.#options.report, async () => {
			// Asked before: what is told after the end is the last.
			const isLast = isEnded(session.state);
			// One that could not be looked at is again, though nothing came or went.
			const pulse = await session.pulse(isSeen ? known.pulse?.count : undefined, signal);
			if (signal.aborted) return true;
			learn(known, session, pulse);
			if (!isLast && (known.waiting || !isSeen)) isSeen = await lookAtWait(session, known, signal);
			this.#changed(session, known, signal);
			if (isLast) return true;
			await pause(this.#changeMs, signal);
			return false;
		});
		// What nobody keeps up with any more is not told as if it were new.
		if (this.#known.get(session.id) === known) this.#known.delete(session.id);
	}

	/** Its program has begun to wait for somebody: what it wrote before that is told together with it. */
	async noteWait(session: Session, state: ProgramState, signal: AbortSignal): Promise<void> {
		const known = this.#known.get(session.id);
		if (!known) return;
		known.waiting = continued(known.waiting, waitingOf(state));
		// If it can't be asked now, it is when the next byte comes or goes.
		const pulse = await session.pulse().catch(() => undefined);
		if (pulse) learn(known, session, pulse);
		this.#changed(session, known, signal);
	}

	/** Something else that is told of it has changed. */
	touch(session: Session, signal: AbortSignal): void {
		const known = this.#known.get(session.id);
		if (known) this.#changed(session, known, signal);
	}

	/** As it is kept up with, or else as it is told within so many milliseconds. */
	async read(session: Session, patienceMs: number): Promise<Overview> {
		const known = this.#known.get(session.id);
		const isOver = session.state.status !== "running";
		// Of one that has ended, what is known may be older than what it wrote last.
		if (known?.pulse && !isOver) return this.#overview(session, known);
		const late = pause(patienceMs).then(() => undefined);
		const pulse = await Promise.race([late, session.pulse().catch(() => undefined)]);
		if (known?.pulse) {
			if (pulse) learn(known, session, pulse);
			return this.#overview(session, known);
		}
		return overviewOf(pulse, {
			lastLine: pulse ? lastLineOf(session, pulse) : null,
			...this.#counts(session),
		});
	}

	#overview(session: Session, { pulse, lastLine, waiting }: Known): Overview {
		const isRunning = session.state.status === "running";
		const others = { lastLine, ...this.#counts(session), waiting: isRunning ? waiting : null };
		return overviewOf(pulse, others);
	}

	#counts({ id }: Session): Pick<Overview, "watchers" | "approvals"> {
		const { watchersOf, approvalsOf } = this.#options;
		return { watchers: watchersOf(id), approvals: approvalsOf(id) };
	}

	#changed(session: Session, known: Known, signal: AbortSignal): void {
		if (known.isToBeTold) return;
		known.isToBeTold = true;
		const dueMs = known.toldAt + this.#changeMs - performance.now();
		void pause(dueMs, signal).then(() => {
			known.isToBeTold = false;
			if (signal.aborted || !known.pulse) return;
			known.toldAt = performance.now();
			this.#options.onChange(session, this.#overview(session, known));
		});
	}
}

function learn(known: Known, session: Session, pulse: Pulse): void {
	known.pulse = pulse;
	known.lastLine = lastLineOf(session, pulse);
}

function overviewOf(
	pulse: Pulse | undefined,
	others: Pick<Overview, "lastLine" | "watchers" | "approvals"> & { readonly waiting?: Waiting | null },
): Overview {
	const { lastOutputAt = null, activity = NO_ACTIVITY, usualIntervalMs = null } = pulse ?? {};
	return { lastOutputAt, activity: [...activity], usualIntervalMs, ...others };
}

function lastLineOf({ state }: Session, { tail }: Pulse): string | null {
	return tail === null ? null : lastLineIn(Buffer.from(tail, "latin1"), state.size.rows);
}

function waitingOf({ state, kind, lastLine, offset, episode, since, program }: ProgramState): Waiting {
	return { kind: kindOf(state, kind), ...questionOf(lastLine), since, offset, episode, program };
}

/** A shell that is ready and a program that has the screen are no kinds of waiting for the kernel. */
function kindOf(state: string, kind: string | null): Waiting["kind"] {
	if (state === "prompt" || state === "tui") return state;
	return kind === "secret" || kind === "key" ? kind : "line";
}

function questionOf(prompt: string): Pick<Waiting, "prompt" | "choices"> {
	const choices = choicesOf(prompt);
	return { prompt, ...(choices ? { choices } : {}) };
}

/** Resolves to whether it could be looked at. */
async function lookAtWait(session: Session, known: Known, signal: AbortSignal): Promise<boolean> {
	const before = known.waiting;
	const found = await inspectionOf(session);
	if (found === "unseen") return false;
	const now = found && (await waitNow(session, found, known, signal));
	// What it has begun to wait for meanwhile is younger.
	if (known.waiting === before) known.waiting = now;
	return true;
}

/** Null of one that can't be asked, because its keeper is older. */
async function inspectionOf(session: Session): Promise<Inspection | "unseen" | null> {
	try {
		const found = await session.inspect();
		return isUnseen(found) ? "unseen" : found;
	} catch (error) {
		if (!(error instanceof SessionError)) throw error;
		return error.code === "unsupported" ? null : "unseen";
	}
}

/**
 * One that is known is the same, up to where the output is now. If more has come since what is known of it, that is told
 * the next time.
 */
async function waitNow(
	session: Session,
	found: Inspection,
	known: Known,
	signal: AbortSignal,
): Promise<Waiting | null> {
	const { waiting, pulse, lastLine } = known;
	const isKnown = waiting?.episode === found.episode;
	if (!isWaiting(found)) return isKnown && isDrawing(waiting, found) ? waiting : null;
	if (!isKnown) return continued(waiting, waitingOf(await describeProgram(session, found, signal)));
	if (found.offset !== pulse?.offset) return waiting;
	return { ...waiting, ...questionOf(lastLine ?? waiting.prompt), offset: found.offset };
}

/** What has the screen to itself draws it now and then, which makes no other wait of its own. */
function isDrawing(waiting: Waiting, { program }: Inspection): boolean {
	return waiting.kind === "tui" && waiting.program === program;
}

/** What is typed into an answer is no other wait: nothing has come but what stands behind the question. */
function continued(before: Waiting | null, now: Waiting): Waiting {
	const typed = Buffer.byteLength(now.prompt) - Buffer.byteLength(before?.prompt ?? "");
	const isSame = before && now.prompt.startsWith(before.prompt) && now.offset - before.offset <= typed;
	return isSame ? { ...now, since: before.since } : now;
}
