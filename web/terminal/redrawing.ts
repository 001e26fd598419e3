/** When a terminal begins anew with the session's screen: some time after output was skipped, and again until it has it. */

/** How long to wait after a piece of output was skipped, in milliseconds: a flood skips more. */
const FIRST_PAUSE_MS = 500;
/** Each attempt in vain doubles that, but no further: output is held up while a server looks for the screen. */
const LONGEST_PAUSE_MS = 8_000;
/** After so many in vain what is there stays, until more is skipped: there are programs whose screen is never to be had. */
const MOST_ATTEMPTS = 10;

export class Redrawing {
	readonly #redraw: () => void;
	/** Whether what is shown is not all of the screen; so it is at first. */
	#isDue = true;
	/** How many were in vain. */
	#attempts = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(redraw: () => void) {
		this.#redraw = redraw;
	}

	/** A part of the output will not come. */
	skipped(): void {
		this.#isDue = true;
		// It is given up no more, and not hurried either: a flood has kept us from the screen before.
		this.#attempts = Math.min(this.#attempts, MOST_ATTEMPTS / 2);
		this.#plan();
	}

	/** A connection has begun, perhaps with the screen; or there is none any more. */
	mayBeInVain(): void {
		if (this.#isDue && this.#attempts < MOST_ATTEMPTS) this.#plan();
	}

	drawn(): void {
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
