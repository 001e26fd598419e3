/** The screens of many sessions over one connection: a stream of changes, and a call that says which are wanted. */

import { randomUUID } from "node:crypto";
import { SessionError } from "../../../core/errors.ts";
import { limits } from "../../../protocol/messages.ts";
import { type Hosting, may, takeReader, witnessOf } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import { Places } from "../../places.ts";
import { type StreamEvent, sendEvents } from "../event-stream.ts";
import type { Traffic } from "../metrics.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { placeOf, principalOf } from "../request.ts";
import { Board } from "./board.ts";
import { screenEventSchemas, screensQuery, showScreens, streamParams } from "./messages.ts";

/** How many streams there may be: of one caller, who has a few pages open, and of all. */
const STREAMS = { each: 8, all: 64 };

type Stream = { readonly board: Board; readonly owner: string };

export function addScreens(app: NativeApp, options: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	const { sessions, screens } = options;
	const streams = new Map<string, Stream>();
	const places = new Places(STREAMS, () => {
		return new SessionError("limit_exceeded", "as many streams of screens are open as may be, of this token or of all");
	});

	app.get(
		"/v1/screens",
		{
			config: {
				policy: "read",
				operation: "followScreens",
				summary: "Follow what the terminals of several sessions show",
				answers: { 200: "text/event-stream" },
				events: screenEventSchemas,
			},
			schema: { querystring: screensQuery },
		},
		(request, reply) => {
			if (!screens) throw new SessionError("unsupported", "this server shows no screens");
			const principal = principalOf(request);
			const leave = places.take(principal);
			const patience = patienceOf(reply, hosting);
			const open = (id: string) => {
				const session = sessions.get(id);
				if (!session || !may(request, "read", placeOf(session))) {
					throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
				}
				const leaveSession = takeReader(request, placeOf(session), hosting, "attach");
				return { session: witnessOf(request).session(session), leave: leaveSession };
			};
			const report = (problem: unknown) => hosting.report(problem, "screens");
			const board = new Board({ screens, open, report, signal: patience.signal });
			const stream = randomUUID();
			streams.set(stream, { board, owner: principal.id });
			patience.signal.addEventListener(
				"abort",
				() => {
					streams.delete(stream);
					leave();
				},
				{ once: true },
			);
			board.show(request.query.session ?? []);
			return sendEvents(reply, events(stream, board), { patience, traffic });
		},
	);

	app.put(
		"/v1/screens/:stream",
		{
			config: {
				policy: "read",
				operation: "showScreens",
				summary: "Say which sessions a stream of screens is about",
				answers: { 204: "" },
			},
			schema: { params: streamParams, body: showScreens },
		},
		async (request, reply) => {
			const found = streams.get(request.params.stream);
			if (found?.owner !== principalOf(request).id) {
				throw new SessionError("not_found", "there is no such stream of screens, or it has ended");
			}
			found.board.show(request.body.sessions);
			return reply.code(204).send();
		},
	);
}

async function* events(stream: string, board: Board): AsyncGenerator<StreamEvent, void, void> {
	yield { event: "begin", data: { stream, most: limits.tiles } };
	for await (const change of board.changes()) {
		if (change.kind === "screen") yield { event: "screen", data: change.update };
		else yield { event: "error", data: change.error };
	}
}
