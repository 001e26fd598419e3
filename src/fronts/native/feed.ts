/**
 * What happens to all sessions, as one bounded sequence that a client can come back to. Of what changes all the time,
 * which is how a session looks in a list, only the latest of each session is in it.
 */

import { Change } from "../../core/change.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { isEnded } from "../../core/state.ts";
import { type FeedEvent, limits, type ProgramState } from "../../protocol/messages.ts";
import { nextWait, waitMessage } from "../program-state.ts";
import { Interest } from "./interest.ts";
import { Overviews } from "./overviews.ts";
import { pause } from "./pause.ts";
import { persist } from "./persist.ts";
import type { Attachments } from "./socket/attachments.ts";

/** Between the beginnings of two watches when somebody comes, so that hundreds of keepers do not want their turn at once. */
const BEGIN_MS = 5;

/** `episode` is that of the last wait, `change` the number of the latest change that is told. */
type Told = { exited: boolean; ended: boolean; episode: number; change: number };

export type FeedItem = { readonly cursor: string; readonly event: FeedEvent | undefined };

type Numbered = { readonly number: number; readonly event: FeedEvent };

export type FeedOptions = {
	/** Tells this feed's numbers from those of the server before it. */
	readonly epoch: string;
	readonly now: () => number;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
	/** Who is attached to sessions. */
	readonly attachments: Attachments;
	/** Between two changes of how a session looks that are told; a second, when left out. */
	readonly changeMs?: number | undefined;
	readonly size?: number;
};

export type FeedFollowing = {
	readonly signal: AbortSignal;
	/** Whether it is told how sessions look in a list, whenever that changes. */
	readonly withOverviews: boolean;
};

export class Feed {
	readonly #options: FeedOptions;
	readonly #change = new Change();
	/** By their numbers, oldest first: the newest few, and the latest change of each session. */
	readonly #events: Numbered[] = [];
	#next = 1;
	/** The newest that was forgotten because there were too many. */
	#forgotten = 0;
	/** How many of the events are no changes. */
	#remembered = 0;
	/** What was said of each session so far. */
	readonly #told = new Map<Session, Told>();
	/** Those who follow: programs are watched for waits, and sessions for how they look. */
	readonly #waits = new Interest();
	readonly #looks = new Interest();
	readonly overviews: Overviews;

	/** Listens until the signal aborts. What is there already is not news. */
	constructor(sessions: Sessions, options: FeedOptions, signal: AbortSignal) {
		this.#options = options;
		const { attachments, changeMs, report } = options;
		this.overviews = new Overviews({
			watchersOf: (id) => attachments.get(id)?.all.size ?? 0,
			changeMs,
			onChange: (session, overview) => this.#addChange(session, { overview }),
			report,
		});
		for (const session of sessions.list()) this.#know(session);
		const unwatch = sessions.watch(({ kind, session }) => {
			if (kind === "created") {
				this.#told.set(session, { exited: false, ended: false, episode: 0, change: 0 });
				this.#add("created", session);
			}
			this.#look(session);
			if (kind === "created") this.#begin(session);
			if (kind === "removed") this.#remove(session);
			else this.overviews.touch(session, this.#looks.signal);
		});
		const unwatchAttachments = attachments.watch((id) => {
			const session = sessions.get(id);
			if (session) this.overviews.touch(session, this.#looks.signal);
		});
		const stop = () => {
			unwatch();
			unwatchAttachments();
			this.#waits.end();
			this.#looks.end();
			this.#change.happen();
		};
		signal.addEventListener("abort", stop, { once: true });
	}

	/** The place after everything so far. */
	get end(): string {
		return this.#cursor(this.#next - 1);
	}

	/** Events after a cursor, then those to come, until the signal aborts. `missed` stands for those that are forgotten. */
	async *follow(since: string | undefined, how: FeedFollowing): AsyncGenerator<FeedItem, void, void> {
		const first = since === undefined ? this.#next : this.#after(since);
		const running = () => [...this.#told].filter(([, { exited }]) => !exited).map(([session]) => session);
		if (this.#waits.join()) this.#beginAll(running(), this.#waits.signal, (...one) => this.#watch(...one));
		if (how.withOverviews && this.#looks.join()) {
			this.#beginAll(running(), this.#looks.signal, (...one) => this.overviews.follow(...one));
		}
		try {
			yield* this.#from(first, how);
		} finally {
			this.#waits.leave();
			if (how.withOverviews) this.#looks.leave();
		}
	}

	async *#from(first: number, { signal, withOverviews }: FeedFollowing): AsyncGenerator<FeedItem, void, void> {
		let number = first;
		while (!signal.aborted) {
			if (number <= this.#forgotten) {
				number = this.#forgotten + 1;
				yield { cursor: this.#cursor(this.#forgotten), event: undefined };
				continue;
			}
			const found = this.#events[this.#indexOf(number)];
			if (!found) {
				await this.#change.next(signal);
				continue;
			}
			number = found.number + 1;
			if (withOverviews || found.event.type !== "changed") {
				yield { cursor: this.#cursor(found.number), event: found.event };
			}
		}
	}

	/** Of the first event that has this number or a later one. */
	#indexOf(number: number): number {
		let low = 0;
		let high = this.#events.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((this.#events[middle]?.number ?? 0) < number) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	/** The number that follows a cursor; zero, which is always forgotten, for one that is not ours. */
	#after(cursor: string): number {
		const [, epoch, digits] = /^([0-9a-z]+)-(\d{1,15})$/.exec(cursor) ?? [];
		const number = Number(digits) + 1;
		return epoch === this.#options.epoch && number <= this.#next ? number : 0;
	}

	#cursor(number: number): string {
		return `${this.#options.epoch}-${number}`;
	}

	#know(session: Session): void {
		const { state } = session;
		this.#told.set(session, { exited: state.exit !== null, ended: isEnded(state), episode: 0, change: 0 });
		this.#begin(session);
	}

	#look(session: Session): void {
		const told = this.#told.get(session);
		// One that was adopted after us; how it came to be is not news.
		if (!told) this.#know(session);
		if (!told || told.ended) return;
		const { state } = session;
		if (state.exit !== null && !told.exited) {
			told.exited = true;
			this.#add("exited", session, { exit: state.exit });
		}
		if (isEnded(state)) {
			told.ended = true;
			this.#add(state.status === "lost" ? "lost" : "closed", session);
		}
	}

	#remove(session: Session): void {
		this.#forgetChange(session);
		this.#told.delete(session);
		this.#add("removed", session);
	}

