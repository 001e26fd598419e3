/** Measures the size that fits, and sends it to the session once the user uses the terminal. */

import type { Emulator, Size } from "./emulator.ts";

type FittingOptions = {
	/** Called when the available size changes. */
	readonly onRoom: (room: Size | undefined) => void;
	/** Sends the wanted size to the session; undefined if this page must not resize it. */
	readonly sendSize: ((size: Size) => void) | undefined;
};

/** The window must keep its size for this long: keyboards slide in, and windows are dragged. */
const FIT_MS = 120;

export class TerminalFit {
	readonly #parent: HTMLElement;
	readonly #emulator: Emulator;
	readonly #options: FittingOptions;
	readonly #observer: ResizeObserver;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isEngaged = false;
	#isHeld = false;
	#room: Size | undefined;
	#sentSize: Size | undefined;

	constructor(parent: HTMLElement, emulator: Emulator, options: FittingOptions) {
		this.#parent = parent;
		this.#emulator = emulator;
		this.#options = options;
		this.#room = emulator.availableSize;
		this.#observer = new ResizeObserver(() => {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(() => this.measure(), FIT_MS);
		});
		this.#observer.observe(parent);
	}

	/** Whether the user has typed, or requested this size. */
	get isEngaged(): boolean {
		return this.#isEngaged;
	}

	/** The user uses this session: from now on it may follow our size. */
	activate(): void {
		this.#isEngaged = true;
		this.#send();
	}

	/** While held, the size stays as it is, and the element scrolls. */
	hold(isHeld: boolean): void {
		if (isHeld === this.#isHeld) return;
		this.#isHeld = isHeld;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.measure(), FIT_MS);
	}

	measure(): void {
		if (this.#isHeld) {
			// Dialogs are at the end.
			this.#parent.scrollTop = this.#parent.scrollHeight;
			return;
		}
		this.#room = this.#emulator.availableSize;
		this.#options.onRoom(this.#room);
		if (this.#isEngaged) this.#send();
		this.followCursor();
	}

	/** Scrolls a session larger than its element to the cursor. */
	followCursor(): void {
		const { xterm } = this.#emulator;
		if (this.#parent.scrollHeight <= this.#parent.clientHeight) return;
		const rowHeight = (xterm.element?.querySelector(".xterm-screen")?.clientHeight ?? 0) / xterm.rows;
		this.#parent.scrollTop = (xterm.buffer.active.cursorY + 2) * rowHeight - this.#parent.clientHeight;
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.#observer.disconnect();
	}

	#send(): void {
		const room = this.#room;
		if (!room || (room.cols === this.#sentSize?.cols && room.rows === this.#sentSize.rows)) return;
		this.#sentSize = room;
		this.#options.sendSize?.(room);
	}
}
