/**
 * Asks a person for a secret that a program reads. The person enters it at a URL or with a command, never in a form,
 * which would pass through the client. A waiting call continues once it was entered.
 */

import {
	type InputRequiredResult,
	inputRequired,
	inputResponse,
	type ServerContext,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { SecretRequest } from "../../services/secrets/requests.ts";
import type { Call, PendingSecret } from "./call.ts";

/** Key of the only elicitation that clients get. */
const KEY = "secret";

/** Requests the secret that the program reads; undefined if the caller may not. */
export async function askForSecret(session: Session, from: number, call: Call): Promise<SecretRequest | undefined> {
	const { options, principal, witness, signal } = call;
	const place = { workspace: session.spec.workspace, session: session.id };
	if (principal.secrets === "none" || !principal.may("operate", place)) return undefined;
	const asker = { ...principal, isAgent: true };
	try {
		const request = await options.secretRequests.ask(session, {}, { asker, witness, signal });
		call.asked = { request, session: session.id, from };
		return request;
	} catch (error) {
		// The program may have continued, or too many requests are open; the call continues without one.
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}

/** Tells how the secret is entered: by a source of the server, or by a person with the command or at the URL. */
export function howToEnter(request: SecretRequest | undefined, command: string, { options }: Call): string {
	if (request?.source?.fault === null) return `the server has entered it, from ${request.source.name}: read on`;
	return `a person can enter it: ${[command, ...(request ? [options.secretUrl(request.id)] : [])].join(", or at ")}`;
}

/** Resolves when no secret request of this caller is open, or after the timeout; returns the remaining time. */
export async function untilSecretEntered(session: Session, timeoutMs: number, call: Call): Promise<number> {
	const begun = performance.now();
	const late = new AbortController();
	const timer = setTimeout(() => late.abort(), timeoutMs);
	try {
		const signal = AbortSignal.any([call.signal, late.signal]);
		await call.options.secretRequests.untilOver(session, call.principal, signal);
	} finally {
		clearTimeout(timer);
	}
	return Math.max(0, timeoutMs - (performance.now() - begun));
}

/** Makes the client show the URL to a person. The client then repeats the call with `requestState`. */
export function elicitation({ request, session, from }: PendingSecret, call: Call): InputRequiredResult | undefined {
	const { options } = call;
	const open = options.secretRequests.get(request.id);
	if (!open) return undefined;
	const message = `${open.program ?? "A program"} in ${open.session.spec.name ?? session} asks: ${open.prompt} — only the program sees what you enter there.`;
	const inputRequests = { [KEY]: inputRequired.elicitUrl({ message, url: options.secretUrl(request.id) }) };
	return inputRequired({ inputRequests, requestState: `${request.id} ${session} ${from}` });
}

/** The state of a repeated call; undefined for a first call. */
export function repeated({ mcpReq }: ServerContext): (PendingSecret & { readonly isDeclined: boolean }) | undefined {
	const state = mcpReq.requestState();
	if (typeof state !== "string") return undefined;
	const [, id = "", session = "", from] = /^([0-9a-f]{12}) (\S{1,64}) (\d{1,15})$/.exec(state) ?? [];
	if (from === undefined) throw new SessionError("invalid_argument", "requestState: not issued by this server");
	const response = inputResponse(mcpReq.inputResponses, KEY);
	const isDeclined = response.kind === "elicit" && response.action !== "accept";
	return { request: { id }, session, from: Number(from), isDeclined };
}

/** The person declined, so no other person is asked. */
export function withdraw({ request }: PendingSecret, { options, principal, witness }: Call): void {
	const open = options.secretRequests.get(request.id);
	if (open?.askedBy.id === principal.id) options.secretRequests.refuse(open, { principal, witness });
}
