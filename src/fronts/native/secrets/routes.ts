/** Requests for secrets over HTTP: created, listed, refused. `enter.ts` types the secret. */

import type { FastifyRequest } from "fastify";
import type { SecretRequestMessage } from "../../../api/types.ts";
import { checkRight, hasRight } from "../../../http/caller.ts";
import {
	checkMayType,
	type SecretRequest,
	type SecretRequests,
	secretRequestNotFound,
} from "../../../services/secrets/requests.ts";
import { resourceOf } from "../find-session.ts";
import type { Serve } from "../serve.ts";

export function addSecretRequests(serve: Serve, secretRequests: SecretRequests): void {
	serve("requestSecret", async ({ session, caller: asker, body = {}, witness, signal, reply }) => {
		const made = await secretRequests.ask(session, body, { asker, witness, signal });
		reply.header("location", `/v1/secret-requests/${made.id}`);
		return messageOf(made);
	});

	serve("listSecretRequests", async ({ caller }) => {
		const visible = secretRequests.list().filter(({ session }) => caller.may("read", resourceOf(session)));
		return { requests: visible.map(messageOf) };
	});

	serve("refuseSecret", async ({ request, caller: principal, params: { id }, witness }) => {
		const wanted = findSecretRequest(secretRequests, request, id);
		if (wanted.askedBy.id !== principal.id) checkMayType(principal);
		secretRequests.refuse(wanted, { principal, witness });
	});
}

/** Finds a request for a secret; its caller must have the right to operate the session. */
export function findSecretRequest(requests: SecretRequests, request: FastifyRequest, id: string): SecretRequest {
	const found = requests.get(id);
	if (!found || !hasRight(request, "read", resourceOf(found.session))) throw secretRequestNotFound(id);
	checkRight(request, "operate", resourceOf(found.session));
	return found;
}

export function messageOf({ session, askedBy, ...request }: SecretRequest): SecretRequestMessage {
	const { id, spec } = session;
	return { ...request, session: { id, name: spec.name, workspace: spec.workspace }, askedBy: askedBy.name };
}
