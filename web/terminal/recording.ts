/** Parses a recording (asciicast version 2) as it arrives, and analyzes its timing. */

export type RecordedEvent =
	/** Milliseconds since the start of the session. */
	| { readonly at: number; readonly kind: "output"; readonly text: string }
	| { readonly at: number; readonly kind: "resized"; readonly cols: number; readonly rows: number }
	/** Output before this byte is no longer available. */
	| { readonly at: number; readonly kind: "gap"; readonly to: number };

/**
 * Bytes of output in a playback, newest first. With more, seeking would be slow.
 * @limit output of a playback | %, and as much again that is written meanwhile | older output is left out, and the page says so
 */
export const MOST_BYTES = 16 * 1024 * 1024;

type RecordingHeader = { readonly cols: number; readonly rows: number };

/** Parses lines from chunks that may end anywhere. */
export class RecordingParser {
	readonly #decoder = new TextDecoder();
	#rest = "";
	#header: RecordingHeader | undefined;

	get header(): RecordingHeader | undefined {
		return this.#header;
	}

	/** The events completed by these bytes. */
	add(bytes: Uint8Array): RecordedEvent[] {
		const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
		this.#rest = lines.pop() ?? "";
		return lines.filter((line) => line !== "").flatMap((line) => this.#parse(JSON.parse(line)));
	}

	#parse(value: unknown): RecordedEvent[] {
		if (!Array.isArray(value)) {
			const { width, height } = value as { width: number; height: number };
			this.#header = { cols: width, rows: height };
			return [];
		}
		const [seconds, kind, data] = value as [number, string, string];
		const at = seconds * 1000;
		if (kind === "o") return [{ at, kind: "output", text: data }];
		if (kind === "m") {
			// Other markers are the starts of commands.
			const [, to] = /^bytes \d+ to (\d+) are gone /.exec(data) ?? [];
			return to === undefined ? [] : [{ at, kind: "gap", to: Number(to) }];
		}
		if (kind !== "r") return [];
		const [cols = 0, rows = 0] = data.split("x").map(Number);
		return [{ at, kind: "resized", cols, rows }];
	}
}

/** Output per interval in UTF-16 units, for `count` equal intervals. */
export function activityOf(events: readonly RecordedEvent[], durationMs: number, count: number): number[] {
	const parts = new Array<number>(count).fill(0);
	for (const event of events) {
		if (event.kind !== "output") continue;
		const part = Math.min(count - 1, Math.floor((event.at / Math.max(1, durationMs)) * count));
		parts[part] = (parts[part] ?? 0) + event.text.length;
	}
	return parts;
}

export type IdleRange = { readonly from: number; readonly to: number };

/** Longer pauses, in milliseconds, are idle and can be skipped. */
export const IDLE_MS = 2_000;

/** The ranges without output for longer than that. */
export function idleRanges(events: readonly RecordedEvent[], durationMs: number): IdleRange[] {
	const stretches: IdleRange[] = [];
	let last = 0;
	for (const { at } of [...events, { at: durationMs }]) {
		if (at - last > IDLE_MS) stretches.push({ from: last, to: at });
		last = at;
	}
	return stretches;
}

/**
 * The time at which this many bytes had been written. `first` is the offset of the first event. Exact if the output is
 * UTF-8 and complete.
 */
export function timeOfOffset(events: readonly RecordedEvent[], offset: number, first = 0): number {
	const encoder = new TextEncoder();
	let bytes = first;
	for (const event of events) {
		if (event.kind === "gap") bytes = Math.max(bytes, event.to);
		if (event.kind === "output") bytes += encoder.encode(event.text).byteLength;
		if (bytes > offset) return event.at;
	}
	return events.at(-1)?.at ?? 0;
}
