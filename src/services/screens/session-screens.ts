/** The screens of all sessions. Models are created on request and dropped when they are unused. */

import { Budget } from "../../core/async/budget.ts";
import type { Clock } from "../../core/async/clock.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import type { LogPosition, OffsetOrTime } from "../../core/log/event.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Screen, ScreenOptions, ScreenRow, Snapshot } from "../../core/terminal/screen-view.ts";
import { EmulatorThread, EmulatorThreadEnded } from "../../emulator/emulator-thread.ts";
import { SCROLLBACK_ROWS } from "../../emulator/requests.ts";
import type { BackgroundRenderer, DrawOptions } from "./background-rendering.ts";
import { type Checkpoints, FileCheckpoints, MemoryCheckpoints } from "./checkpoints.ts";
import { CHECKPOINT_BYTES, CurrentScreen, unrenderableError } from "./current-screen.ts";
import { itemsBetween } from "./items-between.ts";
import { ModelFeed } from "./model-feed.ts";
import { sizeOf } from "./screen-size.ts";
import { startBefore, startOfNow } from "./starting-point.ts";

/**
 * Time without requests after which a model is dropped, and interval of the check, in milliseconds.
 * @limit a terminal model without requests | it is dropped
 */
const UNUSED_MS = 60_000;
const LOOK_MS = 10_000;
/**
 * Cells of all models together, at 12 bytes each: a thousand of usual size. Above it, the model without requests for longest is dropped.
 * @limit all terminal models | % cells | the one that was not requested for longest is dropped
 */
const MAX_CELLS = 20_000_000;
/**
 * Longest wait for a program to finish synchronized output, in milliseconds.
 * @limit a program in the middle of synchronized output | its screen is shown as it is
 */
const SYNCHRONIZED_MS = 150;
/**
 * Earlier screens that are computed at a time.
 * @limit earlier screens that are computed at a time | `limit_exceeded`
 */
const PAST = {
	what: "earlier screens at a time",
	operator: 1,
	others: 2,
	each: 1,
	fair: 1,
	accounts: 2,
	hint: "request one at a time",
};
/**
 * Time limit for one earlier screen, in milliseconds.
 * @limit one earlier screen | `limit_exceeded`
 */
const PAST_MS = 10_000;
/**
 * Output that is read for the rows above a screen, in bytes, and the number of rows that are kept.
 * @limit output that rows above a screen come from | older rows are not available
 */
const HISTORY_BYTES = 4 * 1024 * 1024;
/** @limit rows above a screen | older rows are not available */
const HISTORY_ROWS = 5_000;

type PastOptions = Pick<ScreenOptions, "by"> & {
	/** Latest position at which reading begins. */
	readonly from?: OffsetOrTime;
	readonly scrollback?: number;
};

type SessionScreensOptions = {
	readonly sessions: Sessions;
	readonly clock: Clock;
	/** The checkpoint file of a session; undefined for a session without a journal. */
	readonly checkpointFile: (session: Session) => string | undefined;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
	/** Replaces the thread in tests. */
	readonly thread?: EmulatorThread;
};

export class SessionScreens implements ScreenReader, BackgroundRenderer {
	readonly #options: SessionScreensOptions;
	readonly #thread: EmulatorThread;
	readonly #followers = new Map<string, CurrentScreen>();
	/** For sessions without a journal, as long as they exist. */
	readonly #checkpoints = new Map<string, Checkpoints>();
	readonly #unwatch: () => void;
	#cancelLook: (() => void) | undefined;
	readonly #past = new Budget(PAST);

