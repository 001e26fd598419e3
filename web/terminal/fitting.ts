/** How large a terminal is in its place: looked at when that changes, and told to the session once somebody means it. */

import type { Emulator, Size } from "./emulator.ts";

type FittingOptions = {
	/** The room for it is another. */
	readonly onRoom: (room: Size | undefined) => void;
	/** Tells the session how large it is wanted; none where its size is not ours to choose. */
	readonly tell: ((size: Size) => void) | undefined;
};

/** How long the window must have its size before it counts: a keyboard slides in, and windows are dragged. */
const FIT_MS = 120;

export class Fitting {
	readonly #parent: HTMLElement;
	readonly #emulator: Emulator;
	readonly #options: FittingOptions;
	readonly #observer: ResizeObserver;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isEngaged = false;
	#room: Size | undefined;
	#told: Size | undefined;

	constructor(parent: HTMLElement, emulator: Emulator, options: FittingOptions) {
		this.#parent = parent;
		this.#emulator = emulator;
		this.#options = options;
		this.#room = emulator.room;
		this.#observer = new ResizeObserver(() => {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(() => this.look(), FIT_MS);
		});
		this.#observer.observe(parent);
	}

	/** Whether somebody has typed, or asked for this size. */
	get isEngaged(): boolean {
		return this.#isEngaged;
	}

	/** Somebody means this session: from now on it may follow our size. */
	engage(): void {
		this.#isEngaged = true;
		this.#tell();
	}

	look(): void {
		this.#room = this.#emulator.room;
		this.#options.onRoom(this.#room);
		if (this.#isEngaged) this.#tell();
	}

	/** A session that is larger than its place is seen where its cursor is. */
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

	#tell(): void {
		const room = this.#room;
		if (!room || (room.cols === this.#told?.cols && room.rows === this.#told.rows)) return;
		this.#told = room;
		this.#options.tell?.(room);
	}
}
