/** The position of a playback, and how it advances. Pure: the caller provides the time. */

import type { IdleRange } from "./recording.ts";

export const SPEEDS = [0.5, 1, 2, 4] as const;
export type Speed = (typeof SPEEDS)[number];

export type PlaybackPosition = {
	/** Milliseconds since the start of the session. */
	readonly position: number;
	readonly isPlaying: boolean;
	readonly speed: Speed;
	readonly skipsIdle: boolean;
};

export const initialPlayback: PlaybackPosition = { position: 0, isPlaying: false, speed: 1, skipsIdle: true };

/** Milliseconds of a skipped pause that remain, so that the next output does not come as a surprise. */
const LEAD_MS = 300;

/** The recording that is played. */
export type Timeline = {
	readonly durationMs: number;
	readonly idle: readonly IdleRange[];
	/** Whether it still grows. A playback at its end then waits for more. */
	readonly isGrowing: boolean;
};

/** The position after this much real time. The timeline is real: idle ranges are jumped over, not shortened. */
export function advance(
	playing: PlaybackPosition,
	elapsedMs: number,
	{ durationMs, idle, isGrowing }: Timeline,
): PlaybackPosition {
	if (!playing.isPlaying) return playing;
	let position = playing.position;
	let left = elapsedMs * playing.speed;
	while (left > 0 && position < durationMs) {
		const stretch = playing.skipsIdle
			? idle.find(({ from, to }) => position < to - LEAD_MS && position + left > from)
			: undefined;
		if (!stretch) {
			position += left;
			break;
		}
		left -= Math.max(0, stretch.from + LEAD_MS - position);
		if (left <= 0) {
			position = stretch.from + LEAD_MS + left;
			break;
		}
		position = stretch.to - LEAD_MS;
	}
	const isOver = position >= durationMs && !isGrowing;
	return { ...playing, position: Math.min(position, durationMs), isPlaying: !isOver };
}

export function seek(playing: PlaybackPosition, position: number, durationMs: number): PlaybackPosition {
	return { ...playing, position: Math.max(0, Math.min(position, durationMs)) };
}

/** One speed step slower or faster. */
export function withSpeed(playing: PlaybackPosition, direction: -1 | 1): PlaybackPosition {
	const at = SPEEDS.indexOf(playing.speed) + direction;
	return { ...playing, speed: SPEEDS[Math.max(0, Math.min(at, SPEEDS.length - 1))] ?? 1 };
}

/** The nearest moment before or after a position. */
export function nearestMoment(moments: readonly number[], position: number, direction: -1 | 1): number | undefined {
	// Shortly after a jump to a moment, "previous" means the one before it.
	if (direction < 0) return moments.findLast((moment) => moment < position - LEAD_MS);
	return moments.find((moment) => moment > position + 1);
}

/** `2:09`, or `1:02:09` from one hour on. */
export function formatClock(milliseconds: number): string {
	const seconds = Math.floor(milliseconds / 1000);
	const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	const two = (number: number) => String(number).padStart(2, "0");
	return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** The target of a playback link: an ISO 8601 time, or an output offset. */
export type PlaybackTarget = { readonly time: number } | { readonly offset: number };

export function parsePlace(text: string): PlaybackTarget | undefined {
	if (/^\d+$/.test(text)) return { offset: Number(text) };
	const time = Date.parse(text);
	return Number.isNaN(time) ? undefined : { time };
}
