/** A session's recording on a terminal of the page: what it showed at any moment, played at any speed. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { KnownSession } from "hawser/client";
import { Emulator } from "./emulator.ts";
import { AT_THE_BEGINNING, advance, type Place, type Playing, seek } from "./player.ts";
import { idleStretches, momentOfOffset, type RecordedEvent, RecordingParser, type Stretch } from "./recording.ts";

export type PlaybackState = Playing & {
	/** All of it is here, as far as it was written when it was opened. */
	readonly isLoaded: boolean;
	/** Only the newest part: there is more than a page can hold. */
	readonly isCut: boolean;
	readonly durationMs: number;
	/** Grows with what arrives, so that pictures of it are made anew. */
	readonly events: readonly RecordedEvent[];
	readonly idle: readonly Stretch[];
};

export type PlaybackOptions = {
	readonly session: KnownSession;
	readonly fontSize: number;
	/** Where to begin; paused, if it is given. */
	readonly place: Place | undefined;
};

/** How much of the output is loaded, in bytes: the newest. A page with more would be slow to go anywhere in it. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Written in one go, in UTF-16 units, so that the page answers meanwhile. */
const PIECE_LENGTH = 64 * 1024;

export class Playback {
	readonly emulator: Emulator;
	readonly #options: PlaybackOptions;
	readonly #state = signal<PlaybackState>({
		...AT_THE_BEGINNING,
		isLoaded: false,
		isCut: false,
		durationMs: 0,
		events: [],
		idle: [],
	});
	readonly #stopped = new AbortController();
	#first: { readonly cols: number; readonly rows: number };
	/** The next event that is not drawn. */
	#drawn = 0;
	#turn: Promise<void> = Promise.resolve();
	#frame = 0;
	#lastFrameAt = 0;

	constructor(parent: HTMLElement, options: PlaybackOptions) {
		this.#options = options;
		const { snapshot } = options.session;
		this.#first = snapshot.size;
		this.emulator = new Emulator(parent, {
			size: snapshot.size,
			fontSize: options.fontSize,
			isForReaders: false,
			// What went to pipes is recorded as a terminal would have got it.
			hasBareNewlines: false,
		});
		this.emulator.xterm.options.disableStdin = true;
		void this.#load().catch(() => this.#change({ isLoaded: true }));
	}

	get state(): ReadonlySignal<PlaybackState> {
		return this.#state;
	}

	/** Begins or stops; at the end it begins again. */
	toggle(): void {
		const { isPlaying, position, durationMs } = this.#state.value;
		if (!isPlaying && position >= durationMs) this.goTo(0);
		this.change({ isPlaying: !isPlaying });
	}

	change(change: Partial<Pick<Playing, "isPlaying" | "speed" | "skipsIdle">>): void {
		this.#change(change);
		if (this.#state.value.isPlaying) this.#schedule();
	}

	goTo(position: number): void {
		this.#change(seek(this.#state.value, position, this.#state.value.durationMs));
		this.#draw();
	}

	dispose(): void {
		this.#stopped.abort();
		cancelAnimationFrame(this.#frame);
		this.emulator.dispose();
	}

	/** Resolves when what is to be seen now is drawn. */
	settled(): Promise<void> {
		return this.#turn;
	}

	async #load(): Promise<void> {
		const { session, place } = this.#options;
		const { offsets, createdAt, endedAt, activeAt } = await session.info();
		const isCut = offsets.end - offsets.oldest > MOST_BYTES;
		const parser = new RecordingParser();
		const events: RecordedEvent[] = [];
		const part = isCut ? { from: offsets.end - MOST_BYTES, to: offsets.end } : { to: offsets.end };
		for await (const bytes of session.recording({ ...part, signal: this.#stopped.signal })) {
			for (const event of parser.add(bytes)) events.push(event);
		}
		// The times of a part begin with its first event; its last was written when the session was active last.
		const shift = !isCut ? 0 : Math.max(0, (activeAt ?? createdAt) - createdAt - (events.at(-1)?.at ?? 0));
		for (const [index, event] of events.entries()) events[index] = { ...event, at: event.at + shift };
		const lastAt = events.at(-1)?.at ?? 0;
		const durationMs =
			endedAt === null ? Math.max(lastAt, Date.now() - createdAt) : Math.max(lastAt, endedAt - createdAt);
		this.#first = parser.header ?? this.#first;
		this.#change({
			isLoaded: true,
			isCut,
			durationMs,
			events,
			idle: idleStretches(events, durationMs),
			isPlaying: place === undefined,
		});
		await this.#reset();
		this.goTo(
			place === undefined ? 0 : "time" in place ? place.time - createdAt : momentOfOffset(events, place.offset),
		);
		if (place === undefined) this.#schedule();
	}

	#schedule(): void {
		cancelAnimationFrame(this.#frame);
		this.#lastFrameAt = performance.now();
		const step = () => {
			const now = performance.now();
			const { durationMs, idle } = this.#state.value;
			this.#change(advance(this.#state.value, now - this.#lastFrameAt, durationMs, idle));
			this.#lastFrameAt = now;
			this.#draw();
			if (this.#state.value.isPlaying) this.#frame = requestAnimationFrame(step);
		};
		this.#frame = requestAnimationFrame(step);
	}

	/** One at a time, and always towards where it stands by then. */
	#draw(): void {
		this.#turn = this.#turn.then(() => this.#drawUpTo()).catch(() => {});
	}

	async #drawUpTo(): Promise<void> {
		const { events, position } = this.#state.value;
		const target = countUpTo(events, position);
		if (target < this.#drawn) await this.#reset();
		let text = "";
		const flush = async () => {
			if (text !== "") await this.emulator.write(text);
			text = "";
		};
		while (this.#drawn < target && !this.#stopped.signal.aborted) {
			const event = events[this.#drawn++];
			if (event?.kind === "output") text += event.text;
			if (event?.kind === "resized") {
				await flush();
				await this.emulator.resize(event);
			}
			if (text.length >= PIECE_LENGTH) await flush();
		}
		await flush();
		await this.emulator.settled();
	}

	async #reset(): Promise<void> {
		await this.emulator.settled();
		this.emulator.xterm.reset();
		await this.emulator.resize(this.#first);
		this.#drawn = 0;
	}

	#change(change: Partial<PlaybackState>): void {
		this.#state.value = { ...this.#state.value, ...change };
	}
}

/** How many events there are up to a moment. */
function countUpTo(events: readonly RecordedEvent[], moment: number): number {
	let [low, high] = [0, events.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((events[middle]?.at ?? 0) <= moment) low = middle + 1;
		else high = middle;
	}
	return low;
}
