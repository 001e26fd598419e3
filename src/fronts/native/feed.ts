/**
 * What happens to all sessions, told in one sequence that a client can come back to, also to another server: what was
 * told of each session is kept with the events, so that the next server tells what has happened meanwhile, once.
 */

import type { Principal } from "../../core/access.ts";
import type { Approval, Approvals } from "../../core/approvals.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { ShellCommand } from "../../core/shell-marks.ts";
import { isEnded } from "../../core/state.ts";
import type { FeedEvent, ProgramState } from "../../protocol/feed.ts";
import { isFailure } from "../../protocol/needs.ts";
import { nextWait, waitMessage } from "../program-state.ts";
import type { Told } from "./feed-lines.ts";
import type { FeedItem, FeedLog } from "./feed-log.ts";
import { Interest } from "./interest.ts";
import { Overviews } from "./overviews.ts";
import { pause } from "./pause.ts";
import { persist } from "./persist.ts";
import { commandMessage } from "./shell.ts";
import { endedCommands, endedSince, mayMark } from "./shell-news.ts";
import { nextSilence } from "./silence.ts";
import type { Attachments } from "./socket/attachments.ts";

/** Between the beginnings of two watches when somebody comes, so that hundreds of keepers do not want their turn at once. */
const BEGIN_MS = 5;

/** How long commands that ended just before their shell are waited for, so that they are told before its end. */
const LAST_COMMANDS_MS = 2_000;
/** How many kinds of silence are remembered of a session, and listened for at a time. */
const MAX_QUIETS = 8;
/** How many of these one account may have begun, and how many all but the operator, who so always finds a place. */
const OTHERS_QUIETS = { each: 2, all: 6 };

/** A session, and what was told of it so far. */
type Known = { readonly session: Session; told: Told; isEnding?: boolean; isRemoved?: boolean };

const NOTHING_TOLD = { episode: 0, command: 0, quiet: [] } as const;

export type FeedOptions = {
	/** Where the events are, with those of the servers before this one. */
	readonly log: FeedLog;
	readonly now: () => number;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
	/** Who is attached to sessions. */
	readonly attachments: Attachments;
	/** Between two changes of how a session looks that are told; a second, when left out. */
	readonly changeMs?: number | undefined;
	/** What is held until somebody approves it. */
	readonly approvals: Approvals | undefined;
};

export type FeedFollowing = {
	readonly signal: AbortSignal;
	/** Whether it is told how sessions look in a list, whenever that changes. */
	readonly withOverviews: boolean;
	/** It is told of each program that has written nothing for so long; of none, when left out. */
	readonly quietMs?: number | undefined;
	/** Whose share that is. */
	readonly account?: string | undefined;
};

/** Those who listen for one kind of silence, and who was the first of them. */
type Silence = { readonly interest: Interest; readonly account: string | undefined };

export class Feed {
	readonly #options: FeedOptions;
	readonly #known = new Map<string, Known>();
	/** Those who follow: programs are watched for waits, and sessions for how they look. */
	readonly #waits = new Interest();
	readonly #looks = new Interest();
	/** By how long a silence is. */
	readonly #silences = new Map<number, Silence>();
	readonly overviews: Overviews;

