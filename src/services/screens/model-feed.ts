/** Feeds a session's log to one model in the thread, and tracks the model's position. */

import type { Event, Item, LogPosition } from "../../core/log/event.ts";
import type { Session } from "../../core/session/session.ts";
import { checkStyled, type Screen, type ScreenRow, type Snapshot } from "../../core/terminal/screen-view.ts";
import type { EmulatorThread } from "../../emulator/emulator-thread.ts";
import { SCROLLBACK_ROWS } from "../../emulator/requests.ts";
import type { Size } from "../../words/state.ts";
import type { Checkpoint } from "./checkpoints.ts";
import { shownSize, sizeOf } from "./screen-size.ts";
import type { FeederStart } from "./starting-point.ts";

/**
 * Bytes sent to the thread at a time. At most twice as many are in flight or queued.
 * @limit output on its way to a model | %, and as much again that is gathered | the model reads no further
 */
const FEED_BYTES = 64 * 1024;

/** Queued resizes. Programs usually redraw before there are more. */
const MAX_SIZES = 16;

type FeederOptions = {
	readonly session: Session;
	/** Rows of scrollback, if different from the default. */
	readonly scrollback?: number;
	/** Called when the model has processed more of the log. */
	readonly onProgress?: () => void;
};

export class ModelFeed {
	readonly #thread: EmulatorThread;
	readonly #model: number;
	#size: Size;
	#position: LogPosition = { seq: 1, offset: 0 };
	/** Position of the last event that changed the screen. The program's end does not, and is reported after it. */
	#drawn: LogPosition = this.#position;
	#time = 0;
	/** Sizes and bytes to send next, and the position after them. */
	#sizes: Size[] = [];
	#gathered: Uint8Array[] = [];
	#gatheredBytes = 0;
	#gatheredTo: LogPosition = this.#position;
	#feeding: Promise<void> | undefined;
	/** Requests to the model, sent between two pieces of output. */
	#asking: (() => Promise<void>)[] = [];
	/** The error that stopped the feed. */
	#failure: unknown;
	readonly #options: FeederOptions;

	constructor(thread: EmulatorThread, options: FeederOptions) {
		this.#thread = thread;
		this.#model = thread.newModel();
		this.#options = options;
		this.#size = sizeOf(options.session);
	}

	/** Position that the model has reached. */
	get position(): LogPosition {
		return this.#position;
	}

	/** Position after everything that was passed to `take`, whether or not the model has it. */
	get taken(): LogPosition {
		return this.#gatheredTo;
	}

	/** Size at that position. */
	get size(): Size {
		return this.#sizes.at(-1) ?? this.#size;
	}

	/** Starts at a position with the screen there, as far as known. */
	async open({ seq, offset, cols, rows, time, snapshot }: FeederStart): Promise<void> {
		this.#time = time ?? this.#time;
		await this.#open({ cols, rows }, { seq, offset }, snapshot);
	}

