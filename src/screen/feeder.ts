/** One model in the thread, and how far in a session's log it is: events go in, one after the other. */

import type { Event, Item, Mark, Size } from "../core/event.ts";
import { checkStyled, type Screen, type ScreenRow, type Snapshot } from "../core/screen.ts";
import type { Session } from "../core/session.ts";
import type { Checkpoint } from "./checkpoints.ts";
import { SCROLLBACK_ROWS } from "./model.ts";
import { shownSize, sizeOf } from "./size.ts";
import type { FeederStart } from "./start.ts";
import type { ScreenThread } from "./thread.ts";

/** How much goes to the thread at a time, in bytes, and is on its way or waits for that at most twice. */
const FEED_BYTES = 64 * 1024;

/** How many sizes wait for the thread: more than a program lets pass before it draws again. */
const MAX_SIZES = 16;

type FeederOptions = {
	readonly session: Session;
	/** How many rows of what scrolls away are kept, if that should be other than usual. */
	readonly scrollback?: number;
	/** Hears whenever the model has come further. */
	readonly onProgress?: () => void;
};

export class Feeder {
	readonly #thread: ScreenThread;
	readonly #model: number;
	#size: Size;
	#position: Mark = { seq: 1, offset: 0 };
	/** After the last event that drew something: what only ends the program changes no screen, and is told after it. */
	#drawn: Mark = this.#position;
	#time = 0;
	/** What goes to the thread next, after which other sizes, and where it ends. */
	#sizes: Size[] = [];
	#gathered: Uint8Array[] = [];
	#gatheredBytes = 0;
	#gatheredTo: Mark = this.#position;
	#feeding: Promise<void> | undefined;
	/** Those who ask the model between two pieces. */
	#asking: (() => Promise<void>)[] = [];
	/** Why it goes no further, if so. */
	#failure: unknown;
	readonly #options: FeederOptions;

	constructor(thread: ScreenThread, options: FeederOptions) {
		this.#thread = thread;
		this.#model = thread.newModel();
		this.#options = options;
		this.#size = sizeOf(options.session);
	}

	/** After which event and byte the model is. */
	get position(): Mark {
		return this.#position;
	}

	/** After all that was given to it, if the model has it or not. */
	get taken(): Mark {
		return this.#gatheredTo;
	}

	/** The same. */
	get size(): Size {
		return this.#sizes.at(-1) ?? this.#size;
	}

	/** Begins at a place with what was shown there, as far as that is known. */
	async open({ seq, offset, cols, rows, time, snapshot }: FeederStart): Promise<void> {
		this.#time = time ?? this.#time;
		await this.#open({ cols, rows }, { seq, offset }, snapshot);
	}

	/** Resolves when there is room for more, not when the model has it. */
	async take(item: Item): Promise<void> {
		if (item.kind === "gap") {
			await this.drain();
			// What was lost may have been anything, another size too: better an empty screen than a wrong one.
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
	scrollback(): Promise<Mark & { readonly lines: readonly string[] }> {
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

	/** Nobody waits for that. */
	close(): void {
		this.#thread.ask(this.#model, "close", {}).catch(() => {});
	}

	/** Asks when no output is on its way: what the model has then is what we say that it has. The question is sent in that turn. */
	#between<Value>(ask: () => Promise<Value>): Promise<Value> {
		if (this.#feeding === undefined) return ask();
		return new Promise((resolve, reject) => {
			this.#asking.push(() => ask().then(resolve, reject));
		});
	}

	async #open(size: Size, position: Mark, snapshot?: Uint8Array): Promise<void> {
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

	/** Of many with nothing drawn in between, the first few count, which may have cut off something, and the last. */
	async #resize({ seq, offset, size }: Extract<Event, { kind: "resized" }>): Promise<void> {
		// What was written before it is drawn before it.
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

	/** Until nothing is left, which is found and said in one turn, so that nothing is gathered that nobody sends. */
	async #feed(): Promise<void> {
		try {
			while (this.#gatheredBytes > 0 || this.#sizes.length > 0) await this.#feedGathered();
		} catch (error) {
			this.#failure = error;
		}
		this.#feeding = undefined;
		for (const ask of this.#asking.splice(0)) void ask();
	}

	/** In pieces of a good size: the next are gathered while the thread has one. */
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
		// One after the other: a thread that is at one session's output for long is at nobody else's.
		for (const bytes of pieces) await this.#thread.ask(this.#model, "feed", { bytes }, [bytes.buffer]);
		this.#reach(to);
		await Promise.all(this.#asking.splice(0).map((ask) => ask()));
	}

	#forgetGathered(): void {
		this.#gathered = [];
		this.#gatheredBytes = 0;
		this.#sizes = [];
	}

	#reach(position: Mark, isDrawn = true): void {
		this.#position = position;
		if (isDrawn) this.#drawn = position;
		this.#options.onProgress?.();
	}
}

/** In memory of its own, because it is given away. */
function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
	const whole = new Uint8Array(length);
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.byteLength;
	}
	return whole;
}
