/**
 * Session overviews for lists: last line, output rate, what the program waits for, and the number of viewers.
 *
 * While a session has followers, one pulse request is open for it. It is answered on input or output and repeated a
 * second later, so a flooding session costs no more requests than one that prints single lines.
 */

import type { Overview, ProgramState, Waiting } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { retryWhileUnreachable } from "../../core/async/retry.ts";
import { SessionError } from "../../core/errors.ts";
import { type Inspection, isTimedOut, isWaitingForInput } from "../../core/inspect/inspection.ts";
import { NO_ACTIVITY, type OutputActivity } from "../../core/inspect/output-activity.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import type { Agents } from "../agents/agents.ts";
import { choicesOf } from "../attention/choices.ts";
import { describeProgram } from "../attention/program-state.ts";
import { lastLineIn } from "../reading/text.ts";

/**
 * People read no faster than this.
 * @limit `changed` events of one session | one in % | changes in between are combined
 */
const DEFAULT_CHANGE_MS = 1_000;

type Known = {
	pulse: OutputActivity | undefined;
	lastLine: string | null;
	/** Undefined until its program was inspected. */
	waiting: Waiting | null | undefined;
	reportedAt: number;
	isReportDue: boolean;
};

type OverviewsOptions = {
	/** Number of clients attached to a session. */
	readonly watchersOf: (id: string) => number;
	/** Number of a session's actions that wait for approval. */
	readonly approvalsOf: (id: string) => number;
	/** Number of a session's prompts that wait until its agent is idle. */
	readonly promptsOf: (id: string) => number;
	/** The agents of all sessions. */
	readonly agents: Pick<Agents, "current" | "lastLine" | "read">;
	/** Shortest time between two changes of a session; one second by default. */
	readonly changeMs?: number | undefined;
	/** Called when an overview has changed, at most once per `changeMs` and session. */
	readonly onChange: (session: Session, overview: Overview) => void;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class Overviews {
	readonly #options: OverviewsOptions;
	readonly #changeMs: number;
	/** By session id, for the sessions that are followed. */
	readonly #known = new Map<string, Known>();

	constructor(options: OverviewsOptions) {
		this.#options = options;
		this.#changeMs = options.changeMs ?? DEFAULT_CHANGE_MS;
	}

	/** Updates a session's overview until it has ended or the signal aborts. */
	async follow(session: Session, signal: AbortSignal): Promise<void> {
		if (signal.aborted) return;
		const known: Known = { pulse: undefined, lastLine: null, waiting: undefined, reportedAt: 0, isReportDue: false };
		this.#known.set(session.id, known);
		// A wait that began before the first follower came is not news.
		let isSeen = false;
		// From now on the agent's changes are reported.
		this.#options.agents.read(session).catch(() => {});
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			// Read before the pulse: what is reported after the end is final.
			const isLast = isEnded(session.state);
			// If the last inspection timed out, inspect again without waiting for new input or output.
			const pulse = await session.outputActivity(isSeen ? known.pulse?.count : undefined, signal);
			if (signal.aborted) return true;
			learn(known, session, pulse);
			if (!isLast && (known.waiting || !isSeen)) isSeen = await inspectWait(session, known, signal);
			this.#changed(session, known, signal);
			if (isLast) return true;
			await sleep(this.#changeMs, signal);
			return false;
		});
		// An overview that is no longer updated must not be returned as current.
		if (this.#known.get(session.id) === known) this.#known.delete(session.id);
	}

	/** The program has begun to wait. Its output before that is reported in the same change. */
	async noteWait(session: Session, state: ProgramState, signal: AbortSignal): Promise<void> {
		const known = this.#known.get(session.id);
		if (!known) return;
		known.waiting = continued(known.waiting, waitingOf(state));
		// If the request fails, the next pulse updates the overview.
		const pulse = await session.outputActivity().catch(() => undefined);
		if (pulse) learn(known, session, pulse);
		this.#changed(session, known, signal);
	}

	/** Another field of the overview has changed. */
	touch(session: Session, signal: AbortSignal): void {
		const known = this.#known.get(session.id);
		if (known) this.#changed(session, known, signal);
	}

	/** The current overview if the session is followed, otherwise a new one, read within `timeoutMs`. */
	async read(session: Session, timeoutMs: number): Promise<Overview> {
		const known = this.#known.get(session.id);
		const isOver = session.state.status !== "running";
		// After the end, the cached overview may lack the last output.
		if (known?.pulse && !isOver) return this.#overview(session, known);
		const late = sleep(timeoutMs).then(() => undefined);
		const [pulse] = await Promise.all([
			Promise.race([late, session.outputActivity().catch(() => undefined)]),
			Promise.race([late, this.#options.agents.read(session).catch(() => undefined)]),
		]);
		if (known?.pulse) {
			if (pulse) learn(known, session, pulse);
			return this.#overview(session, known);
		}
		return overviewOf(pulse, {
			lastLine: pulse ? lastLineOf(session, pulse) : null,
			...this.#counts(session),
			...this.#agent(session),
		});
	}

	#overview(session: Session, { pulse, lastLine, waiting }: Known): Overview {
		const isRunning = session.state.status === "running";
		const found = this.#agent(session);
		const known = isRunning ? waiting && waitOf(waiting, found) : null;
		return overviewOf(pulse, {
			lastLine,
			...this.#counts(session),
			...found,
			...(known === undefined ? {} : { waiting: known }),
		});
	}

	/** An agent draws its screen, so that the last line of its raw output says nothing. */
	#agent(session: Session): Pick<Overview, "agent"> & { readonly lastLine?: string } {
		const { agents } = this.#options;
		const agent = agents.current(session);
		const line = agent && agents.lastLine(session);
		return { agent, ...(line === null ? {} : { lastLine: line }) };
	}

	#counts({ id }: Session): Pick<Overview, "watchers" | "approvals" | "prompts"> {
		const { watchersOf, approvalsOf, promptsOf } = this.#options;
		return { watchers: watchersOf(id), approvals: approvalsOf(id), prompts: promptsOf(id) };
	}

	#changed(session: Session, known: Known, signal: AbortSignal): void {
		if (known.isReportDue) return;
		known.isReportDue = true;
		const dueMs = known.reportedAt + this.#changeMs - performance.now();
		void sleep(dueMs, signal).then(() => {
			known.isReportDue = false;
			if (signal.aborted || !known.pulse) return;
			known.reportedAt = performance.now();
			this.#options.onChange(session, this.#overview(session, known));
		});
	}
}