	/** Listens until the signal aborts, and tells what has happened since the server before; without one, what is there already is not news. */
	constructor(sessions: Sessions, options: FeedOptions, signal: AbortSignal) {
		this.#options = options;
		const { attachments, approvals, changeMs, report } = options;
		this.overviews = new Overviews({
			watchersOf: (id) => attachments.get(id)?.all.size ?? 0,
			approvalsOf: (id) => approvals?.count(id) ?? 0,
			changeMs,
			onChange: (session, overview) => this.#addChange(session, { overview }),
			report,
		});
		this.#goOn(sessions);
		const unwatch = sessions.watch(({ kind, session }) => {
			const known = kind === "created" ? this.#create(session) : this.#knownOf(session);
			this.#look(known);
			if (kind === "created") this.#begin(known);
			if (kind === "removed") this.#remove(known);
			else {
				this.overviews.touch(session, this.#looks.signal);
				this.#lookAtName(known);
			}
		});
		const unwatchAttachments = attachments.watch((id) => {
			const session = sessions.get(id);
			if (session) this.overviews.touch(session, this.#looks.signal);
		});
		const unwatchApprovals = approvals?.watch((approval) => {
			this.#addApproval(approval);
			const session = sessions.get(approval.session.id);
			if (session) this.overviews.touch(session, this.#looks.signal);
		});
		const stop = () => {
			unwatch();
			unwatchApprovals?.();
			unwatchAttachments();
			this.#waits.end();
			this.#looks.end();
			for (const { interest } of this.#silences.values()) interest.end();
		};
		signal.addEventListener("abort", stop, { once: true });
	}

	/** Tells of something that others know of a session. */
	announce(type: FeedEvent["type"], session: Session, rest: Partial<FeedEvent>): void {
		const known = this.#known.get(session.id);
		if (known) this.#add(type, known, rest);
	}

	/** The place after everything so far. */
	get end(): string {
		return this.#options.log.end;
	}

	/** Refuses one more kind of silence than are listened for, or than a caller may have of them. */
	checkQuiet(quietMs: number, by: Pick<Principal, "account" | "isAdmin"> | null): void {
		const { size } = this.#silences;
		const own = [...this.#silences.values()].filter(({ account }) => account === by?.account).length;
		const isRoom = by?.isAdmin ? size < MAX_QUIETS : own < OTHERS_QUIETS.each && size < OTHERS_QUIETS.all;
		if (this.#silences.has(quietMs) || isRoom) return;
		throw new SessionError("limit_exceeded", "no more kinds of silence are listened for, of you or of all", {
			hint: `ask for one of ${[...this.#silences.keys()].join(", ")} ms`,
		});
	}

	/** Events after a cursor, then those to come, until the signal aborts; an item without an event stands for those that are forgotten. */
	async *follow(since: string | undefined, how: FeedFollowing): AsyncGenerator<FeedItem, void, void> {
		const { log } = this.#options;
		const items = log.follow(since ?? log.end, how);
		const leave = [
			this.#join(this.#waits, (known, signal) => this.#watch(known, signal)),
			...(how.withOverviews
				? [this.#join(this.#looks, ({ session }, signal) => this.overviews.follow(session, signal))]
				: []),
			...(how.quietMs === undefined ? [] : [this.#listen(how.quietMs, how.account)]),
		];
		try {
			for await (const item of items) {
				if (item.event?.type !== "quiet" || item.event.quietMs === how.quietMs) yield item;
			}
		} finally {
			for (const one of leave) one();
		}
	}

	/** For the first who comes all that runs is looked at; the returned function leaves. */
	#join(interest: Interest, begin: (known: Known, signal: AbortSignal) => Promise<void>): () => void {
		const running = [...this.#known.values()].filter(({ told }) => !told.exited);
		if (interest.join()) this.#beginAll(running, interest.signal, begin);
		return () => interest.leave();
	}

	#listen(quietMs: number, account: string | undefined): () => void {
		const silence = this.#silences.get(quietMs) ?? { interest: new Interest(), account };
		const { interest } = silence;
		this.#silences.set(quietMs, silence);
		const leave = this.#join(interest, (known, signal) => this.#watchSilence(known, quietMs, signal));
		return () => {
			leave();
			if (!interest.isThere) this.#silences.delete(quietMs);
		};
	}

	/** What the server before has told is compared with what is. */
	#goOn(sessions: Sessions): void {
		const { log } = this.#options;
		for (const session of sessions.list()) {
			const told = log.before?.get(session.id);
			if (told) this.#known.set(session.id, { session, told });
			// That server has made it, and did not come to tell it.
			else if (log.before) this.#create(session);
			else this.#know(session);
		}
		if (!log.before && this.#known.size > 0) log.note([...this.#known.values()].map(({ told }) => told));
		const all = [...this.#known.values()];
		for (const known of all) if (!isEndOfShell(known)) this.#tellState(known);
		void this.#tellEnds(all.filter(isEndOfShell));
		for (const event of log.askedBefore) this.#tellUnanswered(event);
		for (const [id, told] of log.before ?? []) if (!this.#known.has(id)) this.#tellGone(told);
	}

	/** One after the other: the commands of each are looked for in its journal, which may be long. */
	async #tellEnds(shells: readonly Known[]): Promise<void> {
		for (const shell of shells) await this.#tellEnd(shell);
	}

	/** What was asked is known to the server that asked it alone, and ended with that. */
	#tellUnanswered({ type, session, approval, secret, ...question }: FeedEvent): void {
		const { log, now } = this.#options;
		const time = now();
		const note = "the server was started anew";
		const ending = {
			...(approval ? { approval: { ...approval, state: "withdrawn" as const, endedAt: time, note } } : {}),
			...(secret ? { secret: { ...secret, status: "expired" as const, by: null } } : {}),
		};
		log.add({ ...question, type, session, ...ending, time }, null);
	}

	/** It has ended with the server that it lived in, or that server had just removed it. */
	#tellGone(told: Told): void {
		const { log, now } = this.#options;
		const { session } = told;
		if (!told.ended) log.add({ type: "lost", time: now(), session }, { ...told, ended: true });
		log.add({ type: "removed", time: now(), session }, told);
	}

	#create(session: Session): Known {
		const told = { session: describe(session), exited: false, ended: false, ...NOTHING_TOLD };
		const known: Known = { session, told };
		this.#known.set(session.id, known);
		this.#add("created", known, { time: session.spec.createdAt });
		return known;
	}

	/** How it came to be is not news. */
	#know(session: Session): Known {
		const { state } = session;
		const told = { session: describe(session), exited: state.exit !== null, ended: isEnded(state), ...NOTHING_TOLD };
		const known: Known = { session, told };
		this.#known.set(session.id, known);
		return known;
	}

	#knownOf(session: Session): Known {
		const known = this.#known.get(session.id);
		if (known) return known;
		// One that was adopted after us.
		const adopted = this.#know(session);
		this.#begin(adopted);
		return adopted;
	}

	/** Nobody keeps up with how a session looks that has ended; it can have another name all the same. */
	#lookAtName(known: Known): void {
		const { session, told } = known;
		if (told.session.name === session.spec.name) return;
		known.told = { ...told, session: describe(session) };
		if (told.ended) this.#addChange(session, {});
	}

	#look(known: Known): void {
		if (isEndOfShell(known)) void this.#tellEnd(known);
		else this.#tellState(known);
	}

	/** After the commands that the shell still ran. */
	async #tellEnd(known: Known): Promise<void> {
		if (known.isEnding || !isEndOfShell(known)) return;
		known.isEnding = true;
		await this.#tellLastCommands(known);
		known.isEnding = false;
		this.#tellState(known);
		if (known.isRemoved) this.#add("removed", known);
	}

	/** Those of one that can't be asked in time are not told. */
	async #tellLastCommands(known: Known): Promise<void> {
		const over = new AbortController();
		const late = pause(LAST_COMMANDS_MS, over.signal).then(() => []);
		const ended = endedCommands(known.session).catch(() => []);
		this.#addCommands(known, (await Promise.race([ended, late])) ?? []);
		over.abort();
	}