	#begin(session: Session): void {
		if (this.#waits.isThere) void this.#watch(session, this.#waits.signal);
		if (this.#looks.isThere) void this.overviews.follow(session, this.#looks.signal);
	}

	#beginAll(
		sessions: readonly Session[],
		signal: AbortSignal,
		begin: (session: Session, signal: AbortSignal) => Promise<void>,
	): void {
		for (const [index, session] of sessions.entries()) {
			void pause(index * BEGIN_MS, signal).then(() => begin(session, signal));
		}
	}

	/** Tells of each time its program begins to wait, for as long as somebody listens. */
	async #watch(session: Session, signal: AbortSignal): Promise<void> {
		const told = this.#told.get(session);
		if (!told) return;
		await persist(signal, this.#options.report, async () => {
			if (told.exited) return true;
			const { state, episode, isWaiting } = await nextWait(session, told.episode, signal);
			if (signal.aborted || !isWaiting) return true;
			told.episode = episode;
			this.#addWait(session, state);
			return false;
		});
	}

	#addWait(session: Session, program: ProgramState): void {
		const { type, ...what } = waitMessage(program);
		this.#add(type, session, what);
		void this.overviews.noteWait(session, program, this.#looks.signal);
	}

	#add(type: FeedEvent["type"], session: Session, rest: Partial<FeedEvent> = {}): void {
		this.#push(type, session, rest);
		if (++this.#remembered <= (this.#options.size ?? limits.feedEvents)) return;
		const oldest = this.#events.findIndex(({ event }) => event.type !== "changed");
		const [gone] = this.#events.splice(oldest, 1);
		this.#forgotten = gone?.number ?? this.#forgotten;
		this.#remembered--;
	}

	/** In the place of the one before it. */
	#addChange(session: Session, rest: Partial<FeedEvent>): void {
		const told = this.#told.get(session);
		if (!told) return;
		this.#forgetChange(session);
		told.change = this.#next;
		this.#push("changed", session, rest);
	}

	#forgetChange(session: Session): void {
		const number = this.#told.get(session)?.change ?? 0;
		const index = this.#indexOf(number);
		if (number > 0 && this.#events[index]?.number === number) this.#events.splice(index, 1);
	}

	#push(type: FeedEvent["type"], { id, spec }: Session, rest: Partial<FeedEvent>): void {
		const session = { id, name: spec.name, workspace: spec.workspace };
		this.#events.push({ number: this.#next++, event: { type, time: this.#options.now(), session, ...rest } });
		this.#change.happen();
	}
}
