/** Appends live output to a playback, with the times of arrival. */

import type { LoadedSession } from "hawser/client";
import { MOST_BYTES, type RecordedEvent } from "./recording.ts";

type GrowthOptions = {
	/** First byte after the recording. */
	readonly from: number;
	/** Running time of the session so far. */
	readonly durationMs: number;
	readonly signal: AbortSignal;
	readonly onEvent: (event: RecordedEvent) => void;
};

/** Why following stopped: the session ended; or this page was too slow or holds enough, and there is more. */
type GrowthEnd = "ended" | "behind";

/** Reads as a viewer, which never slows the program down. */
export async function followRecording(session: LoadedSession, options: GrowthOptions): Promise<GrowthEnd> {
	const { from, durationMs, signal, onEvent } = options;
	const begun = performance.now();
	const now = () => durationMs + performance.now() - begun;
	const decoder = new TextDecoder();
	const isPiped = session.snapshot.mode === "pipe";
	for await (const event of session.attach({ since: from, role: "viewer", flow: "live", signal })) {
		if (event.kind === "gap") return "behind";
		if (event.kind === "resized") onEvent({ at: now(), kind: "resized", cols: event.cols, rows: event.rows });
		if (event.kind === "output") {
			const text = decoder.decode(event.bytes, { stream: true });
			// As a terminal would receive it.
			onEvent({ at: now(), kind: "output", text: isPiped ? text.replace(/\r?\n/g, "\r\n") : text });
			// At most as much again as the recording had.
			if (event.offset + event.bytes.byteLength - from > MOST_BYTES) return "behind";
		}
	}
	return "ended";
}
