/** What a session's program does, and what it waits for, over HTTP. */

import { type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { programState } from "../program-state.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, placeOf } from "./request.ts";
import { idParams } from "./session-messages.ts";
import { programState as schema } from "./state-messages.ts";

export function addState(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	app.get(
		"/v1/sessions/:id/state",
		{
			config: { policy: "read", operation: "inspectSession", summary: "See what a session's program waits for" },
			schema: { params: idParams, response: { 200: schema } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const patience = patienceOf(reply, hosting);
			try {
				return await programState(session, patience.signal);
			} finally {
				patience.end();
			}
		},
	);
}
