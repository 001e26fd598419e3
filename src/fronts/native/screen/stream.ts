/** The screens of many sessions over one connection: a stream of changes, and a request that chooses the sessions. */

import { randomUUID } from "node:crypto";
import { limits } from "../../../api/messages.ts";
import { Budget } from "../../../core/async/budget.ts";
import { SessionError } from "../../../core/errors.ts";
import { addReader, hasRight } from "../../../http/caller.ts";
import { type StreamEvent, sendEvents } from "../../../http/event-stream.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import { ScreenUpdates } from "../../../services/screens/screen-updates.ts";
import { resourceOf } from "../find-session.ts";
import type { NativeOptions } from "../options.ts";
import type { Serve } from "../serve.ts";

/**
 * Each page of the web UI has one stream.
 * @limit streams of screens at a time | `limit_exceeded`
 */
const STREAMS = { what: "streams of screens", operator: 8, others: 64, each: 8, fair: 2, accounts: 24 };

type Stream = { readonly updates: ScreenUpdates; readonly owner: string };

export function addScreens(
	serve: Serve,
	{ sessions, screens }: NativeOptions,
	hosting: ServerContext,
	traffic: TrafficCounters,
): void {
	const streams = new Map<string, Stream>();
	const slots = new Budget(STREAMS);
	const report = (problem: unknown) => hosting.report(problem, "screens");

	serve("followScreens", async ({ request, reply, caller, query, witness, signal }) => {
		if (!screens) throw new SessionError("unsupported", "this server shows no screens");
		const leave = slots.enter(caller);
		const open = (id: string) => {
			const session = sessions.get(id);
			if (!session || !hasRight(request, "read", resourceOf(session))) {
				throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
			}
			const leaveSession = addReader(request, resourceOf(session), hosting, "attach");
			return { session: witness.session(session), leave: leaveSession };
		};
		const updates = new ScreenUpdates({ screens, open, report, signal });
		const stream = randomUUID();
		streams.set(stream, { updates, owner: caller.id });
		const end = () => {
			streams.delete(stream);
			leave();
		};
		signal.addEventListener("abort", end, { once: true });
		updates.show(query.session ?? []);
		return sendEvents(reply, events(stream, updates), { traffic });
	});

	serve("showScreens", async ({ caller, params: { stream }, body }) => {
		const found = streams.get(stream);
		if (found?.owner !== caller.id) {
			throw new SessionError("not_found", "there is no such stream of screens, or it has ended");
		}
		found.updates.show(body.sessions);
	});
}

async function* events(stream: string, updates: ScreenUpdates): AsyncGenerator<StreamEvent, void, void> {
	yield { event: "begin", data: { stream, most: limits.tiles } };
	for await (const change of updates.changes()) {
		if (change.kind === "screen") yield { event: "screen", data: change.update };
		else yield { event: "error", data: change.error };
	}
}
