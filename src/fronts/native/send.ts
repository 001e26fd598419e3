/** One call over HTTP to type something, to wait for what comes of it, and to read that. */

import type { SendAnswer } from "../../protocol/acts.ts";
import { fenceHeader, idempotencyKeyHeader, limits } from "../../protocol/messages.ts";
import { bytesOf, crowded } from "../answer-bytes.ts";
import { type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { fenceOf, parseKey } from "./input.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { sendAnswer, sendInput } from "./send-messages.ts";
import type { Sends } from "./sending.ts";
import { idParams } from "./session-messages.ts";

export function addSend(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, sends: Sends): void {
	app.post(
		"/v1/sessions/:id/send",
		{
			config: {
				policy: "operate",
				operation: "sendInput",
				summary: "Type something, wait for what comes of it, and read that",
				headers: [idempotencyKeyHeader, fenceHeader],
			},
			schema: { params: idParams, body: sendInput, response: { 200: sendAnswer } },
		},
		async (request, reply): Promise<SendAnswer> => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { body: input } = request;
			const key = parseKey(request.headers[idempotencyKeyHeader]);
			const fence = await fenceOf(session, request);
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const { limit = limits.textBytes } = input;
			if (bytesOf(caller, reply, hosting)(limit) < limit) throw crowded();
			const patience = patienceOf(reply, hosting);
			try {
				return await sends.make(session, { input, caller, key, fence, signal: patience.signal });
			} finally {
				patience.end();
			}
		},
	);
}
