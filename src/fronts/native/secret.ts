/** A secret that a person types over HTTP: into a program that reads one without showing it, and nowhere else. */

import type { FastifyRequest, preParsingHookHandler } from "fastify";
import type { Receipt } from "../../core/act.ts";
import type { SecretQuestion, Session } from "../../core/session.ts";
import type { InputReceipt } from "../../protocol/acts.ts";
import { fenceHeader, idempotencyKeyHeader } from "../../protocol/messages.ts";
import { type Hosting, witnessOf } from "../front.ts";
import { checkMayGive, checkMayType, type Doer } from "../secret-requests.ts";
import { inputReceipt, secretQuery } from "./act-messages.ts";
import { forgetRequests } from "./forget-requests.ts";
import { bytesOf, fenceOf, parseKey, toMessage } from "./input.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, principalOf } from "./request.ts";
import { requestParams } from "./secret-messages.ts";
import { findSecretRequest } from "./secret-requests.ts";
import { idParams } from "./session-messages.ts";

export function addSecret(app: NativeApp, { sessions, secretRequests }: NativeOptions, hosting: Hosting): void {
	/** The pieces in which a body came: the whole is a copy of them. */
	const pieces = new WeakMap<FastifyRequest, Uint8Array[]>();
	const preParsing: preParsingHookHandler = (request, _reply, body, done) => {
		const own: Uint8Array[] = [];
		pieces.set(request, own);
		body.on("data", (piece: Uint8Array) => own.push(piece));
		done(null, body);
	};

	/** Whatever becomes of it, nothing of the body is left afterwards. */
	async function taken<Answer>(request: FastifyRequest, use: (secret: Uint8Array) => Promise<Answer>): Promise<Answer> {
		const secret = bytesOf(request.body);
		try {
			return await use(secret);
		} finally {
			for (const bytes of [secret, ...(pieces.get(request) ?? [])]) bytes.fill(0);
			// It was typed, or not, whatever becomes of this.
			await forgetRequests().catch((error: unknown) => hosting.report(error, "a secret is not forgotten yet"));
		}
	}

	/** What types it into a question, under what the request says besides. */
	async function typing(
		request: FastifyRequest,
		session: Session,
		secret: Uint8Array,
	): Promise<(question: SecretQuestion) => Promise<Receipt>> {
		const origin = parseKey(request.headers[idempotencyKeyHeader]);
		const fence = await fenceOf(session, request);
		const options = { ...(origin ? { origin } : {}), ...(fence === undefined ? {} : { fence }) };
		return (question) => session.secret(secret, question, options);
	}

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
			schema: { params: idParams, querystring: secretQuery, response: { 200: inputReceipt } },
			preParsing,
		},
		(request): Promise<InputReceipt> =>
			taken(request as FastifyRequest, async (secret) => {
				const session = findSession(sessions, request);
				checkMayType(principalOf(request));
				const { ifWaiting: at, episode } = request.query;
				const type = await typing(request as FastifyRequest, session, secret);
				return toMessage(await secretRequests.typed(session, doerOf(request), type({ at, episode })));
			}),
	);

	app.post(
		"/v1/secret-requests/:id",
		{
			config: {
				policy: "operate",
				headers: [fenceHeader],
				operation: "giveSecret",
				summary: "Type a secret that was asked for, if its program still asks the same",
				takes: "application/octet-stream",
			},
			schema: { params: requestParams, response: { 200: inputReceipt } },
			preParsing,
		},
		(request): Promise<InputReceipt> =>
			taken(request as FastifyRequest, async (secret) => {
				const wanted = findSecretRequest(secretRequests, request);
				checkMayGive(principalOf(request), wanted);
				const session = witnessOf(request).session(wanted.session);
				const type = await typing(request as FastifyRequest, session, secret);
				return toMessage(await secretRequests.give(wanted, doerOf(request), type));
			}),
	);
}

function doerOf(request: FastifyRequest): Doer {
	return { principal: principalOf(request), witness: witnessOf(request) };
}
