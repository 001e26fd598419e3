/**
 * What an agent gets where a program reads a secret: a person is asked for it, at an address and by a command, and never
 * in a form, which would go through the client. A call that waits goes on once it was given.
 */

import {
	type InputRequiredResult,
	inputRequired,
	inputResponse,
	type ServerContext,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { SecretRequest } from "../secret-requests.ts";
import type { Asked, Call } from "./call.ts";

/** The one thing that is asked for, among what a client may be asked. */
const KEY = "secret";

/** Asks for what the program reads; undefined if this caller may not ask. */
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
		// The program may have gone on, or there are too many: what it does is told all the same.
		if (error instanceof SessionError) return undefined;
		throw error;
	}
}

/** How what the program reads gets there: a person can enter it by the command, or where it was asked for, unless a source has. */
export function wayOf(request: SecretRequest | undefined, command: string, { options }: Call): string {
	if (request?.source?.fault === null) return `the server has entered it, from ${request.source.name}: read on`;
	return `a person can enter it: ${[command, ...(request ? [options.secretUrl(request.id)] : [])].join(", or at ")}`;
}

/** Resolves when nothing is open any more that this caller asked for, or after so long; with what is left of that. */
export async function untilGiven(session: Session, timeoutMs: number, call: Call): Promise<number> {
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

/** Has the client show a person the address; it repeats the call then, with what we say here. */
export function elicitation({ request, session, from }: Asked, call: Call): InputRequiredResult | undefined {
	const { options } = call;
	const open = options.secretRequests.get(request.id);
	if (!open) return undefined;
	const message = `${open.program ?? "A program"} in ${open.session.spec.name ?? session} asks: ${open.prompt} — what you enter there is seen by the program alone.`;
	const inputRequests = { [KEY]: inputRequired.elicitUrl({ message, url: options.secretUrl(request.id) }) };
	return inputRequired({ inputRequests, requestState: `${request.id} ${session} ${from}` });
}

/** What a repeated call goes on with; undefined for a call that is no repeat. */
export function repeated({ mcpReq }: ServerContext): (Asked & { readonly isDeclined: boolean }) | undefined {
	const state = mcpReq.requestState();
	if (typeof state !== "string") return undefined;
	const [, id = "", session = "", from] = /^([0-9a-f]{12}) (\S{1,64}) (\d{1,15})$/.exec(state) ?? [];
	if (from === undefined)
		throw new SessionError("invalid_argument", "requestState: is none that this server has given");
	const response = inputResponse(mcpReq.inputResponses, KEY);
	const isDeclined = response.kind === "elicit" && response.action !== "accept";
	return { request: { id }, session, from: Number(from), isDeclined };
}

/** The person would not: nobody else is asked either. */
export function withdraw({ request }: Asked, { options, principal, witness }: Call): void {
	const open = options.secretRequests.get(request.id);
	if (open?.askedBy.id === principal.id) options.secretRequests.refuse(open, { principal, witness });
}
