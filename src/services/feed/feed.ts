/**
 * The feed: the events of all sessions in one sequence that a client can resume, also after a server restart. The last
 * reported state of each session is stored with the events, so the next server reports what happened meanwhile, once.
 */

import { isFailure } from "../../api/attention.ts";
import type { AgentMessage, FeedEvent, ProgramState } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { Budget, type BudgetCaller } from "../../core/async/budget.ts";
import { retryWhileUnreachable } from "../../core/async/retry.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Approval, Approvals } from "../../core/policy/approvals.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { ShellCommand } from "../../core/shell/shell-marks.ts";
import type { Agents } from "../agents/agents.ts";
import type { PromptQueue } from "../agents/prompt-queue.ts";
import type { Attachments } from "../attachments/attachments.ts";
import { untilProgramWaits, waitMessage } from "../attention/program-state.ts";
import type { FeedItem, FeedLog } from "./feed-log.ts";
import { FollowerCount } from "./follower-count.ts";
import type { ReportedState } from "./history-lines.ts";
import { Overviews } from "./overviews.ts";
import { commandMessage, endedCommands, endedSince, mayReportCommands } from "./shell-commands.ts";
import { nextQuietPeriod } from "./silence.ts";

/** Delay between starting two watches when the first follower joins, so that hundreds of keepers don't answer at once. */
const BEGIN_MS = 5;

/** How long an ended shell's last commands are read, so that they are reported before its end. */
const LAST_COMMANDS_MS = 2_000;
/**
 * Quiet periods watched at a time and remembered per session.
 * @limit different `quietMs` values | `limit_exceeded`
 */
const QUIETS = { what: "distinct `quietMs` values", operator: 6, others: 6, each: 2, fair: 1, accounts: 4 };
const MAX_QUIETS: number = QUIETS.operator + QUIETS.others;

/** A session and its last reported state. */
type Known = { readonly session: Session; reported: ReportedState; isEnding?: boolean; isRemoved?: boolean };

const NOTHING_REPORTED = { episode: 0, command: 0, quiet: [] } as const;

type FeedOptions = {
	/** Stores the events, also those of earlier servers. */
	readonly log: FeedLog;
	readonly now: () => number;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
	/** Attached clients by session. */
	readonly attachments: Attachments;
	/** The agents of all sessions. */
	readonly agents: Agents;
	/** Prompts that wait until an agent is idle; none if absent. */
	readonly prompts?: Pick<PromptQueue, "count" | "watch"> | undefined;
	/** Shortest time between two `changed` events of a session; one second by default. */
	readonly changeMs?: number | undefined;
	/** Actions that wait for approval. */
	readonly approvals: Approvals | undefined;
};

export type FollowFeedOptions = {
	readonly signal: AbortSignal;
	/** Whether `changed` events with session overviews are included. */
	readonly withOverviews: boolean;
	/** Includes `quiet` events of programs that write nothing for this long; none by default. */
	readonly quietMs?: number | undefined;
	/** The caller whose share of the `quietMs` budget is used. */
	readonly by?: BudgetCaller | null | undefined;
};

/** Followers of one `quietMs` value. Its slot counts against the first of them. */
type QuietFollowers = { readonly interest: FollowerCount; readonly leave: () => void };

export class Feed {
	readonly #quiets = new Budget(QUIETS);
	readonly #options: FeedOptions;
	readonly #known = new Map<string, Known>();
	/** Followers by what they need: program waits are watched for the first, overviews for the second. */
	readonly #waitFollowers = new FollowerCount();
	readonly #overviewFollowers = new FollowerCount();
	/** By their `quietMs`. */
	readonly #quietFollowers = new Map<number, QuietFollowers>();
	readonly overviews: Overviews;

