/** The coding agents of all sessions. A session is watched from the first request for its agent until its program ends. */

import type { AgentMessage } from "../../api/types.ts";
import { Serial } from "../../async/serial.ts";
import { sleep } from "../../async/sleep.ts";
import { Change } from "../../core/async/change.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { Listeners } from "../../core/async/listeners.ts";
import { retryWhileUnreachable } from "../../core/async/retry.ts";
import { SessionError } from "../../core/errors.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { NO_SIGNALS, type TerminalSignals } from "../../core/terminal/terminal-signals.ts";
import type { AgentState } from "../../words/agent.ts";
import type { Attachments } from "../attachments/attachments.ts";
import { type AgentFold, type AgentReport, contradicts, foldAgent, NO_AGENT } from "./agent-state.ts";
import type { AgentView } from "./agent-typing.ts";
import { isOutdated, notificationReport } from "./notification-report.ts";
import { screenReport } from "./screen-report.ts";
import { builtinRules } from "./screen-rules/builtin/index.ts";
import type { AgentRules } from "./screen-rules/format.ts";
import type { RuleTrial } from "./screen-rules/read-screen.ts";
import { type AgentOnScreen, AgentScreenWatch } from "./screen-watch.ts";
import { hookReport, statusReport } from "./status-report.ts";
import { titleReport } from "./title-report.ts";
import { Turn } from "./turn.ts";

/**
 * Titles that show progress change many times a second.
 * @limit changes of an agent's title or progress | one in % | those in between are combined
 */
const MIN_INTERVAL_MS = 100;
/** Agents report a dialog before they draw it. Followers get the whole dialog, or the report alone after this time. */
const DRAWN_MS = 2_000;
/** The report of a hook ends when the screen has contradicted it for this time. A dialog is drawn after its report. */
const HOOK_DECAY_MS = 3_000;
/** A finished turn counts as seen once a client has been attached for this long. */
const SEEN_MS = 1_000;

