/**
 * Draws full-screen programs that nobody looks at, now and then, so that whoever comes sees them soon.
 *
 * They are drawn one after the other, and the thread rests in between for as long as it was busy: so they cost what they
 * write, whatever their number, and never more than half of one processor.
 */

import { Change } from "../core/change.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";
import { RunningTerminals } from "./running-terminals.ts";

/** For how long it rests, for each millisecond that it was busy. */
const REST = 1;
/** When a session is looked at again that could not be drawn, or that somebody looks at, in milliseconds. */
const AGAIN_MS = 5_000;

/** What draws them. */
export interface DrawnScreens {
	/** Draws what there is up to now, and says how far that was; undefined for one that somebody looks at, which is drawn anyway. */
	draw(session: Session, options: DrawOptions): Promise<number | undefined>;
}

export type DrawOptions = {
	readonly signal: AbortSignal;
	/** To be called after each piece of work. */
	readonly rest: () => Promise<void>;
};

type BackgroundDrawingOptions = {
	readonly sessions: Sessions;
	readonly screens: DrawnScreens;
	readonly clock: Clock;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
};

export class BackgroundDrawing {
	readonly #options: BackgroundDrawingOptions;
	readonly #terminals: RunningTerminals;
	/** Whatever is drawn now, and all that waits for its turn. */
	#turns: Promise<unknown> = Promise.resolve();

	constructor(options: BackgroundDrawingOptions) {
		this.#options = options;
		const { sessions, report } = options;
		this.#terminals = new RunningTerminals({ sessions, report, attend: (...given) => this.#attend(...given) });
	}

	close(): void {
		this.#terminals.close();
	}

	async #attend(session: Session, signal: AbortSignal): Promise<void> {
		let drawnTo = 0;
		while (await session.untilMuchDrawn(drawnTo, signal)) {
			const drawn = await this.#draw(session, signal);
			if (drawn === undefined) await this.#pause(AGAIN_MS, signal);
			else drawnTo = drawn;
		}
	}

	/** In its turn. What is not to be had now may be later. */
	async #draw(session: Session, signal: AbortSignal): Promise<number | undefined> {
		const turn = this.#turns.then(() => {
			let began = this.#options.clock.monotonic();
			const rest = async () => {
				await this.#pause(REST * (this.#options.clock.monotonic() - began), signal);
				began = this.#options.clock.monotonic();
			};
			return this.#options.screens.draw(session, { signal, rest });
		});
		this.#turns = turn.catch(() => {});
		return turn.catch((error: unknown) => {
			if (!(error instanceof SessionError) || error.code !== "node_unavailable") throw error;
			return undefined;
		});
	}

	async #pause(ms: number, signal: AbortSignal): Promise<void> {
		const over = new Change();
		const cancel = this.#options.clock.after(ms, () => over.happen());
		await over.next(signal);
		cancel();
	}
}
