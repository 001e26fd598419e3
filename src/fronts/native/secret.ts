/** A secret that a person types over HTTP: into a program that reads one without showing it, and nowhere else. */

import type { FastifyRequest } from "fastify";
import { fenceHeader, type InputReceipt, idempotencyKeyHeader } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import { inputReceipt, keysQuery } from "./act-messages.ts";
import { forgetRequests } from "./forget-requests.ts";
import { bytesOf, fenceOf, parseKey, toMessage } from "./input.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession } from "./request.ts";
import { idParams } from "./session-messages.ts";

export function addSecret(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	/** The pieces in which a body came: the whole is a copy of them. */
	const pieces = new WeakMap<FastifyRequest, Uint8Array[]>();

	app.post(
		"/v1/sessions/:id/secret",
		{
			config: {
				policy: "operate",
				headers: [idempotencyKeyHeader, fenceHeader],
				operation: "typeSecret",
				summary: "Type a line that nobody may see, while the program reads one without showing it",
				takes: "application/octet-stream",
			},
			schema: { params: idParams, querystring: keysQuery, response: { 200: inputReceipt } },
			preParsing(request, _reply, body, done) {
				const own: Uint8Array[] = [];
				pieces.set(request as FastifyRequest, own);
				body.on("data", (piece: Uint8Array) => own.push(piece));
				done(null, body);
			},
		},
		async (request): Promise<InputReceipt> => {
			const secret = bytesOf(request.body);
			try {
				const session = findSession(sessions, request);
				const origin = parseKey(request.headers[idempotencyKeyHeader]);
				const fence = await fenceOf(session, request);
				const options = { ...(origin ? { origin } : {}), ...(fence === undefined ? {} : { fence }) };
				return toMessage(await session.secret(secret, request.query.ifWaiting, options));
			} finally {
				for (const bytes of [secret, ...(pieces.get(request as FastifyRequest) ?? [])]) bytes.fill(0);
				// It was typed, or not, whatever becomes of this.
				await forgetRequests().catch((error: unknown) => hosting.report(error, "a secret is not forgotten yet"));
			}
		},
	);
}
