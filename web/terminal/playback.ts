/** A session's recording on a terminal of the page: what it showed at any moment, played at any speed. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { KnownSession } from "hawser/client";
import { Emulator } from "./emulator.ts";
import { grow } from "./growth.ts";
import { AT_THE_BEGINNING, advance, type Place, type Playing, seek, type TimeLine } from "./player.ts";
import { idleStretches, MOST_BYTES, momentOfOffset, type RecordedEvent, RecordingParser } from "./recording.ts";

export type PlaybackState = Playing &
	TimeLine & {
		/** All of it is here, as far as it was written when it was opened. */
		readonly isLoaded: boolean;
		/** Only the newest part: there is more than a page can hold. */
		readonly isCut: boolean;
		/** There is more by now, which is not here. */
		readonly isBehind: boolean;
		/** What it was opened at is older than all that is here. */
		readonly isPlaceGone: boolean;
		/** What its program calls itself at this moment. */
		readonly title: string;
		/** Another array with what arrives, so that pictures of it are made anew. */
		readonly events: readonly RecordedEvent[];
	};

type PlaybackOptions = {
	readonly session: KnownSession;
	readonly fontSize: number;
	/** Where to begin; paused, if it is given. */
	readonly place: Place | undefined;
};

/** What comes within this time is added together. */
const GATHER_MS = 100;
/** How often a session that writes nothing gets longer. */
const TICK_MS = 1_000;
/** Written in one go, in UTF-16 units, so that the page answers meanwhile. */
const PIECE_LENGTH = 64 * 1024;
/** A screen that is larger than its place is drawn as small as this and no smaller, for nobody could read it: then it scrolls. In CSS pixels, as is the step. */
const SMALLEST_FONT_PX = 8;
const FONT_STEP_PX = 0.5;

export class Playback {
	readonly emulator: Emulator;
	readonly #options: PlaybackOptions;
	readonly #state = signal<PlaybackState>({
		...AT_THE_BEGINNING,
		isLoaded: false,
		isCut: false,
		isBehind: false,
		isPlaceGone: false,
		isGrowing: false,
		title: "",
		durationMs: 0,
		events: [],
		idle: [],
	});
	readonly #stopped = new AbortController();
	readonly #placed = new ResizeObserver(() => this.#fit());
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
		this.#placed.observe(parent);
		this.emulator.xterm.onResize(() => this.#fit());
		this.emulator.xterm.onTitleChange((title) => this.#change({ title }));
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
		this.#placed.disconnect();
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
		const oldest = isCut ? offsets.end - MOST_BYTES : offsets.oldest;
		const part = isCut ? { from: oldest } : {};
		for await (const bytes of session.recording({ ...part, to: offsets.end, signal: this.#stopped.signal })) {
			for (const event of parser.add(bytes)) events.push(event);
		}
		// The times of a part begin with its first event; its last was written when the session was active last.
		const shift = !isCut ? 0 : Math.max(0, (activeAt ?? createdAt) - createdAt - (events.at(-1)?.at ?? 0));
		for (const [index, event] of events.entries()) events[index] = { ...event, at: event.at + shift };
		const oldestAt = events.find(({ kind }) => kind === "output")?.at ?? 0;
		const lastAt = events.at(-1)?.at ?? 0;
		const durationMs = Math.max(lastAt, (endedAt ?? Date.now()) - createdAt);
		this.#first = parser.header ?? this.#first;
		this.#change({
			isLoaded: true,
			isCut,
			isGrowing: endedAt === null,
			durationMs,
			events,
			idle: idleStretches(events, durationMs),
			isPlaying: place === undefined,
		});
		if (endedAt === null) void this.#grow(offsets.end, durationMs);
		await this.#reset();
		if (place === undefined) {
			this.goTo(0);
			this.#schedule();
			return;
		}
		const isOffset = "offset" in place;
		const moment = isOffset ? momentOfOffset(events, place.offset, oldest) : place.time - createdAt;
		const isPlaceGone = oldest > 0 && (isOffset ? place.offset < oldest : moment < oldestAt);
		this.#change({ isPlaceGone });
		this.goTo(isPlaceGone ? oldestAt : moment);
	}

	/** With what the session writes from now on, until it ends or this page can't keep up. */
	async #grow(from: number, durationMs: number): Promise<void> {
		const begun = performance.now();
		const { signal: stopped } = this.#stopped;
		let come: RecordedEvent[] = [];
		let gathering: ReturnType<typeof setTimeout> | undefined;
		const add = () => {
			clearTimeout(gathering);
			gathering = undefined;
			const events = come.length === 0 ? this.#state.value.events : [...this.#state.value.events, ...come];
			come = [];
			const longer = durationMs + performance.now() - begun;
			this.#change({ events, durationMs: longer, idle: idleStretches(events, longer) });
		};
		const ticking = setInterval(add, TICK_MS);
		const onEvent = (event: RecordedEvent) => {
			come.push(event);
			gathering ??= setTimeout(add, GATHER_MS);
		};
		try {
			const end = await grow(this.#options.session, { from, durationMs, signal: stopped, onEvent });
			this.#change({ isBehind: end === "behind" });
		} catch {
			// It was left, or is not ours to see any more: what is here stays.
			this.#change({ isBehind: true });
		} finally {
			clearInterval(ticking);
			add();
			this.#change({ isGrowing: false });
		}
	}

	/** The whole screen is seen: it has the session's size, whatever room there is. */
	#fit(): void {
		const { xterm } = this.emulator;
		for (let size = this.#options.fontSize; size >= SMALLEST_FONT_PX; size -= FONT_STEP_PX) {
			xterm.options.fontSize = size;
			const { room } = this.emulator;
			if (!room || (room.cols >= xterm.cols && room.rows >= xterm.rows)) return;
		}
	}

	#schedule(): void {
		cancelAnimationFrame(this.#frame);
		this.#lastFrameAt = performance.now();
		const step = () => {
			const now = performance.now();
			const { position, isPlaying } = this.#state.value;
			const next = advance(this.#state.value, now - this.#lastFrameAt, this.#state.value);
			// Whoever waits at the end for more draws nothing anew.
			if (next.position !== position || next.isPlaying !== isPlaying) this.#change(next);
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
