/** What a session writes while it is played back, as its recording will have it: with the times at which it came here. */

import type { KnownSession } from "hawser/client";
import { MOST_BYTES, type RecordedEvent } from "./recording.ts";

type GrowthOptions = {
	/** The first byte that is not in the recording. */
	readonly from: number;
	/** How long the session has run by now. */
	readonly durationMs: number;
	readonly signal: AbortSignal;
	readonly onEvent: (event: RecordedEvent) => void;
};

/** How it came to an end: with the session; or because this page did not keep up, or has enough, and more is there. */
type GrowthEnd = "ended" | "behind";

/** Reads as a viewer that keeps nobody waiting. */
export async function grow(session: KnownSession, options: GrowthOptions): Promise<GrowthEnd> {
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
			// As a terminal would have got it.
			onEvent({ at: now(), kind: "output", text: isPiped ? text.replace(/\r?\n/g, "\r\n") : text });
			// As much again as it was opened with at most.
			if (event.offset + event.bytes.byteLength - from > MOST_BYTES) return "behind";
		}
	}
	return "ended";
}
