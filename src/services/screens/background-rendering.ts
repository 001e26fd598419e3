/**
 * Renders full-screen programs in the background from time to time, so that their screens are available quickly.
 *
 * Sessions are rendered one after another, and the thread rests as long as it was busy. So the cost depends on their
 * output, not on their number, and stays below half of one CPU.
 */

import { Serial } from "../../async/serial.ts";
import { Change } from "../../core/async/change.ts";
import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { RunningTerminals } from "./running-terminals.ts";

/** Rest time per millisecond of work. */
const REST = 1;
/** Retry delay for a session that could not be rendered or is being rendered for a viewer, in milliseconds. */
const AGAIN_MS = 5_000;

/** Renders sessions for `BackgroundRendering`. */
export interface BackgroundRenderer {
	/** Renders the output up to now and returns its end; undefined for a session with a viewer, which is rendered anyway. */
	draw(session: Session, options: DrawOptions): Promise<number | undefined>;
}

export type DrawOptions = {
	readonly signal: AbortSignal;
	/** Must be called after each piece of work. */
	readonly rest: () => Promise<void>;
};

type BackgroundDrawingOptions = {
	readonly sessions: Sessions;
	readonly screens: BackgroundRenderer;
	readonly clock: Clock;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class BackgroundRendering {
	readonly #options: BackgroundDrawingOptions;
	readonly #terminals: RunningTerminals;
	/** Renders one session at a time. */
	readonly #turns = new Serial();

	constructor(options: BackgroundDrawingOptions) {
		this.#options = options;
		const { sessions, report, clock } = options;
		this.#terminals = new RunningTerminals({ sessions, report, clock, attend: (...given) => this.#attend(...given) });
	}

	close(): void {
		this.#terminals.close();
	}

	async #attend(session: Session, signal: AbortSignal): Promise<void> {
		let drawnTo = 0;
		while (await session.untilRedrawDue(drawnTo, signal)) {
			const drawn = await this.#draw(session, signal);
			if (drawn === undefined) await this.#pause(AGAIN_MS, signal);
			else drawnTo = drawn;
		}
	}

	/** Waits for its turn. A failure is retried later. */
	async #draw(session: Session, signal: AbortSignal): Promise<number | undefined> {
		const turn = this.#turns.run(() => {
			let began = this.#options.clock.monotonic();
			const rest = async () => {
				await this.#pause(REST * (this.#options.clock.monotonic() - began), signal);
				began = this.#options.clock.monotonic();
			};
			return this.#options.screens.draw(session, { signal, rest });
		});
		return turn.catch((error: unknown) => {
			if (!(error instanceof SessionError) || error.code !== "node_unavailable") throw error;
			return undefined;
		});
	}

	async #pause(ms: number, signal: AbortSignal): Promise<void> {
		const over = new Change();
		const cancel = this.#options.clock.after(ms, () => over.happen());
		await over.wait(signal);
		cancel();
	}
}
