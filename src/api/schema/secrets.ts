/** Secrets that programs read: typed by a user, or requested from one. */

import { PRINTABLE } from "../../words/printable.ts";
import { fenceHeader, idempotencyKeyHeader } from "../messages.ts";
import { sessionName } from "./approvals.ts";
import * as s from "./fields.ts";
import { ifWaiting, inputReceipt } from "./input.ts";
import type { OperationTable } from "./operation.ts";

/** In UTF-16 units. */
const REASON_LENGTH = 200;

const askSecret = s.request("AskSecret", "Requests a secret from a user.", {
	name: s.optional(s.displayName),
	reason: s.optional(
		s.doc("A sentence: what it is for.", s.string({ minLength: 1, maxLength: REASON_LENGTH, pattern: PRINTABLE })),
	),
});

const secretRequest = s.message(
	"SecretRequestMessage",
	"A request for a secret. It is for the question that the program asks at `offset`, and no other.",
	{
		id: s.text,
		session: sessionName,
		name: s.nullable(s.text),
		reason: s.nullable(s.text),
		prompt: s.doc("The line before the cursor.", s.text),
		program: s.nullable(s.text),
		offset: s.offset,
		askedBy: s.doc("The name of the caller that asked.", s.text),
		createdAt: s.milliseconds,
		expiresAt: s.milliseconds,
		source: s.optional(
			s.doc(
				"The secret source of the server that should supply it. Without a `fault` it has.",
				s.object({ name: s.text, fault: s.nullable(s.text) }),
			),
		),
	},
);

export const secretOperations: OperationTable = {
	typeSecret: {
		summary: "Type a line without echo or logging, while the program reads a secret",
		route: "POST /v1/sessions/:id/secret",
		right: "operate",
		headers: [idempotencyKeyHeader, fenceHeader],
		takes: "application/octet-stream",
		query: { ifWaiting, episode: s.optional(s.doc("The `episode` of the question.", s.offset)) },
		answer: inputReceipt,
	},
	requestSecret: {
		summary: "Ask a user to type the secret that the program reads",
		route: "POST /v1/sessions/:id/secret-requests",
		right: "operate",
		body: s.optional(askSecret),
		answer: secretRequest,
		status: 201,
		answerHeaders: ["location"],
	},
	listSecretRequests: {
		summary: "List requests for secrets",
		route: "GET /v1/secret-requests",
		right: "read",
		answer: s.message("SecretRequestList", "Requests for secrets, oldest first.", { requests: s.list(secretRequest) }),
	},
	giveSecret: {
		summary: "Type a requested secret, if its program still asks for it",
		route: "POST /v1/secret-requests/:id",
		right: "operate",
		headers: [fenceHeader],
		takes: "application/octet-stream",
		answer: inputReceipt,
	},
	refuseSecret: {
		summary: "Refuse or withdraw a request for a secret",
		route: "DELETE /v1/secret-requests/:id",
		right: "operate",
	},
};
