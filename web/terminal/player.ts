/** Where a playback stands, and how it moves: pure, so that time is whatever the caller says. */

import type { Stretch } from "./recording.ts";

export const SPEEDS = [0.5, 1, 2, 4] as const;
export type Speed = (typeof SPEEDS)[number];

export type Playing = {
	/** Milliseconds since the session began. */
	readonly position: number;
	readonly isPlaying: boolean;
	readonly speed: Speed;
	readonly skipsIdle: boolean;
};

export const AT_THE_BEGINNING: Playing = { position: 0, isPlaying: false, speed: 1, skipsIdle: true };

/** How much of a pause is left when it is skipped: what comes next should not come as a surprise, in milliseconds. */
const LEAD_MS = 300;

/** What is played. */
export type TimeLine = {
	readonly durationMs: number;
	readonly idle: readonly Stretch[];
	/** Whether it still gets longer: then a playback that has come to its end waits there for more. */
	readonly isGrowing: boolean;
};

/** After so many milliseconds of real time. The time line is real: an idle stretch is jumped over, never shortened. */
export function advance(playing: Playing, elapsedMs: number, { durationMs, idle, isGrowing }: TimeLine): Playing {
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

export function seek(playing: Playing, position: number, durationMs: number): Playing {
	return { ...playing, position: Math.max(0, Math.min(position, durationMs)) };
}

/** Slower by one step, or faster. */
export function withSpeed(playing: Playing, direction: -1 | 1): Playing {
	const at = SPEEDS.indexOf(playing.speed) + direction;
	return { ...playing, speed: SPEEDS[Math.max(0, Math.min(at, SPEEDS.length - 1))] ?? 1 };
}

/** The nearest of some moments before a position, or after it. */
export function neighbour(moments: readonly number[], position: number, direction: -1 | 1): number | undefined {
	// Right after a jump to one, the one before it is meant.
	if (direction < 0) return moments.findLast((moment) => moment < position - LEAD_MS);
	return moments.find((moment) => moment > position + 1);
}

/** `2:09`, or `1:02:09` from an hour on. */
export function clockOf(milliseconds: number): string {
	const seconds = Math.floor(milliseconds / 1000);
	const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	const two = (number: number) => String(number).padStart(2, "0");
	return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** What a link to a moment says, as everywhere: a time as ISO 8601 has it, or an offset in the output. */
export type Place = { readonly time: number } | { readonly offset: number };

export function parsePlace(text: string): Place | undefined {
	if (/^\d+$/.test(text)) return { offset: Number(text) };
	const time = Date.parse(text);
	return Number.isNaN(time) ? undefined : { time };
}
