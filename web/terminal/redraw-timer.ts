/**
 * Schedules reconnects that start with the session's screen: some time after output was skipped, repeated until it
 * succeeds.
 */

/** Delay after skipped output, in milliseconds; a flood skips more. */
const FIRST_PAUSE_MS = 500;
/** Maximum delay. Each failed attempt doubles it, because output stops while the server renders the screen. */
const LONGEST_PAUSE_MS = 8_000;
/** After this many failures it gives up until more output is skipped. Some programs have no screen. */
const MOST_ATTEMPTS = 10;

export class RedrawTimer {
	readonly #redraw: () => void;
	/** Whether the displayed screen is incomplete, as it is at first. */
	#isDue = true;
	/** Number of failed attempts. */
	#attempts = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(redraw: () => void) {
		this.#redraw = redraw;
	}

	/** Called when a part of the output was skipped. */
	onSkipped(): void {
		this.#isDue = true;
		// Tries again after giving up, but not faster: a flood may have caused the failures.
		this.#attempts = Math.min(this.#attempts, MOST_ATTEMPTS / 2);
		this.#plan();
	}

	/** Called when a connection starts, perhaps with the screen, or ends for good. */
	retryIfNeeded(): void {
		if (this.#isDue && this.#attempts < MOST_ATTEMPTS) this.#plan();
	}

	onDrawn(): void {
		this.#isDue = false;
		this.#attempts = 0;
		clearTimeout(this.#timer);
	}

	stop(): void {
		clearTimeout(this.#timer);
	}

	#plan(): void {
		clearTimeout(this.#timer);
		const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#attempts);
		this.#timer = setTimeout(() => {
			this.#attempts++;
			this.#redraw();
		}, pauseMs);
	}
}