function learn(known: Known, session: Session, pulse: OutputActivity): void {
	known.pulse = pulse;
	known.lastLine = lastLineOf(session, pulse);
}

function overviewOf(
	pulse: OutputActivity | undefined,
	others: Pick<Overview, "lastLine" | "watchers" | "approvals" | "prompts" | "agent"> & {
		readonly waiting?: Waiting | null;
	},
): Overview {
	const { lastOutputAt = null, activeAt = lastOutputAt, activity = NO_ACTIVITY, usualIntervalMs = null } = pulse ?? {};
	return { lastOutputAt, activeAt, activity: [...activity], usualIntervalMs, ...others };
}

/** The kernel sees an agent wait for keys while it works, too. */
function waitOf(
	waiting: Waiting,
	{ agent, lastLine }: Pick<Overview, "agent"> & { readonly lastLine?: string },
): Waiting | null {
	if (!agent || waiting.kind === "secret" || waiting.kind === "prompt") return waiting;
	if (agent.state === "working") return null;
	const { choices: _, ...rest } = waiting;
	return { ...rest, prompt: agent.question ?? lastLine ?? waiting.prompt };
}

function lastLineOf({ state }: Session, { tail }: OutputActivity): string | null {
	return tail === null ? null : lastLineIn(Buffer.from(tail, "latin1"), state.size.rows);
}

function waitingOf({ state, kind, lastLine, offset, episode, since, program }: ProgramState): Waiting {
	return { kind: kindOf(state, kind), ...questionOf(lastLine), since, offset, episode, program };
}

/** The wait kinds `prompt` and `tui` come from the state, the others from the kernel. */
function kindOf(state: string, kind: string | null): Waiting["kind"] {
	if (state === "prompt" || state === "tui") return state;
	return kind === "secret" || kind === "key" ? kind : "line";
}

function questionOf(prompt: string): Pick<Waiting, "prompt" | "choices"> {
	const choices = choicesOf(prompt);
	return { prompt, ...(choices ? { choices } : {}) };
}

/** Resolves to whether the inspection succeeded. */
async function inspectWait(session: Session, known: Known, signal: AbortSignal): Promise<boolean> {
	const before = known.waiting;
	const found = await inspectionOf(session);
	if (found === "unseen") return false;
	const now = found && (await waitNow(session, found, known, signal));
	// A wait recorded during the inspection is newer.
	if (known.waiting === before) known.waiting = now;
	return true;
}

/** Null when the session's keeper does not support inspection. */
async function inspectionOf(session: Session): Promise<Inspection | "unseen" | null> {
	try {
		const found = await session.inspect();
		return isTimedOut(found) ? "unseen" : found;
	} catch (error) {
		if (!(error instanceof SessionError)) throw error;
		return error.code === "unsupported" ? null : "unseen";
	}
}

/**
 * A known wait continues, extended to the current output offset. If output has come since the last pulse, the next one
 * updates it.
 */
async function waitNow(
	session: Session,
	found: Inspection,
	known: Known,
	signal: AbortSignal,
): Promise<Waiting | null> {
	const { waiting, pulse, lastLine } = known;
	const isKnown = waiting?.episode === found.episode;
	if (!isWaitingForInput(found)) return waiting && isKnown && isDrawing(waiting, found) ? waiting : null;
	if (!isKnown) return continued(waiting, waitingOf(await describeProgram(session, found, signal)));
	if (found.offset !== pulse?.offset) return waiting;
	return { ...waiting, ...questionOf(lastLine ?? waiting.prompt), offset: found.offset };
}

/** A full-screen program redraws from time to time, which is not a new wait. */
function isDrawing(waiting: Waiting, { program }: Inspection): boolean {
	return waiting.kind === "tui" && waiting.program === program;
}

/** Typing into an answer does not start a new wait: the output has grown only by text after the question. */
function continued(before: Waiting | null | undefined, now: Waiting): Waiting {
	const typed = Buffer.byteLength(now.prompt) - Buffer.byteLength(before?.prompt ?? "");
	const isSame = before && now.prompt.startsWith(before.prompt) && now.offset - before.offset <= typed;
	return isSame ? { ...now, since: before.since } : now;
}