	/** How it is, if that is news. */
	#tellState(known: Known): void {
		if (known.told.ended || known.isEnding) return;
		const { state } = known.session;
		const when = state.endedAt === null ? {} : { time: state.endedAt };
		if (state.exit !== null && !known.told.exited) {
			known.told = { ...known.told, exited: true };
			const { argv, mode } = known.session.spec;
			const failed = isFailure({ exit: state.exit, argv, mode }) ? { failed: true as const } : {};
			this.#add("exited", known, { exit: state.exit, ...failed, ...when });
		}
		if (isEnded(state)) {
			known.told = { ...known.told, ended: true };
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
		if (this.#waits.isThere) void this.#watch(known, this.#waits.signal);
		if (this.#looks.isThere) void this.overviews.follow(known.session, this.#looks.signal);
		for (const [quietMs, { interest }] of this.#silences) void this.#watchSilence(known, quietMs, interest.signal);
	}

	#beginAll(
		all: readonly Known[],
		signal: AbortSignal,
		begin: (known: Known, signal: AbortSignal) => Promise<void>,
	): void {
		for (const [index, known] of all.entries()) {
			void pause(index * BEGIN_MS, signal).then(() => begin(known, signal));
		}
	}

	/** Tells what its program and its shell do, for as long as somebody listens. */
	async #watch(known: Known, signal: AbortSignal): Promise<void> {
		await Promise.all([this.#watchWaits(known, signal), this.#watchCommands(known, signal)]);
	}

	async #watchCommands(known: Known, signal: AbortSignal): Promise<void> {
		const { session } = known;
		if (!mayMark(session.spec)) return;
		let count: number | null = null;
		await persist(signal, this.#options.report, async () => {
			const news = await session.commandNews(count, signal);
			const ended = await endedSince(session, count, news);
			if (signal.aborted || !ended) return true;
			count = news.count;
			this.#addCommands(known, ended);
			return false;
		});
	}

	async #watchSilence(known: Known, quietMs: number, signal: AbortSignal): Promise<void> {
		await persist(signal, this.#options.report, async () => {
			const [, place] = known.told.quiet.find(([ms]) => ms === quietMs) ?? [];
			const offset = await nextSilence(known.session, quietMs, place, signal);
			if (offset === undefined || known.told.exited) return true;
			const others = known.told.quiet.filter(([ms]) => ms !== quietMs).slice(1 - MAX_QUIETS);
			known.told = { ...known.told, quiet: [...others, [quietMs, offset]] };
			this.#add("quiet", known, { quietMs, offset });
			return false;
		});
	}

	/** Tells of each time its program begins to wait. */
	async #watchWaits(known: Known, signal: AbortSignal): Promise<void> {
		const { session } = known;
		await persist(signal, this.#options.report, async () => {
			if (known.told.exited) return true;
			const { state, episode, isWaiting } = await nextWait(session, known.told.episode, signal);
			if (signal.aborted || !isWaiting || known.told.exited) return true;
			known.told = { ...known.told, episode };
			this.#addWait(known, state);
			return false;
		});
	}

	#addWait(known: Known, program: ProgramState): void {
		const { type, ...what } = waitMessage(program);
		this.#add(type, known, what);
		void this.overviews.noteWait(known.session, program, this.#looks.signal);
	}

	#addCommands(known: Known, commands: readonly ShellCommand[]): void {
		for (const command of commands) {
			if (command.seq <= known.told.command) continue;
			known.told = { ...known.told, command: command.seq };
			this.#add("command", known, { time: command.endedAt ?? this.#options.now(), command: commandMessage(command) });
		}
	}

	/** Of a session that is only to be started nothing is known. */
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
		known.told = { ...known.told, session };
		// Of one that keeps nothing on disk, nothing that it wrote is kept there.
		const isPrivate = !spec.durable || spec.retention.journalBytes === 0;
		log.add({ type, time: now(), session, ...rest }, known.told, { isPrivate });
	}

	#addChange(session: Session, rest: Pick<FeedEvent, "overview">): void {
		const { log, now } = this.#options;
		if (!this.#known.has(session.id)) return;
		log.addChange({ type: "changed", time: now(), session: describe(session), ...rest });
	}
}

/** Whether it is a shell that has ended, and may have ended commands before that were not told yet. */
function isEndOfShell({ session: { spec, state }, told }: Known): boolean {
	const isOver = state.exit !== null || isEnded(state);
	return isOver && !told.exited && !told.ended && mayMark(spec);
}

function describe({ id, spec: { name, workspace, task, labels } }: Session): FeedEvent["session"] {
	const hasLabels = Object.keys(labels).length > 0;
	return { id, name, workspace, ...(task === undefined ? {} : { task }), ...(hasLabels ? { labels } : {}) };
}
