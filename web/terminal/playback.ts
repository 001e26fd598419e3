/** Plays a session's recording in a terminal, from any moment, at any speed. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type LoadedSession, offsetsOf } from "hawser/client";
import { Emulator } from "./emulator.ts";
import { followRecording } from "./live-recording.ts";
import {
	advance,
	initialPlayback,
	type PlaybackPosition,
	type PlaybackTarget,
	seek,
	type Timeline,
} from "./playback-clock.ts";
import { idleRanges, MOST_BYTES, type RecordedEvent, RecordingParser, timeOfOffset } from "./recording.ts";

export type PlaybackState = PlaybackPosition &
	Timeline & {
		/** Whether all output up to the opening of the page is loaded. */
		readonly isLoaded: boolean;
		/** Whether only the newest part is loaded, because the rest is too large. */
		readonly isCut: boolean;
		/** Whether there is newer output that is not loaded. */
		readonly isBehind: boolean;
		/** Whether the requested position is older than everything loaded. */
		readonly isPlaceGone: boolean;
		/** The program's title at this moment. */
		readonly title: string;
		/** A new array when events arrive, so that views update. */
		readonly events: readonly RecordedEvent[];
	};

type PlaybackOptions = {
	readonly session: LoadedSession;
	readonly fontSize: number;
	/** Start position. The playback is paused if it is given. */
	readonly place: PlaybackTarget | undefined;
};

/** Events within this time are added together. */
const GATHER_MS = 100;
/** How often the duration of a silent session is updated. */
const TICK_MS = 1_000;
/** UTF-16 units per write, so that the page stays responsive. */
const PIECE_LENGTH = 64 * 1024;
/** Smallest font for a screen that does not fit; below that it scrolls. In CSS pixels, like the step. */
const SMALLEST_FONT_PX = 8;
const FONT_STEP_PX = 0.5;

export class Playback {
	readonly emulator: Emulator;
	readonly #options: PlaybackOptions;
	readonly #state = signal<PlaybackState>({
		...initialPlayback,
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
	/** Index of the next event to write. */
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
			screenReaderMode: false,
			// Recordings contain pipe output as a terminal would receive it.
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

	/** Plays or pauses; at the end it starts over. */
	toggle(): void {
		const { isPlaying, position, durationMs } = this.#state.value;
		if (!isPlaying && position >= durationMs) this.goTo(0);
		this.change({ isPlaying: !isPlaying });
	}

	change(change: Partial<Pick<PlaybackPosition, "isPlaying" | "speed" | "skipsIdle">>): void {
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

	/** Resolves when the current moment is rendered. */
	settled(): Promise<void> {
		return this.#turn;
	}

	async #load(): Promise<void> {
		const { session, place } = this.#options;
		const info = await session.info();
		const { createdAt, endedAt, activeAt } = info;
		const offsets = offsetsOf(info);
		const isCut = offsets.end - offsets.oldest > MOST_BYTES;
		const parser = new RecordingParser();
		const events: RecordedEvent[] = [];
		const oldest = isCut ? offsets.end - MOST_BYTES : offsets.oldest;
		const part = isCut ? { from: oldest } : {};
		for await (const bytes of session.recording({ ...part, to: offsets.end, signal: this.#stopped.signal })) {
			for (const event of parser.add(bytes)) events.push(event);
		}
		// Times of a part start at its first event. Its last event was written when the session was last active.
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
			idle: idleRanges(events, durationMs),
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
		const moment = isOffset ? timeOfOffset(events, place.offset, oldest) : place.time - createdAt;
		const isPlaceGone = oldest > 0 && (isOffset ? place.offset < oldest : moment < oldestAt);
		this.#change({ isPlaceGone });
		this.goTo(isPlaceGone ? oldestAt : moment);
	}

	/** Appends live output, until the session ends or this page can't keep up. */
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
			this.#change({ events, durationMs: longer, idle: idleRanges(events, longer) });
		};
		const ticking = setInterval(add, TICK_MS);
		const onEvent = (event: RecordedEvent) => {
			come.push(event);
			gathering ??= setTimeout(add, GATHER_MS);
		};
		try {
			const end = await followRecording(this.#options.session, { from, durationMs, signal: stopped, onEvent });
			this.#change({ isBehind: end === "behind" });
		} catch {
			// The page was left, or the session is no longer accessible. Keep what is loaded.
			this.#change({ isBehind: true });
		} finally {
			clearInterval(ticking);
			add();
			this.#change({ isGrowing: false });
		}
	}

	/** Shows the whole screen in the session's size, whatever space there is. */
	#fit(): void {
		const { xterm } = this.emulator;
		for (let size = this.#options.fontSize; size >= SMALLEST_FONT_PX; size -= FONT_STEP_PX) {
			xterm.options.fontSize = size;
			const { availableSize } = this.emulator;
			if (!availableSize || (availableSize.cols >= xterm.cols && availableSize.rows >= xterm.rows)) return;
		}
	}

	#schedule(): void {
		cancelAnimationFrame(this.#frame);
		this.#lastFrameAt = performance.now();
		const step = () => {
			const now = performance.now();
			const { position, isPlaying } = this.#state.value;
			const next = advance(this.#state.value, now - this.#lastFrameAt, this.#state.value);
			// A playback that waits at the end needs no update.
			if (next.position !== position || next.isPlaying !== isPlaying) this.#change(next);
			this.#lastFrameAt = now;
			this.#draw();
			if (this.#state.value.isPlaying) this.#frame = requestAnimationFrame(step);
		};
		this.#frame = requestAnimationFrame(step);
	}

	/** One run at a time, always towards the current position. */
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
		await this.emulator.drained();
	}

	async #reset(): Promise<void> {
		await this.emulator.drained();
		this.emulator.xterm.reset();
		await this.emulator.resize(this.#first);
		this.#drawn = 0;
	}

	#change(change: Partial<PlaybackState>): void {
		this.#state.value = { ...this.#state.value, ...change };
	}
}

/** Number of events up to a moment. */
function countUpTo(events: readonly RecordedEvent[], moment: number): number {
	let [low, high] = [0, events.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((events[middle]?.at ?? 0) <= moment) low = middle + 1;
		else high = middle;
	}
	return low;
}