	/** Resolves when more can be taken, which may be before the model has this item. */
	async take(item: Item): Promise<void> {
		if (item.kind === "gap") {
			await this.drain();
			// The lost output may have changed anything, even the size. An empty screen is better than a wrong one.
			const size = sizeOf(this.#options.session);
			if (item.to > this.#position.offset) await this.#open(size, { seq: item.nextSeq, offset: item.to });
			this.#gatheredTo = { seq: item.nextSeq, offset: item.to };
			this.#reach(this.#gatheredTo);
			return;
		}
		this.#time = item.time;
		if (item.kind === "output") return this.#gather(item);
		if (item.kind === "resized") return this.#resize(item);
		await this.drain();
		this.#gatheredTo = { seq: item.seq + 1, offset: item.offset };
		this.#reach(this.#gatheredTo, false);
	}

	/** Resolves when the model has everything that was taken. */
	async drain(): Promise<void> {
		while (this.#feeding !== undefined) await this.#feeding;
		if (this.#failure) throw this.#failure;
	}

	view(): Promise<Screen> {
		return this.#between(async () => {
			const position = this.#position;
			return { ...position, ...(await this.#thread.ask(this.#model, "view", {})) };
		});
	}

	cells(): Promise<Screen & { readonly cells: readonly ScreenRow[] }> {
		return this.#between(async () => {
			checkStyled(this.#size);
			const position = this.#position;
			const asked = [this.#thread.ask(this.#model, "view", {}), this.#thread.ask(this.#model, "cells", {})] as const;
			const [view, cells] = await Promise.all(asked);
			return { ...position, ...view, cells };
		});
	}

	snapshot(scrollback: number): Promise<Snapshot> {
		return this.#between(async () => {
			const position = this.#drawn;
			const size = this.#size;
			const bytes = await this.#thread.ask(this.#model, "snapshot", { scrollback });
			return { ...position, ...size, bytes };
		});
	}

	/** The rows above the screen. */
	scrollback(): Promise<LogPosition & { readonly lines: readonly string[] }> {
		return this.#between(async () => {
			const position = this.#position;
			return { ...position, lines: await this.#thread.ask(this.#model, "scrollback", {}) };
		});
	}

	async checkpoint(scrollback: number): Promise<Checkpoint> {
		const time = this.#time;
		const { seq, offset, cols, rows, bytes } = await this.snapshot(scrollback);
		return { seq, offset, cols, rows, time, snapshot: bytes };
	}

	/** Closes the model without waiting. */
	close(): void {
		this.#thread.ask(this.#model, "close", {}).catch(() => {});
	}

	/** Sends a request while no output is in flight, so that the model's state matches `position`. */
	#between<Value>(ask: () => Promise<Value>): Promise<Value> {
		if (this.#feeding === undefined) return ask();
		return new Promise((resolve, reject) => {
			this.#asking.push(() => ask().then(resolve, reject));
		});
	}

	async #open(size: Size, position: LogPosition, snapshot?: Uint8Array): Promise<void> {
		this.#size = shownSize(size);
		this.#failure = undefined;
		this.#forgetGathered();
		const { scrollback = SCROLLBACK_ROWS } = this.#options;
		const opening = { size: this.#size, scrollback, ...(snapshot ? { snapshot } : {}) };
		const opened = this.#thread.ask(this.#model, "open", opening);
		this.#gatheredTo = position;
		this.#reach(position);
		await opened;
	}

	/** Drops middle ones of many resizes without output in between. The first few stay, since they may cut text off, and the last. */
	async #resize({ seq, offset, size }: Extract<Event, { kind: "resized" }>): Promise<void> {
		// Earlier output must be rendered at the old size.
		if (this.#gatheredBytes > 0) await this.drain();
		const shown = shownSize(size);
		if (this.#sizes.length === MAX_SIZES) this.#sizes.pop();
		this.#sizes.push(shown);
		this.#gatheredTo = { seq: seq + 1, offset };
		this.#feeding ??= this.#feed();
		if (this.#failure) throw this.#failure;
	}

	async #gather({ seq, offset, bytes }: Extract<Event, { kind: "output" }>): Promise<void> {
		this.#gathered.push(bytes);
		this.#gatheredBytes += bytes.byteLength;
		this.#gatheredTo = { seq: seq + 1, offset: offset + bytes.byteLength };
		this.#feeding ??= this.#feed();
		if (this.#gatheredBytes >= FEED_BYTES) await this.#feeding;
		if (this.#failure) throw this.#failure;
	}

	/** Sends until nothing is queued. The check and the reset happen in one turn, so that no bytes stay queued. */
	async #feed(): Promise<void> {
		try {
			while (this.#gatheredBytes > 0 || this.#sizes.length > 0) await this.#feedGathered();
		} catch (error) {
			this.#failure = error;
		}
		this.#feeding = undefined;
		for (const ask of this.#asking.splice(0)) void ask();
	}

	/** Sends pieces of a fixed size. The next ones are collected while the thread works. */
	async #feedGathered(): Promise<void> {
		const to = this.#gatheredTo;
		const whole = joined(this.#gathered, this.#gatheredBytes);
		const sizes = this.#sizes;
		this.#forgetGathered();
		const pieces = Array.from({ length: Math.ceil(whole.byteLength / FEED_BYTES) }, (_, index) =>
			whole.slice(index * FEED_BYTES, (index + 1) * FEED_BYTES),
		);
		for (const size of sizes) {
			this.#size = size;
			await this.#thread.ask(this.#model, "resize", { size });
		}
		// One piece at a time: the thread serves other sessions in between.
		for (const bytes of pieces) await this.#thread.ask(this.#model, "feed", { bytes }, [bytes.buffer]);
		this.#reach(to);
		await Promise.all(this.#asking.splice(0).map((ask) => ask()));
	}

	#forgetGathered(): void {
		this.#gathered = [];
		this.#gatheredBytes = 0;
		this.#sizes = [];
	}

	#reach(position: LogPosition, isDrawn = true): void {
		this.#position = position;
		if (isDrawn) this.#drawn = position;
		this.#options.onProgress?.();
	}
}

/** Allocates a new buffer because its memory is transferred. */
function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
	const whole = new Uint8Array(length);
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.byteLength;
	}
	return whole;
}