	/** Runs until the signal aborts. Reports changes since the previous server; without its records, existing sessions are not news. */
	constructor(sessions: Sessions, options: FeedOptions, signal: AbortSignal) {
		this.#options = options;
		const { attachments, agents, prompts, approvals, changeMs, report } = options;
		this.overviews = new Overviews({
			watchersOf: (id) => attachments.get(id)?.all.size ?? 0,
			approvalsOf: (id) => approvals?.count(id) ?? 0,
			promptsOf: (id) => prompts?.count(id) ?? 0,
			agents,
			changeMs,
			onChange: (session, overview) => this.#addChange(session, { overview }),
			report,
		});
		this.#resume(sessions);
		const unwatch = sessions.watch(({ kind, session }) => {
			const known = kind === "created" ? this.#create(session) : this.#knownOf(session);
			this.#reportChange(known);
			if (kind === "created") this.#begin(known);
			if (kind === "removed") this.#remove(known);
			else {
				this.overviews.touch(session, this.#overviewFollowers.signal);
				this.#reportName(known);
			}
		});
		const unwatchAttachments = attachments.watch((id) => {
			const session = sessions.get(id);
			if (session) this.overviews.touch(session, this.#overviewFollowers.signal);
		});
		const unwatchPrompts = prompts?.watch((id) => {
			const session = sessions.get(id);
			if (session) this.overviews.touch(session, this.#overviewFollowers.signal);
		});
		const unwatchAgents = agents.watch((session) => this.overviews.touch(session, this.#overviewFollowers.signal));
		const unwatchApprovals = approvals?.watch((approval) => {
			this.#addApproval(approval);
			const session = sessions.get(approval.session.id);
			if (session) this.overviews.touch(session, this.#overviewFollowers.signal);
		});
		const stop = () => {
			unwatch();
			unwatchApprovals?.();
			unwatchAttachments();
			unwatchAgents();
			unwatchPrompts?.();
			this.#waitFollowers.end();
			this.#overviewFollowers.end();
			for (const { interest } of this.#quietFollowers.values()) interest.end();
		};
		signal.addEventListener("abort", stop, { once: true });
	}

	/** Adds an event that another service knows of. */
	announce(type: FeedEvent["type"], session: Session, rest: Partial<FeedEvent>): void {
		const known = this.#known.get(session.id);
		if (known) this.#add(type, known, rest);
	}

	/** The cursor after the newest event. */
	get end(): string {
		return this.#options.log.end;
	}

	/** Throws when a new `quietMs` value does not fit the caller's budget. */
	checkQuiet(quietMs: number, by: BudgetCaller | null): void {
		if (!this.#quietFollowers.has(quietMs)) this.#takeQuietSlot(by)();
	}

	#takeQuietSlot(by: BudgetCaller | null): () => void {
		if (this.#quiets.take(by, 1) === 1) return () => this.#quiets.giveBack(by, 1);
		const { message } = this.#quiets.refusal(by);
		const known = [...this.#quietFollowers.keys()].join(", ");
		throw new SessionError("limit_exceeded", message, { hint: `use one of the values in use: ${known} ms` });
	}

	/** Events after a cursor, then new ones until the signal aborts. An item without an event marks events that are no longer kept. */
	async *follow(since: string | undefined, how: FollowFeedOptions): AsyncGenerator<FeedItem, void, void> {
		const { log } = this.#options;
		const items = log.follow(since ?? log.end, how);
		const leave = [
			// First, because the budget may refuse it.
			...(how.quietMs === undefined ? [] : [this.#followQuiet(how.quietMs, how.by ?? null)]),
			this.#join(this.#waitFollowers, (known, signal) => this.#watch(known, signal)),
			...(how.withOverviews
				? [this.#join(this.#overviewFollowers, ({ session }, signal) => this.overviews.follow(session, signal))]
				: []),
		];
		try {
			for await (const item of items) {
				if (item.event?.type !== "quiet" || item.event.quietMs === how.quietMs) yield item;
			}
		} finally {
			for (const one of leave) one();
		}
	}

	/** The first follower starts the watches of all running sessions. The returned function leaves. */
	#join(interest: FollowerCount, begin: (known: Known, signal: AbortSignal) => Promise<void>): () => void {
		const running = [...this.#known.values()].filter(({ reported }) => !reported.exited);
		if (interest.join()) this.#beginAll(running, interest.signal, begin);
		return () => interest.leave();
	}

	#followQuiet(quietMs: number, by: BudgetCaller | null): () => void {
		const followers = this.#quietFollowers.get(quietMs) ?? {
			interest: new FollowerCount(),
			leave: this.#takeQuietSlot(by),
		};
		const { interest } = followers;
		this.#quietFollowers.set(quietMs, followers);
		const leave = this.#join(interest, (known, signal) => this.#watchQuiet(known, quietMs, signal));
		return () => {
			leave();
			if (interest.hasFollowers || this.#quietFollowers.get(quietMs) !== followers) return;
			this.#quietFollowers.delete(quietMs);
			followers.leave();
		};
	}

	/** Reports the differences between what the previous server reported and the sessions that exist now. */
	#resume(sessions: Sessions): void {
		const { log } = this.#options;
		for (const session of sessions.list()) {
			const reported = log.before?.get(session.id);
			if (reported) this.#known.set(session.id, { session, reported });
			// The previous server created it without reporting it.
			else if (log.before) this.#create(session);
			else this.#know(session);
		}
		if (!log.before && this.#known.size > 0) log.note([...this.#known.values()].map(({ reported }) => reported));
		const all = [...this.#known.values()];
		for (const known of all) if (!isEndOfShell(known)) this.#reportState(known);
		void this.#reportEnds(all.filter(isEndOfShell));
		for (const event of log.askedBefore) this.#reportUnanswered(event);
		for (const [id, reported] of log.before ?? []) if (!this.#known.has(id)) this.#reportGone(reported);
	}

	/** One at a time: finding the commands of each reads its journal, which may be long. */
	async #reportEnds(shells: readonly Known[]): Promise<void> {
		for (const shell of shells) await this.#reportEnd(shell);
	}

	/** Requests are known only to the server that made them, so those of the previous server have ended. */
	#reportUnanswered({ type, session, approval, secret, ...question }: FeedEvent): void {
		const { log, now } = this.#options;
		const time = now();
		const note = "the server was restarted";
		const ending = {
			...(approval ? { approval: { ...approval, state: "withdrawn" as const, endedAt: time, note } } : {}),
			...(secret ? { secret: { ...secret, status: "expired" as const, by: null } } : {}),
		};
		log.add({ ...question, type, session, ...ending, time }, null);
	}

	/** A session that ended with its server or was removed by it. */
	#reportGone(reported: ReportedState): void {
		const { log, now } = this.#options;
		const { session } = reported;
		if (!reported.ended) log.add({ type: "lost", time: now(), session }, { ...reported, ended: true });
		log.add({ type: "removed", time: now(), session }, reported);
	}

	#create(session: Session): Known {
		const reported = { session: describe(session), exited: false, ended: false, ...NOTHING_REPORTED };
		const known: Known = { session, reported };
		this.#known.set(session.id, known);
		this.#add("created", known, { time: session.spec.createdAt });
		return known;
	}

	/** Records the current state without reporting it. */
	#know(session: Session): Known {
		const { state } = session;
		const reported = {
			session: describe(session),
			exited: state.exit !== null,
			ended: isEnded(state),
			...NOTHING_REPORTED,
		};
		const known: Known = { session, reported };
		this.#known.set(session.id, known);
		return known;
	}

	#knownOf(session: Session): Known {
		const known = this.#known.get(session.id);
		if (known) return known;
		// A session adopted after the feed started.
		const adopted = this.#know(session);
		this.#begin(adopted);
		return adopted;
	}

	/** Reports a new name of an ended session. Overviews cover running ones. */
	#reportName(known: Known): void {
		const { session, reported } = known;
		if (reported.session.name === session.spec.name) return;
		known.reported = { ...reported, session: describe(session) };
		if (reported.ended) this.#addChange(session, {});
	}

	#reportChange(known: Known): void {
		if (isEndOfShell(known)) void this.#reportEnd(known);
		else this.#reportState(known);
	}

	/** Reports a shell's end after its last commands. */
	async #reportEnd(known: Known): Promise<void> {
		if (known.isEnding || !isEndOfShell(known)) return;
		known.isEnding = true;
		await this.#reportLastCommands(known);
		known.isEnding = false;
		this.#reportState(known);
		if (known.isRemoved) this.#add("removed", known);
	}

	/** Commands that the keeper does not return in time are skipped. */
	async #reportLastCommands(known: Known): Promise<void> {
		const over = new AbortController();
		const late = sleep(LAST_COMMANDS_MS, over.signal).then(() => []);
		const ended = endedCommands(known.session).catch(() => []);
		this.#addCommands(known, (await Promise.race([ended, late])) ?? []);
		over.abort();
	}

	/** Reports the session's exit or end unless that is already reported. */
	#reportState(known: Known): void {
		if (known.reported.ended || known.isEnding) return;
		const { state } = known.session;
		const when = state.endedAt === null ? {} : { time: state.endedAt };
		if (state.exit !== null && !known.reported.exited) {
			known.reported = { ...known.reported, exited: true };
			const { argv, mode } = known.session.spec;
			const failed = isFailure({ exit: state.exit, argv, mode }) ? { failed: true as const } : {};
			this.#add("exited", known, { exit: state.exit, ...failed, ...when });
		}
		if (isEnded(state)) {
			known.reported = { ...known.reported, ended: true };
			if (state.status === "lost") this.#add("lost", known, when);
			else this.#add("closed", known);
		}
	}

	#remove(known: Known): void {
		this.#options.log.forgetChange(known.session.id);
		this.#known.delete(known.session.id);
		if (known.isEnding) known.isRemoved = true;
		else this.#add("removed", known);
	}

	#begin(known: Known): void {
		if (this.#waitFollowers.hasFollowers) void this.#watch(known, this.#waitFollowers.signal);
		if (this.#overviewFollowers.hasFollowers) void this.overviews.follow(known.session, this.#overviewFollowers.signal);
		for (const [quietMs, { interest }] of this.#quietFollowers) void this.#watchQuiet(known, quietMs, interest.signal);
	}

	#beginAll(
		all: readonly Known[],
		signal: AbortSignal,
		begin: (known: Known, signal: AbortSignal) => Promise<void>,
	): void {
		for (const [index, known] of all.entries()) {
			void sleep(index * BEGIN_MS, signal).then(() => begin(known, signal));
		}
	}

	/** Reports program waits and shell commands while the feed has followers. */
	async #watch(known: Known, signal: AbortSignal): Promise<void> {
		await Promise.all([
			this.#watchWaits(known, signal),
			this.#watchCommands(known, signal),
			this.#watchAgent(known, signal),
		]);
	}

	/** Reports each change of its agent's state or dialog. */
	async #watchAgent(known: Known, signal: AbortSignal): Promise<void> {
		const { agents, report } = this.#options;
		await retryWhileUnreachable(signal, report, async () => {
			let last: string | undefined;
			for await (const agent of agents.follow(known.session, signal)) {
				const isKnown = last === undefined ? isReported(agent, known.reported.agent) : last === identityOf(agent);
				last = identityOf(agent);
				if (isKnown || known.reported.exited) continue;
				known.reported = { ...known.reported, agent: agent && { episode: agent.episode, state: agent.state } };
				this.#add("agent", known, { agent });
			}
			return true;
		});
	}

