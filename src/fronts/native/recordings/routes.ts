/** Export over HTTP: a session's log as an asciicast, for terminal players. */

import { Readable } from "node:stream";
import { SessionError } from "../../../core/errors.ts";
import type { OffsetOrTime } from "../../../core/log/event.ts";
import type { ScreenReader } from "../../../core/session/screen-reader.ts";
import type { Session } from "../../../core/session/session.ts";
import type { ScreenOptions, Snapshot } from "../../../core/terminal/screen-view.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import { type RecordingOptions, record } from "../../../services/recording/record.ts";
import { parsePosition } from "../position.ts";
import type { Serve } from "../serve.ts";

export function addRecording(serve: Serve, screens: ScreenReader | undefined, traffic: TrafficCounters): void {
	serve("recordSession", async (call) => {
		const { session, caller, query, reply, signal } = call;
		const { format = "asciicast-v2", idleLimitMs } = query;
		const places = { from: parsePosition("from", query.from), to: parsePosition("to", query.to) };
		if (isTurned(places)) throw new SessionError("invalid_argument", "to: must not be before from");
		call.startReading();
		const screenAt = (at: OffsetOrTime) => shownAt(screens, session, { at, signal, by: caller });
		const options: RecordingOptions = { format, idleLimitMs, ...places, signal, screenAt };
		async function* counted(): AsyncGenerator<Buffer, void, void> {
			for await (const text of record(session, options)) {
				const bytes = Buffer.from(text);
				traffic.bytesOut += bytes.byteLength;
				yield bytes;
			}
			// A truncated recording must not look complete.
			if (signal.aborted) throw new SessionError("node_unavailable", "the recording was interrupted");
		}
		const pieces = counted();
		// Before the answer starts, so that an error in the first piece has its own status.
		const first = await pieces.next();
		async function* all(): AsyncGenerator<Buffer, void, void> {
			if (!first.done) yield first.value;
			yield* pieces;
		}
		return (
			reply
				.type("application/x-asciicast")
				.headers({ "cache-control": "no-store", "content-disposition": `attachment; filename="${session.id}.cast"` })
				// Pull-based, so that nothing is read ahead of the client.
				.send(Readable.from(all(), { objectMode: false, highWaterMark: 64 * 1024 }))
		);
	});
}

/** An offset and a time can't be compared. */
function isTurned({ from, to }: Pick<RecordingOptions, "from" | "to">): boolean {
	if (!from || !to) return false;
	if ("time" in from) return "time" in to && to.time < from.time;
	return "offset" in to && to.offset < from.offset;
}

/** Undefined if there is no screen: on pipes, or if too much output would have to be replayed. */
async function shownAt(
	screens: ScreenReader | undefined,
	session: Session,
	options: ScreenOptions,
): Promise<Snapshot | undefined> {
	try {
		return await screens?.snapshot(session, { ...options, scrollback: 0 });
	} catch (error) {
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}
