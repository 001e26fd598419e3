/** Secrets typed by a user over HTTP, into a program that reads without echo. The server keeps no copy. */

import type { FastifyRequest, onSendAsyncHookHandler, preParsingHookHandler } from "fastify";
import type { PromptIdentity, Receipt } from "../../../core/input/action.ts";
import type { Session } from "../../../core/session/session.ts";
import { overwriteRequestMemory } from "../../../http/forget-bodies.ts";
import type { ServerContext } from "../../../http/front.ts";
import { checkMayGive, checkMayType, type SecretRequests } from "../../../services/secrets/requests.ts";
import { toReceipt } from "../input/write.ts";
import { writeOptions } from "../input/write-options.ts";
import type { Serve } from "../serve.ts";
import { findSecretRequest } from "./routes.ts";

export function addSecret(serve: Serve, secretRequests: SecretRequests, hosting: ServerContext): void {
	const options = overwriteBodies(hosting);

	serve(
		"typeSecret",
		async ({ session, request, caller: principal, body, query: { ifWaiting: at, episode }, witness }) => {
			checkMayType(principal);
			const type = await typing(request, session, body);
			const receipt = secretRequests.typed(session, { principal, witness }, type({ at, episode }));
			return toReceipt(await receipt);
		},
		options,
	);

	serve(
		"giveSecret",
		async ({ request, caller: principal, params: { id }, body, witness }) => {
			const wanted = findSecretRequest(secretRequests, request, id);
			checkMayGive(principal, wanted);
			const type = await typing(request, witness.session(wanted.session), body);
			return toReceipt(await secretRequests.give(wanted, { principal, witness }, type));
		},
		options,
	);
}

/** Types the secret as the answer to a question. */
async function typing(
	request: FastifyRequest,
	session: Session,
	secret: Uint8Array,
): Promise<(question: PromptIdentity) => Promise<Receipt>> {
	const options = await writeOptions(session, request);
	return (question) => session.secret(secret, question, options);
}

/** Overwrites the body of a request before its answer is sent, whatever the answer is. */
function overwriteBodies(hosting: ServerContext): {
	preParsing: preParsingHookHandler;
	onSend: onSendAsyncHookHandler;
} {
	/** Chunks of a body; `request.body` is a copy of them. */
	const pieces = new WeakMap<FastifyRequest, Uint8Array[]>();
	return {
		preParsing: (request, _reply, body, done) => {
			const own: Uint8Array[] = [];
			pieces.set(request, own);
			body.on("data", (piece: Uint8Array) => own.push(piece));
			done(null, body);
		},
		onSend: async (request) => {
			const { body } = request;
			for (const bytes of [...(body instanceof Uint8Array ? [body] : []), ...(pieces.get(request) ?? [])])
				bytes.fill(0);
			// A failure does not change whether the secret was typed.
			await overwriteRequestMemory().catch((error: unknown) => hosting.report(error, "overwriting a secret failed"));
		},
	};
}
