/** Recordings over HTTP: a session's log as a file that players of terminals know. */

import { Readable } from "node:stream";
import { SessionError } from "../../../core/errors.ts";
import type { LogPlace } from "../../../core/event.ts";
import type { ScreenOptions, Screens, Snapshot } from "../../../core/screen.ts";
import type { Session } from "../../../core/session.ts";
import { type Hosting, takeReader, whenOver } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import type { Traffic } from "../metrics.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { toPlace } from "../place.ts";
import { findSession, placeOf } from "../request.ts";
import { idParams } from "../session-messages.ts";
import { recordingQuery } from "./messages.ts";
import { type RecordingOptions, record } from "./record.ts";

export function addRecording(
	app: NativeApp,
	{ sessions, screens }: NativeOptions,
	hosting: Hosting,
	traffic: Traffic,
): void {
	app.get(
		"/v1/sessions/:id/recording",
		{
			config: {
				policy: "read",
				operation: "recordSession",
				summary: "What was shown and when, as an asciicast",
				answers: { 200: "application/x-asciicast" },
			},
			schema: { params: idParams, querystring: recordingQuery },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const { format = "asciicast-v2", idleLimitMs, from, to } = request.query;
			const places = { from: toPlace("from", from), to: toPlace("to", to) };
			if (isTurned(places)) throw new SessionError("invalid_argument", "to: must not be before from");
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const patience = patienceOf(reply, hosting);
			const { signal } = patience;
			const screenAt = (at: LogPlace) => shownAt(screens, session, { at, signal });
			const options: RecordingOptions = { format, idleLimitMs, ...places, signal, screenAt };
			async function* counted(): AsyncGenerator<Buffer, void, void> {
				try {
					for await (const text of record(session, options)) {
						const bytes = Buffer.from(text);
						traffic.bytesOut += bytes.byteLength;
						yield bytes;
					}
					// What was broken off must not look whole.
					if (patience.signal.aborted) throw new SessionError("node_unavailable", "the recording was broken off");
				} finally {
					patience.end();
				}
			}
			return (
				reply
					.type("application/x-asciicast")
					.headers({ "cache-control": "no-store", "content-disposition": `attachment; filename="${session.id}.cast"` })
					// It pulls, so that nothing is read ahead of the client.
					.send(Readable.from(counted(), { objectMode: false, highWaterMark: 64 * 1024 }))
			);
		},
	);
}

/** An offset and a time can't be compared. */
function isTurned({ from, to }: Pick<RecordingOptions, "from" | "to">): boolean {
	if (!from || !to) return false;
	if ("time" in from) return "time" in to && to.time < from.time;
	return "offset" in to && to.offset < from.offset;
}

/** Nothing where it can't be had: on pipes, and where too much would have to be gone through for it. */
async function shownAt(
	screens: Screens | undefined,
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
