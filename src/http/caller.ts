/** The caller of a request: its credential, its rights, and the audit of what it does. */

import type { FastifyRequest } from "fastify";
import { ticketPrefix } from "../api/socket.ts";
import { invariant, SessionError } from "../core/errors.ts";
import { type AccessResource, missingRightError } from "../core/policy/access.ts";
import type { AuditedCaller } from "../core/policy/audited-caller.ts";
import type { Right } from "../words/rights.ts";
import type { ServerContext } from "./front.ts";
import type { SessionResource } from "./limits/readers.ts";

/** The token of an `Authorization: Bearer` header. */
export function bearer({ headers }: FastifyRequest): string | undefined {
	return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** The ticket offered among the subprotocols of an upgrade. It must never be the one that is answered. */
export function ticketOf(request: FastifyRequest): string | undefined {
	const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	return offered.find((name) => name.startsWith(ticketPrefix))?.slice(ticketPrefix.length);
}

/**
 * The request's fields that say who calls and which audit entry its actions belong to. Sockets build one themselves.
 */
type RequestCaller = Pick<FastifyRequest, "principal" | "witness">;

/** Whether the caller has `right`. A refusal is recorded in the audit. */
export function hasRight(caller: RequestCaller, right: Right, place: AccessResource): boolean {
	const isAllowed = caller.principal?.may(right, place) === true;
	if (!isAllowed) auditedCallerOf(caller).record({ action: "refused", code: "permission_denied", right }, place);
	return isAllowed;
}

/** Performs and audits what a request does to sessions. */
export function auditedCallerOf({ witness }: Pick<RequestCaller, "witness">): AuditedCaller {
	invariant(witness, "a request without an audited caller");
	return witness;
}

/**
 * Throws if the caller may see `place` but lacks `right`. For a resource that the caller may not see, each front
 * answers that it does not exist.
 */
export function checkRight(caller: RequestCaller, right: Right, place: AccessResource): void {
	if (hasRight(caller, right, place)) return;
	throw missingRightError(right, place);
}

/** Counts the caller as a reader of a session, and audits it. The returned function ends that. */
export function addReader(
	caller: RequestCaller,
	place: SessionResource,
	{ readers }: Pick<ServerContext, "readers">,
	how: "attach" | "read",
): () => void {
	const { principal } = caller;
	if (!principal) throw new SessionError("unauthenticated", "a token is required");
	const leave = readers.take(principal, place);
	const witness = auditedCallerOf(caller);
	witness.record({ action: how }, place);
	let isThere = true;
	return () => {
		leave();
		if (isThere && how === "attach") witness.record({ action: "detach" }, place);
		isThere = false;
	};
}
