/** How much a session wrote when, over all that is kept of it: for a picture below a player. */

import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import { within } from "../../../core/within.ts";
import type { ActivityMessage } from "../../../protocol/past.ts";
import { type Hosting, takeReader, whenOver } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import { Places } from "../../places.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import { idParams } from "../session-messages.ts";
import { activityMessage, activityQuery } from "./messages.ts";
import { itemsBefore } from "./record.ts";

/** How many read a whole log for this at a time: of one caller, and of all. */
const READERS = { each: 1, all: 2 };
/** How long that may take, in milliseconds: the journals that sessions have by default take a fraction of it. */
const READ_MS = 5_000;
const BUCKETS = 100;

export function addActivity(app: NativeApp, { sessions, clock }: NativeOptions, hosting: Hosting): void {
	const places = new Places(READERS, () => {
		return new SessionError(
			"limit_exceeded",
			"as many sessions are gone through as may be, for this token or for all",
			{
				hint: "ask for one after the other",
			},
		);
	});
	app.get(
		"/v1/sessions/:id/activity",
		{
			config: { policy: "read", operation: "readActivity", summary: "How much a session wrote when" },
			schema: { params: idParams, querystring: activityQuery, response: { 200: activityMessage } },
		},
		async (request, reply): Promise<ActivityMessage> => {
			const session = findSession(sessions, request);
			const { from = session.spec.createdAt, buckets = BUCKETS } = request.query;
			const to = request.query.to ?? Math.max(from + 1, session.state.endedAt ?? clock.now());
			if (from >= to) throw new SessionError("invalid_argument", "from: must be before to");
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const giveBack = places.take(principalOf(request));
			const patience = patienceOf(reply, hosting);
			try {
				const isOpen = request.query.to === undefined;
				return await within(READ_MS, [patience.signal], (signal) =>
					measured(session, { from, to, isOpen, buckets, signal }),
				);
			} finally {
				patience.end();
				giveBack();
			}
		},
	);
}

type Span = {
	/** Milliseconds since the epoch. */
	readonly from: number;
	readonly to: number;
	/** What comes after its end belongs to its last part: children may write after the program's end. */
	readonly isOpen: boolean;
	readonly buckets: number;
	readonly signal: AbortSignal;
};

async function measured(session: Session, { from, to, isOpen, buckets, signal }: Span): Promise<ActivityMessage> {
	const { seq: end } = await session.end();
	const bytes = new Array<number>(buckets).fill(0);
	let reached = from;
	for await (const item of itemsBefore(end, session, signal)) {
		if (item.kind === "gap") continue;
		if (item.time > to && !isOpen) break;
		reached = Math.max(reached, item.time);
		if (item.kind !== "output" || item.time < from) continue;
		const index = Math.min(buckets - 1, Math.floor(((item.time - from) / (to - from)) * buckets));
		bytes[index] = (bytes[index] ?? 0) + item.bytes.byteLength;
	}
	return { from, to, bytes, until: signal.aborted ? reached : null };
}
