/** The screens of all sessions: models are made when somebody asks, and dropped when nobody does any more. */

import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { LogPlace, Mark } from "../core/event.ts";
import type { Screen, ScreenOptions, ScreenRow, Screens, Snapshot } from "../core/screen.ts";
import type { Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";
import { within } from "../core/within.ts";
import type { DrawnScreens, DrawOptions } from "./background-drawing.ts";
import { type Checkpoints, FileCheckpoints, MemoryCheckpoints } from "./checkpoints.ts";
import { Feeder } from "./feeder.ts";
import { CHECKPOINT_BYTES, Follower, unshowable } from "./follower.ts";
import { SCROLLBACK_ROWS } from "./model.ts";
import { itemsBetween } from "./reading.ts";
import { sizeOf } from "./size.ts";
import { startBefore, startOfNow } from "./start.ts";
import { ScreenThread, ThreadLost } from "./thread.ts";

/** How long a model is kept that nobody asks, and how often that is looked at, in milliseconds. */
const UNUSED_MS = 60_000;
const LOOK_MS = 10_000;
/** Of all models together, at 12 bytes each: a thousand of usual size. Beyond it, whoever was not asked for longest goes. */
const MAX_CELLS = 20_000_000;
/** How long a program may be in the middle of drawing before it is shown all the same, in milliseconds. */
const SYNCHRONIZED_MS = 150;
/** How many look at the past at a time, and how long that may take, in milliseconds. */
const MAX_PAST = 2;
const PAST_MS = 10_000;
/** What is gone through for the rows above a screen, in bytes of output, and how many of them are kept. */
const HISTORY_BYTES = 4 * 1024 * 1024;
const HISTORY_ROWS = 5_000;

type SessionScreensOptions = {
	readonly sessions: Sessions;
	readonly clock: Clock;
	/** Where the checkpoints of a session are kept; undefined for one of which nothing is. */
	readonly checkpointFile: (session: Session) => string | undefined;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
	/** Instead of one of its own, for tests that end it. */
	readonly thread?: ScreenThread;
};

export class SessionScreens implements Screens, DrawnScreens {
	readonly #options: SessionScreensOptions;
	readonly #thread: ScreenThread;
	readonly #followers = new Map<string, Follower>();
	/** Of sessions that keep none on disk, as long as they are there. */
	readonly #checkpoints = new Map<string, Checkpoints>();
	readonly #unwatch: () => void;
	#cancelLook: (() => void) | undefined;
	#past = 0;

	constructor(options: SessionScreensOptions) {
		this.#options = options;
		this.#thread = options.thread ?? new ScreenThread(options.report);
		this.#unwatch = options.sessions.watch(({ kind, session }) => {
			if (kind !== "removed") return;
			this.#drop(session.id);
			this.#checkpoints.delete(session.id);
		});
	}

	async read(session: Session, { signal, at }: ScreenOptions): Promise<Screen> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.view());
		return settled(this.#follower(session), signal);
	}

	async cells(
		session: Session,
		{ signal, at }: ScreenOptions,
	): Promise<Screen & { readonly cells: readonly ScreenRow[] }> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.cells());
		const follower = this.#follower(session);
		await settled(follower, signal);
		return follower.ask((feeder) => feeder.cells(), signal);
	}

	async snapshot(
		session: Session,
		{ signal, at, scrollback }: ScreenOptions & { readonly scrollback: number },
	): Promise<Snapshot> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.snapshot(scrollback));
		return this.#follower(session).ask((feeder) => feeder.snapshot(scrollback), signal);
	}

	async scrollback(
		session: Session,
		{ signal, at }: ScreenOptions,
	): Promise<Mark & { readonly lines: readonly string[] }> {
		const end = await session.end();
		const to = at ?? { offset: end.offset };
		const from = "offset" in to ? { offset: Math.max(0, to.offset - HISTORY_BYTES) } : to;
		return this.#readAt(session, to, signal, (feeder) => feeder.scrollback(), { from, scrollback: HISTORY_ROWS });
	}

	async draw(session: Session, { signal, rest }: DrawOptions): Promise<number | undefined> {
		// It leaves checkpoints as it comes along.
		if (this.#followers.has(session.id)) return undefined;
		const checkpoints = this.#checkpointsOf(session);
		const feeder = new Feeder(this.#thread, { session });
		const remember = async () => {
			// Without one, there is more to be read later.
			await checkpoints.add(await feeder.checkpoint(SCROLLBACK_ROWS)).catch(() => {});
			await rest();
		};
		try {
			const start = await startOfNow(session, { thread: this.#thread, checkpoints }, signal);
			await feeder.open(start);
			let drawnTo = start.offset;
			for await (const item of itemsBetween(session, start, await session.end(), signal)) {
				await feeder.take(item);
				if (feeder.taken.offset - drawnTo < CHECKPOINT_BYTES) continue;
				await feeder.drain();
				drawnTo = feeder.position.offset;
				await remember();
			}
			await feeder.drain();
			await remember();
			return feeder.position.offset;
		} catch (error) {
			if (!(error instanceof ThreadLost)) throw error;
			throw error.isCulprit ? unshowable() : lost();
		} finally {
			feeder.close();
		}
	}

	remember(session: Session, screen: Screen): void {
		this.#followers.get(session.id)?.remember(screen);
	}

	earlier(session: Session, seq: number): Screen | undefined {
		return this.#followers.get(session.id)?.remembered(seq);
	}

	async close(): Promise<void> {
		this.#unwatch();
		this.#cancelLook?.();
		for (const id of [...this.#followers.keys()]) this.#drop(id);
		await this.#thread.close();
	}

	#follower({ id }: Session): Follower {
		const known = this.#followers.get(id);
		if (known && (!known.hasFailed || known.isUnshowable)) {
			// The newest are last.
			this.#followers.delete(id);
			this.#followers.set(id, known);
			return known;
		}
		const session = this.#options.sessions.get(id);
		if (!session) throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id)}`);
		sizeOf(session);
		const checkpoints = this.#checkpointsOf(session);
		const follower = new Follower(session, { thread: this.#thread, checkpoints, clock: this.#options.clock });
		this.#followers.set(id, follower);
		this.#makeRoom();
		this.#look();
		return follower;
	}

	/** Reads the log from the nearest checkpoint on, or from one that is before `from`, in a model of its own. */
	async #readAt<Value>(
		session: Session,
		at: LogPlace,
		signal: AbortSignal,
		act: (feeder: Feeder) => Promise<Value>,
		{ from = at, scrollback }: { readonly from?: LogPlace; readonly scrollback?: number } = {},
	): Promise<Value> {
		sizeOf(session);
		if (this.#past >= MAX_PAST) throw busy();
		this.#past++;
		const feeder = new Feeder(this.#thread, { session, ...(scrollback === undefined ? {} : { scrollback }) });
		try {
			const start = await startBefore(session, this.#checkpointsOf(session), from);
			await feeder.open(start);
			await within(PAST_MS, [signal], async (over) => {
				for await (const item of itemsBetween(session, start, at, over)) await feeder.take(item);
				if (over.aborted) throw tooFar(signal);
			});
			await feeder.drain();
			return await act(feeder);
		} catch (error) {
			throw error instanceof ThreadLost ? lost() : error;
		} finally {
			this.#past--;
			feeder.close();
		}
	}

	#checkpointsOf(session: Session): Checkpoints {
		const known = this.#checkpoints.get(session.id);
		if (known) return known;
		const file = this.#options.checkpointFile(session);
		const checkpoints = file === undefined ? new MemoryCheckpoints() : new FileCheckpoints(file);
		this.#checkpoints.set(session.id, checkpoints);
		return checkpoints;
	}

	#makeRoom(): void {
		let cells = [...this.#followers.values()].reduce((sum, follower) => sum + follower.cells, 0);
		for (const [id, follower] of [...this.#followers].slice(0, -1)) {
			if (cells <= MAX_CELLS) return;
			if (follower.unusedMs === 0 || follower.isUnshowable) continue;
			cells -= follower.cells;
			this.#drop(id);
		}
	}

	#look(): void {
		this.#cancelLook ??= this.#options.clock.after(LOOK_MS, () => {
			this.#cancelLook = undefined;
			for (const [id, { unusedMs, isUnshowable }] of this.#followers) {
				if (unusedMs >= UNUSED_MS && !isUnshowable) this.#drop(id);
			}
			this.#makeRoom();
			if (this.#followers.size > 0) this.#look();
		});
	}

	#drop(id: string): void {
		this.#followers.get(id)?.close();
		this.#followers.delete(id);
	}
}

/** A view of what is drawn completely, if that comes soon. */
async function settled(follower: Follower, signal: AbortSignal): Promise<Screen> {
	const deadline = performance.now() + SYNCHRONIZED_MS;
	for (;;) {
		const screen = await follower.ask((feeder) => feeder.view(), signal);
		const left = deadline - performance.now();
		if (!screen.isSynchronizing || left <= 0 || signal.aborted) return screen;
		await follower.progress(left, signal);
	}
}

function busy(): SessionError {
	return new SessionError("limit_exceeded", `${MAX_PAST} look at earlier screens now, which is all that may`, {
		hint: "try again in a moment",
	});
}

function tooFar(asked: AbortSignal): SessionError {
	if (asked.aborted) return new SessionError("node_unavailable", "the screen was not read: nobody waits for it");
	return new SessionError("limit_exceeded", `there is more output before this place than is read in ${PAST_MS} ms`);
}

function lost(): SessionError {
	return new SessionError("node_unavailable", "what draws the screen has ended", { hint: "try again" });
}
