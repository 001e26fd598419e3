/** A session's recording (asciicast, version 2) as it arrives, piece by piece, and what can be told from its times. */

export type RecordedEvent =
	/** Milliseconds since the session began. */
	| { readonly at: number; readonly kind: "output"; readonly text: string }
	| { readonly at: number; readonly kind: "resized"; readonly cols: number; readonly rows: number }
	/** All before this byte is gone that was not shown. */
	| { readonly at: number; readonly kind: "gap"; readonly to: number };

/** How much of the output a playback is opened with, in bytes: the newest. A page with more would be slow to go anywhere in it. */
export const MOST_BYTES = 16 * 1024 * 1024;

type RecordingHeader = { readonly cols: number; readonly rows: number };

/** Takes lines apart that are cut anywhere. */
export class RecordingParser {
	readonly #decoder = new TextDecoder();
	#rest = "";
	#header: RecordingHeader | undefined;

	get header(): RecordingHeader | undefined {
		return this.#header;
	}

	/** The events that have become whole with these bytes. */
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
			// Others say which command begins.
			const [, to] = /^bytes \d+ to (\d+) are gone /.exec(data) ?? [];
			return to === undefined ? [] : [{ at, kind: "gap", to: Number(to) }];
		}
		if (kind !== "r") return [];
		const [cols = 0, rows = 0] = data.split("x").map(Number);
		return [{ at, kind: "resized", cols, rows }];
	}
}

/** How much was written in each of `count` equal parts of a duration, in UTF-16 units. */
export function activityOf(events: readonly RecordedEvent[], durationMs: number, count: number): number[] {
	const parts = new Array<number>(count).fill(0);
	for (const event of events) {
		if (event.kind !== "output") continue;
		const part = Math.min(count - 1, Math.floor((event.at / Math.max(1, durationMs)) * count));
		parts[part] = (parts[part] ?? 0) + event.text.length;
	}
	return parts;
}

export type Stretch = { readonly from: number; readonly to: number };

/** Pauses that are longer than this, in milliseconds, are idle: nobody wants to watch them. */
export const IDLE_MS = 2_000;

/** Where nothing was written for longer than that. */
export function idleStretches(events: readonly RecordedEvent[], durationMs: number): Stretch[] {
	const stretches: Stretch[] = [];
	let last = 0;
	for (const { at } of [...events, { at: durationMs }]) {
		if (at - last > IDLE_MS) stretches.push({ from: last, to: at });
		last = at;
	}
	return stretches;
}

/** The moment at which so many bytes had been written, of events that begin with the byte `first`: exact where the output is UTF-8 and nothing of it is gone. */
export function momentOfOffset(events: readonly RecordedEvent[], offset: number, first = 0): number {
	const encoder = new TextEncoder();
	let bytes = first;
	for (const event of events) {
		if (event.kind === "gap") bytes = Math.max(bytes, event.to);
		if (event.kind === "output") bytes += encoder.encode(event.text).byteLength;
		if (bytes > offset) return event.at;
	}
	return events.at(-1)?.at ?? 0;
}
