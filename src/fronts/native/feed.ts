/** What happens to all sessions, as one bounded sequence that a client can come back to. */

import { setTimeout } from "node:timers/promises";
import { Change } from "../../core/change.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { isEnded } from "../../core/state.ts";
import { type FeedEvent, limits, type ProgramState } from "../../protocol/messages.ts";
import { nextWait } from "../program-state.ts";

/** Between the beginnings of two watches when somebody comes, so that hundreds of keepers do not want their turn at once. */
const BEGIN_MS = 5;
/** Before one that can't be asked now is asked again. */
const AWAY_MS = 1_000;
/** What is said by one that can never be asked: its keeper is older, or it is gone. */
const hopeless: ReadonlySet<SessionError["code"]> = new Set(["unsupported", "session_not_found", "session_closed"]);

/** `episode` is that of the last wait. */
type Told = { exited: boolean; ended: boolean; episode: number };

export type FeedItem = { readonly cursor: string; readonly event: FeedEvent | undefined };

type Numbered = { readonly number: number; readonly event: FeedEvent };

export type FeedOptions = {
	/** Tells this feed's numbers from those of the server before it. */
	readonly epoch: string;
	readonly now: () => number;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
	readonly size?: number;
};

export class Feed {
	readonly #options: FeedOptions;
	readonly #change = new Change();
	/** The newest events; their numbers are dense. */
	readonly #events: Numbered[] = [];
	#next = 1;
	/** What was said of each session so far. */
	readonly #told = new Map<Session, Told>();
	readonly #closing: AbortSignal;
	/** Who follows now; while somebody does, programs are watched. */
	#followers = 0;
	#unlistened = new AbortController();

	/** Listens until the signal aborts. What is there already is not news. */
	constructor(sessions: Sessions, options: FeedOptions, signal: AbortSignal) {
		this.#options = options;
		this.#closing = signal;
		for (const session of sessions.list()) this.#know(session);
		const unwatch = sessions.watch(({ kind, session }) => {
			if (kind === "created") {
				this.#told.set(session, { exited: false, ended: false, episode: 0 });
				this.#add("created", session);
			}
			this.#look(session);
			if (kind === "created" && this.#followers > 0) void this.#watch(session);
			if (kind === "removed") {
				this.#told.delete(session);
				this.#add("removed", session);
			}
		});
		const stop = () => {
			unwatch();
			this.#unlistened.abort();
			this.#change.happen();
		};
		signal.addEventListener("abort", stop, { once: true });
	}

	/** The place after everything so far. */
	get end(): string {
		return this.#cursor(this.#next - 1);
	}

	/** Events after a cursor, then those to come, until the signal aborts. `missed` stands for those that are forgotten. */
	async *follow(since: string | undefined, signal: AbortSignal): AsyncGenerator<FeedItem, void, void> {
		const first = since === undefined ? this.#next : this.#after(since);
		this.#join();
		try {
			yield* this.#from(first, signal);
		} finally {
			this.#leave();
		}
	}

	async *#from(first: number, signal: AbortSignal): AsyncGenerator<FeedItem, void, void> {
		let number = first;
		while (!signal.aborted) {
			const oldest = this.#events[0]?.number ?? this.#next;
			if (number < oldest) {
				number = oldest;
				yield { cursor: this.#cursor(oldest - 1), event: undefined };
				continue;
			}
			const found = this.#events[number - oldest];
			if (!found) {
				await this.#change.next(signal);
				continue;
			}
			number++;
			yield { cursor: this.#cursor(found.number), event: found.event };
		}
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
		this.#told.set(session, { exited: state.exit !== null, ended: isEnded(state), episode: 0 });
		if (this.#followers > 0) void this.#watch(session);
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

	#join(): void {
		if (++this.#followers > 1 || this.#closing.aborted) return;
		this.#unlistened = new AbortController();
		const running = [...this.#told].filter(([, { exited }]) => !exited);
		for (const [index, [session]] of running.entries()) void this.#watch(session, index * BEGIN_MS);
	}

	#leave(): void {
		if (--this.#followers === 0) this.#unlistened.abort();
	}

	/** Tells of each time its program begins to wait, for as long as somebody listens. */
	async #watch(session: Session, pauseMs = 0): Promise<void> {
		const { signal } = this.#unlistened;
		await pause(pauseMs, signal);
		for (let told = this.#told.get(session); told && !told.exited && !signal.aborted; ) {
			try {
				const { state, episode, isWaiting } = await nextWait(session, told.episode, signal);
				if (signal.aborted || !isWaiting) return;
				told.episode = episode;
				this.#addWait(session, state);
			} catch (error) {
				if (!(error instanceof SessionError)) return this.#options.report(error);
				if (hopeless.has(error.code)) return;
				await pause(AWAY_MS, signal);
			}
		}
	}

	#addWait(session: Session, { state, kind, offset, lastLine: prompt, program }: ProgramState): void {
		const what = { offset, prompt, ...(program === null ? {} : { program }) };
		if (state === "prompt") this.#add("ready", session, what);
		else this.#add("waiting", session, { ...what, kind: kind ?? state });
	}

	#add(type: FeedEvent["type"], { id, spec }: Session, rest: Partial<FeedEvent> = {}): void {
		const session = { id, name: spec.name, workspace: spec.workspace };
		this.#events.push({ number: this.#next++, event: { type, time: this.#options.now(), session, ...rest } });
		if (this.#events.length > (this.#options.size ?? limits.feedEvents)) this.#events.shift();
		this.#change.happen();
	}
}

/** Ends early, without an error, when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
	if (ms > 0) await setTimeout(ms, undefined, { signal }).catch(() => {});
}
