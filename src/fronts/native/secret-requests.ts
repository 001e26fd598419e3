/** Requests for secrets over HTTP: made by who may not type one, seen and refused by who may; `secret.ts` gives what is asked for. */

import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { SecretRequestList, SecretRequestMessage } from "../../protocol/asking.ts";
import { checkRight, type Hosting, may, witnessOf } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { checkMayType, noRequest, type SecretRequest } from "../secret-requests.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { askSecret, requestParams, secretRequest, secretRequestList } from "./secret-messages.ts";
import { idParams } from "./session-messages.ts";

export function addSecretRequests(app: NativeApp, { sessions, secretRequests }: NativeOptions, hosting: Hosting): void {
	app.post(
		"/v1/sessions/:id/secret-requests",
		{
			config: {
				policy: "operate",
				operation: "requestSecret",
				answerHeaders: ["location"],
				summary: "Ask for a secret that the program reads now to be typed by a person",
			},
			schema: { params: idParams, body: Type.Optional(askSecret), response: { 201: secretRequest } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const asker = principalOf(request);
			const patience = patienceOf(reply, hosting);
			try {
				const how = { asker, witness: witnessOf(request), signal: patience.signal };
				const made = await secretRequests.ask(session, request.body ?? {}, how);
				return reply.code(201).header("location", `/v1/secret-requests/${made.id}`).send(messageOf(made));
			} finally {
				patience.end();
			}
		},
	);

	app.get(
		"/v1/secret-requests",
		{
			config: { policy: "read", operation: "listSecretRequests", summary: "List the secrets that are asked for" },
			schema: { response: { 200: secretRequestList } },
		},
		async (request): Promise<SecretRequestList> => {
			const principal = principalOf(request);
			const visible = secretRequests.list().filter(({ session }) => principal.may("read", placeOf(session)));
			return { requests: visible.map(messageOf) };
		},
	);

	app.delete(
		"/v1/secret-requests/:id",
		{
			config: {
				policy: "operate",
				operation: "refuseSecret",
				summary: "Refuse a secret, or ask for it no more",
				answers: { 204: "" },
			},
			schema: { params: requestParams },
		},
		async (request, reply) => {
			const principal = principalOf(request);
			const wanted = findSecretRequest(secretRequests, request);
			if (wanted.askedBy.id !== principal.id) checkMayType(principal);
			secretRequests.refuse(wanted, { principal, witness: witnessOf(request) });
			return reply.code(204).send();
		},
	);
}

/** The one that a request names, for who may operate its session. One that may not be seen is not there. */
export function findSecretRequest(
	requests: NativeOptions["secretRequests"],
	request: FastifyRequest<{ Params: { id: string } }>,
): SecretRequest {
	const { id } = request.params;
	const found = requests.get(id);
	if (!found || !may(request, "read", placeOf(found.session))) throw noRequest(id);
	checkRight(request, "operate", placeOf(found.session));
	return found;
}

export function messageOf({ session, askedBy, ...request }: SecretRequest): SecretRequestMessage {
	const { id, spec } = session;
	return { ...request, session: { id, name: spec.name, workspace: spec.workspace }, askedBy: askedBy.name };
}