	async #watchCommands(known: Known, signal: AbortSignal): Promise<void> {
		const { session } = known;
		if (!mayReportCommands(session.spec)) return;
		let count: number | null = null;
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			const news = await session.commandEvents(count, signal);
			const ended = await endedSince(session, count, news);
			if (signal.aborted || !ended) return true;
			count = news.count;
			this.#addCommands(known, ended);
			return false;
		});
	}

	async #watchQuiet(known: Known, quietMs: number, signal: AbortSignal): Promise<void> {
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			const [, place] = known.reported.quiet.find(([ms]) => ms === quietMs) ?? [];
			const offset = await nextQuietPeriod(known.session, quietMs, place, signal);
			if (offset === undefined || known.reported.exited) return true;
			const others = known.reported.quiet.filter(([ms]) => ms !== quietMs).slice(1 - MAX_QUIETS);
			known.reported = { ...known.reported, quiet: [...others, [quietMs, offset]] };
			this.#add("quiet", known, { quietMs, offset });
			return false;
		});
	}

	/** Reports each time the program begins to wait. */
	async #watchWaits(known: Known, signal: AbortSignal): Promise<void> {
		const { session } = known;
		await retryWhileUnreachable(signal, this.#options.report, async () => {
			if (known.reported.exited) return true;
			const { state, episode, isWaiting } = await untilProgramWaits(session, known.reported.episode, signal);
			if (signal.aborted || !isWaiting || known.reported.exited) return true;
			known.reported = { ...known.reported, episode };
			// The kernel sees an agent wait for keys even while it works.
			const isAgent = this.#options.agents.current(session) !== null;
			if (isAgent && state.state !== "prompt" && state.kind !== "secret") return false;
			this.#addWait(known, state);
			return false;
		});
	}

	#addWait(known: Known, program: ProgramState): void {
		const { type, ...what } = waitMessage(program);
		this.#add(type, known, what);
		void this.overviews.noteWait(known.session, program, this.#overviewFollowers.signal);
	}

	#addCommands(known: Known, commands: readonly ShellCommand[]): void {
		for (const command of commands) {
			if (command.seq <= known.reported.command) continue;
			known.reported = { ...known.reported, command: command.seq };
			this.#add("command", known, { time: command.endedAt ?? this.#options.now(), command: commandMessage(command) });
		}
	}

	/** A session whose start waits for approval is not known yet. */
	#addApproval(approval: Approval): void {
		const { log, now } = this.#options;
		const known = this.#known.get(approval.session.id);
		if (known) this.#add("approval", known, { approval });
		else log.add({ type: "approval", time: now(), session: approval.session, approval }, null);
	}

	#add(type: FeedEvent["type"], known: Known, rest: Partial<FeedEvent> = {}): void {
		const { log, now } = this.#options;
		const { spec } = known.session;
		const session = describe(known.session);
		known.reported = { ...known.reported, session };
		// A session without a journal must not get its output written to disk here.
		const isPrivate = !spec.durable || spec.retention.journalBytes === 0;
		log.add({ type, time: now(), session, ...rest }, known.reported, { isPrivate });
	}

	#addChange(session: Session, rest: Pick<FeedEvent, "overview">): void {
		const { log, now } = this.#options;
		if (!this.#known.has(session.id)) return;
		log.addChange({ type: "changed", time: now(), session: describe(session), ...rest });
	}
}

/** Whether this is a shell that has ended with commands that may not be reported yet. */
function isEndOfShell({ session: { spec, state }, reported }: Known): boolean {
	const isOver = state.exit !== null || isEnded(state);
	return isOver && !reported.exited && !reported.ended && mayReportCommands(spec);
}

/** Whether an earlier server has reported this state. */
function isReported(agent: AgentMessage | null, reported: ReportedState["agent"]): boolean {
	return agent?.episode === reported?.episode && agent?.state === reported?.state;
}

/** Identifies a state: a change of it is a new event, unlike a change of progress or titles. */
function identityOf(agent: AgentMessage | null): string {
	if (!agent) return "";
	const { app, state, kind, question, choices, children, episode } = agent;
	return JSON.stringify([app, state, kind, question, choices, children.map(({ id, state }) => [id, state]), episode]);
}

function describe({ id, spec: { name, workspace, task, labels } }: Session): FeedEvent["session"] {
	const hasLabels = Object.keys(labels).length > 0;
	return { id, name, workspace, ...(task === undefined ? {} : { task }), ...(hasLabels ? { labels } : {}) };
}