	constructor(options: SessionScreensOptions) {
		this.#options = options;
		this.#thread = options.thread ?? new EmulatorThread(options.report);
		this.#unwatch = options.sessions.watch(({ kind, session }) => {
			if (kind !== "removed") return;
			this.#drop(session.id);
			this.#checkpoints.delete(session.id);
		});
	}

	async read(session: Session, { signal, at, by }: ScreenOptions): Promise<Screen> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.view(), { by });
		return settled(this.#follower(session), signal);
	}

	async cells(
		session: Session,
		{ signal, at, by }: ScreenOptions,
	): Promise<Screen & { readonly cells: readonly ScreenRow[] }> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.cells(), { by });
		const follower = this.#follower(session);
		await settled(follower, signal);
		return follower.ask((feeder) => feeder.cells(), signal);
	}

	async snapshot(
		session: Session,
		{ signal, at, by, scrollback }: ScreenOptions & { readonly scrollback: number },
	): Promise<Snapshot> {
		if (at) return this.#readAt(session, at, signal, (feeder) => feeder.snapshot(scrollback), { by });
		return this.#follower(session).ask((feeder) => feeder.snapshot(scrollback), signal);
	}

	async scrollback(
		session: Session,
		{ signal, at, by }: ScreenOptions,
	): Promise<LogPosition & { readonly lines: readonly string[] }> {
		const end = await session.end();
		const to = at ?? { offset: end.offset };
		const from = "offset" in to ? { offset: Math.max(0, to.offset - HISTORY_BYTES) } : to;
		return this.#readAt(session, to, signal, (feeder) => feeder.scrollback(), { by, from, scrollback: HISTORY_ROWS });
	}

	async draw(session: Session, { signal, rest }: DrawOptions): Promise<number | undefined> {
		// A current screen takes its own checkpoints.
		if (this.#followers.has(session.id)) return undefined;
		const checkpoints = this.#checkpointsOf(session);
		const feeder = new ModelFeed(this.#thread, { session });
		const remember = async () => {
			// If this fails, later readers have to read more output.
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
			if (!(error instanceof EmulatorThreadEnded)) throw error;
			throw error.isCulprit ? unrenderableError() : lost();
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

	#follower({ id }: Session): CurrentScreen {
		const known = this.#followers.get(id);
		if (known && (!known.hasFailed || known.isUnshowable)) {
			// Most recently used last.
			this.#followers.delete(id);
			this.#followers.set(id, known);
			return known;
		}
		const session = this.#options.sessions.get(id);
		if (!session) throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id)}`);
		sizeOf(session);
		const checkpoints = this.#checkpointsOf(session);
		const follower = new CurrentScreen(session, { thread: this.#thread, checkpoints, clock: this.#options.clock });
		this.#followers.set(id, follower);
		this.#makeRoom();
		this.#look();
		return follower;
	}

	/** Renders the log from the nearest checkpoint, or from one before `from`, in a separate model. */
	async #readAt<Value>(
		session: Session,
		at: OffsetOrTime,
		signal: AbortSignal,
		act: (feeder: ModelFeed) => Promise<Value>,
		{ by = null, from = at, scrollback }: PastOptions,
	): Promise<Value> {
		sizeOf(session);
		const leave = this.#past.enter(by);
		const feeder = new ModelFeed(this.#thread, { session, ...(scrollback === undefined ? {} : { scrollback }) });
		try {
			const start = await startBefore(session, this.#checkpointsOf(session), from);
			await feeder.open(start);
			await withDeadline(PAST_MS, [signal], async (over) => {
				for await (const item of itemsBetween(session, start, at, over)) await feeder.take(item);
				if (over.aborted) throw tooFar(signal);
			});
			await feeder.drain();
			return await act(feeder);
		} catch (error) {
			throw error instanceof EmulatorThreadEnded ? lost() : error;
		} finally {
			leave();
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

/** Waits briefly for the end of synchronized output. */
async function settled(follower: CurrentScreen, signal: AbortSignal): Promise<Screen> {
	const deadline = performance.now() + SYNCHRONIZED_MS;
	for (;;) {
		const screen = await follower.ask((feeder) => feeder.view(), signal);
		const left = deadline - performance.now();
		if (!screen.isSynchronizing || left <= 0 || signal.aborted) return screen;
		await follower.progress(left, signal);
	}
}

function tooFar(asked: AbortSignal): SessionError {
	if (asked.aborted) return new SessionError("node_unavailable", "the screen was not read: the request was canceled");
	return new SessionError(
		"limit_exceeded",
		`rendering the output before this position takes too long (limit ${PAST_MS} ms)`,
	);
}

function lost(): SessionError {
	return new SessionError("node_unavailable", "the screen renderer has ended", { hint: "try again" });
}