type AgentsOptions = {
	readonly sessions: Pick<Sessions, "get">;
	readonly attachments: Attachments;
	/** Without it, screens are not read. */
	readonly screens?: ScreenReader | undefined;
	/** How the agents' screens look. Default: the built-in rules. */
	readonly rules?: readonly AgentRules[];
	readonly now: () => number;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

/** The signals that decided about an agent and those that did not, and the screen rules that were tried. */
type Explanation = Pick<AgentFold, "decisive" | "others"> & { readonly rules: readonly RuleTrial[] | null };

export class Agents {
	readonly #options: AgentsOptions;
	readonly #watches = new Map<string, AgentWatch>();
	readonly #listeners = new Listeners<Session>();
	readonly #closing = new AbortController();
	readonly #unwatch: () => void;

	constructor(options: AgentsOptions) {
		this.#options = options;
		this.#unwatch = options.attachments.watch((id) => this.#watches.get(id)?.noteAttachments());
	}

	/** Calls back when the state of a session's agent has changed, until the returned function is called. */
	watch(listener: (session: Session) => void): () => void {
		return this.#listeners.add(listener);
	}

	/** The agent's state as last known; null without an agent, or before the first `read`. */
	current(session: Session): AgentMessage | null {
		return session.state.status === "running" ? (this.#watches.get(session.id)?.fold.message ?? null) : null;
	}

	/** The last row of the agent's screen above its input, as last seen; null if it is not known. */
	lastLine({ id }: Session): string | null {
		return this.#watches.get(id)?.screen?.lastLine ?? null;
	}

	/** The agent's state now; null without an agent. */
	async read(session: Session): Promise<AgentMessage | null> {
		return (await this.#read(session)).message;
	}

	async explain(session: Session, signal: AbortSignal): Promise<Explanation> {
		const { decisive, others } = await this.#read(session);
		const isRunning = session.state.status === "running";
		const screen = isRunning ? await this.#watchOf(session).screen?.explain(signal) : undefined;
		return { decisive, others, rules: screen?.tried ?? null };
	}

	/** Resolves once the agent has one of these states, the program ends, or the time is over. */
	async untilIn(
		session: Session,
		states: ReadonlySet<AgentState>,
		{ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
	): Promise<void> {
		await withDeadline(timeoutMs, [signal], async (over) => {
			for await (const agent of this.follow(session, over)) if (agent && states.has(agent.state)) return;
		});
	}

	/** The agent's screen now; null if no agent is in front. */
	async screen(session: Session, signal: AbortSignal): Promise<AgentOnScreen | null> {
		return (await this.#watchOf(session).screen?.read(signal)) ?? null;
	}

	/** The agent of a session, for answers and prompts. */
	view(session: Session): AgentView {
		return { state: () => this.read(session), screen: (signal) => this.screen(session, signal) };
	}

	/** Runs answers and prompts of one session one after the other, so that their keys do not mix. */
	inTurn<Result>(session: Session, task: () => Promise<Result>): Promise<Result> {
		return this.#watchOf(session).turns.run(task);
	}

	/** A turn that begins and ends when its caller says so. */
	turn(session: Session): Turn {
		return new Turn(this.#watchOf(session).turns);
	}

	/** Yields the agent's state now and after each change, until the program ends or the signal aborts. */
	async *follow(session: Session, signal: AbortSignal): AsyncGenerator<AgentMessage | null, void, void> {
		if (session.state.status !== "running") return;
		const watch = this.#watchOf(session);
		await watch.refresh();
		for (let last: AgentMessage | null | undefined; !signal.aborted && !watch.isOver; ) {
			if (last?.state !== "blocked") await watch.untilDrawn(signal);
			const { message } = watch.fold;
			if (last !== undefined && isSameMessage(last, message)) await watch.changed(signal);
			else {
				last = message;
				yield message;
			}
		}
	}

	async #read(session: Session): Promise<AgentFold> {
		if (session.state.status !== "running") return NO_AGENT;
		const watch = this.#watchOf(session);
		await watch.refresh();
		return session.state.status === "running" ? watch.fold : NO_AGENT;
	}

	close(): void {
		this.#closing.abort();
		this.#unwatch();
	}

	#watchOf({ id }: Session): AgentWatch {
		const known = this.#watches.get(id);
		if (known) return known;
		// The caller's object may be restricted to what the caller may do.
		const session = this.#options.sessions.get(id);
		if (!session) throw new SessionError("session_not_found", `there is no session "${id}"`);
		const watch = new AgentWatch(session, {
			...this.#options,
			onChange: () => this.#listeners.notify(session),
			signal: this.#closing.signal,
		});
		this.#watches.set(session.id, watch);
		void watch.run().then(() => {
			if (this.#watches.get(session.id) === watch) this.#watches.delete(session.id);
		});
		return watch;
	}
}

type WatchOptions = AgentsOptions & {
	readonly onChange: () => void;
	readonly signal: AbortSignal;
};

/** Follows the signals of one session. */
class AgentWatch {
	readonly #session: Session;
	readonly #options: WatchOptions;
	/** Undefined for a session without a terminal. */
	readonly screen: AgentScreenWatch | undefined;
	/** Runs answers and prompts one after the other. */
	readonly turns: Serial = new Serial();
	#signals: TerminalSignals = NO_SIGNALS;
	#screenReport: AgentReport | null = null;
	/** The agent in front that has rules. */
	#agent: string | undefined;
	#fold: AgentFold = NO_AGENT;
	/** Offset of the last notification whose state has ended. */
	#endedNotice = -1;
	/** The foreground program, by its process group. */
	#program: { readonly foreground: number | null; readonly name: string } | undefined;
	#seenEpisode = -1;
	/** The contradiction between a report of a hook and the screen, and the report that ended by one. */
	#hookConflict: string | null = null;
	#endedHook: string | null = null;
	#isOver = false;
	readonly #change = new Change();
	readonly #over = new AbortController();

	constructor(session: Session, options: WatchOptions) {
		this.#session = session;
		this.#options = options;
		const { screens, rules = builtinRules } = options;
		if (screens && session.spec.mode === "pty") this.screen = new AgentScreenWatch(session, { screens, rules });
	}

	get fold(): AgentFold {
		return this.#fold;
	}

	/** The program has ended, or the session's keeper is too old. */
	get isOver(): boolean {
		return this.#isOver;
	}

	changed(signal: AbortSignal): Promise<void> {
		return this.#change.wait(signal);
	}

	/** Resolves once a dialog that is reported is also read from the screen, which takes a moment, or is not in time. */
	async untilDrawn(signal: AbortSignal): Promise<void> {
		if (!this.#isBeingDrawn()) return;
		await withDeadline(DRAWN_MS, [signal, this.#over.signal], async (over) => {
			while (this.#isBeingDrawn() && !over.aborted) await this.#change.wait(over);
		});
	}

	#isBeingDrawn(): boolean {
		const { message } = this.#fold;
		return message?.state === "blocked" && message.choices.length === 0 && this.#agent !== undefined;
	}

	async run(): Promise<void> {
		const signal = AbortSignal.any([this.#options.signal, this.#over.signal]);
		const unwatch = this.#session.watch(({ status }) => {
			if (status !== "running") this.#over.abort();
		});
		void this.#followScreen(signal);
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			if (this.#session.state.status !== "running") return true;
			await this.#learn(await this.#session.signals(this.#signals.count, signal));
			await sleep(MIN_INTERVAL_MS, signal);
			return false;
		});
		unwatch();
		this.#isOver = true;
		this.#setFold(NO_AGENT);
		this.#change.happen();
	}

	async #followScreen(signal: AbortSignal): Promise<void> {
		const { screen } = this;
		if (!screen) return;
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			await screen.run((found) => this.#learnScreen(found), signal);
			return true;
		});
	}

	#learnScreen(found: AgentOnScreen | null): void {
		if (this.#isOver) return;
		this.#agent = found?.rules.agent;
		this.#screenReport = screenReport(found, { before: this.#screenReport, now: this.#options.now() });
		this.#refold();
	}

	/** Takes the signals and the screen up to now into account. A session whose keeper is too old has no signals. */
	async refresh(): Promise<void> {
		try {
			await this.#refreshScreen();
			await this.#learn(await this.#session.signals());
		} catch (error) {
			if (!(error instanceof SessionError) || error.code !== "unsupported") throw error;
		}
	}

	/** Keeps what is known of a screen that can't be read now. */
	async #refreshScreen(): Promise<void> {
		try {
			if (this.screen) this.#learnScreen(await this.screen.settled(this.#over.signal));
		} catch (error) {
			if (!(error instanceof SessionError)) throw error;
		}
	}

	/** A client came or left. */
	noteAttachments(): void {
		const { message } = this.#fold;
		if (message?.state !== "done" && !this.#fold.decisive?.isOver) return;
		void this.#untilSeen(message?.episode ?? 0);
	}

	async #untilSeen(episode: number): Promise<void> {
		const isAttached = () => (this.#options.attachments.get(this.#session.id)?.all.size ?? 0) > 0;
		if (!isAttached()) return;
		await sleep(SEEN_MS, this.#over.signal);
		if (!isAttached() || this.#fold.message?.episode !== episode) return;
		this.#seenEpisode = episode;
		this.#refold();
	}

	async #learn(signals: TerminalSignals): Promise<void> {
		// An answer may be overtaken by the next one.
		if (signals.count < this.#signals.count || this.#isOver) return;
		this.#signals = signals;
		if (signals.records.length > 0) await this.#learnProgram(signals);
		this.#refold();
	}

	/** Names the program in front, in case its records do not. */
	async #learnProgram({ foreground, records }: TerminalSignals): Promise<void> {
		if (records.some(({ app }) => app !== null) || this.#program?.foreground === foreground) return;
		const { program } = await this.#session.inspect();
		this.#program = { foreground, name: program ?? "unknown" };
	}

	#refold(): void {
		const status = statusReport(this.#signals, this.#program?.name ?? "unknown");
		const hook = hookReport(this.#signals);
		const title = titleReport(this.#signals, this.#agent);
		const notice = this.#notice([title, this.#screenReport]);
		const reports = [status, hook, title, notice, this.#screenReport].filter((report) => report !== null);
		this.#setFold(
			foldAgent(reports, {
				before: this.#fold,
				offset: this.#signals.offset,
				now: this.#options.now(),
				seenEpisode: this.#seenEpisode,
				isHookOver: this.#isHookOver(hook),
			}),
		);
	}

	/** The last notification, until one of the others shows that its state has ended. */
	#notice(others: readonly (AgentReport | null)[]): AgentReport | null {
		const report = notificationReport(this.#signals, this.#agent);
		if (!report || report.offset <= this.#endedNotice) return null;
		if (!isOutdated(report, others)) return report;
		this.#endedNotice = report.offset;
		return null;
	}

	/** Whether the screen has contradicted the hook's last report for too long. Looks again when that may be so. */
	#isHookOver(hook: AgentReport | null): boolean {
		const screen = this.#screenReport;
		const report = hook && `${hook.state} ${hook.latest}`;
		if (report === this.#endedHook) return report !== null;
		const conflict = screen && contradicts(screen, hook) ? `${report} ${screen.state} ${screen.offset}` : null;
		if (conflict === this.#hookConflict) return false;
		this.#hookConflict = conflict;
		if (conflict !== null) void this.#endHook(report, conflict);
		return false;
	}

	async #endHook(report: string | null, conflict: string): Promise<void> {
		await sleep(HOOK_DECAY_MS, this.#over.signal);
		if (this.#hookConflict !== conflict || this.#isOver) return;
		this.#endedHook = report;
		this.#refold();
	}

	#setFold(fold: AgentFold): void {
		const before = this.#fold.message;
		this.#fold = fold;
		if (isSameMessage(before, fold.message)) return;
		this.#change.happen();
		this.#options.onChange();
		const isResult = fold.message?.state === "done" || fold.decisive?.isOver;
		if (isResult && before?.episode !== fold.message?.episode) this.noteAttachments();
	}
}

/** Whether clients would see no difference. The end of the output alone is none. */
function isSameMessage(one: AgentMessage | null, other: AgentMessage | null): boolean {
	if (!one || !other) return one === other;
	return JSON.stringify({ ...one, offset: 0 }) === JSON.stringify({ ...other, offset: 0 });
}
