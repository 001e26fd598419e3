/** Decides what the end of a connection means: retry, or fail with which error. */

import { closeCodes } from "../../api/socket.ts";
import { HawserError } from "../errors.ts";
import type { Transport } from "../http/transport.ts";
import type { CloseResult } from "./connection.ts";
import type { Ticket } from "./websocket.ts";

/** Close codes after which retrying is pointless. */
export const fatalCloseCodes: Readonly<Record<number, (reason: string) => HawserError>> = {
	[closeCodes.protocolError]: (reason) => new HawserError("internal", `protocol error: ${reason}`),
	[closeCodes.unauthenticated]: (reason) =>
		new HawserError("unauthenticated", reason || "the token is no longer valid"),
	[closeCodes.sessionRemoved]: (reason) => new HawserError("session_not_found", reason || "the session was removed"),
	[closeCodes.detached]: (reason) => new HawserError("conflict", reason || "all clients were detached"),
	[closeCodes.tooBig]: (reason) => new HawserError("limit_exceeded", reason || "a message was too large"),
	[closeCodes.internal]: (reason) => new HawserError("internal", reason || "the server failed"),
};

/** Error codes by HTTP status, if the server's message is not available. */
const statuses: Readonly<Record<number, HawserError["code"]>> = {
	400: "invalid_argument",
	401: "unauthenticated",
	403: "permission_denied",
	404: "unsupported",
	426: "unsupported",
};

/** Why a connection ended, as far as known, and whether a retry makes sense. */
type Reason = {
	readonly error: HawserError;
	readonly isFinal: boolean;
	/** The server refused a ticket that a function created; the next one may be valid. */
	readonly isTicketRefused?: boolean;
};

export async function reasonOf(
	ending: CloseResult,
	transport: Transport,
	{ id, ticket, signal }: { readonly id: string; readonly ticket: Ticket | undefined; readonly signal: AbortSignal },
): Promise<Reason> {
	if (ending.fault !== undefined) {
		const error = toHawserError(ending.fault);
		return { error, isFinal: !isTransient(error) };
	}
	const final = fatalCloseCodes[ending.code];
	if (final) return { error: final(ending.reason), isFinal: true };
	if (typeof ticket === "string") return { error: usedTicketError(ending), isFinal: true };
	const broken = { error: notConnected(wordsOf(ending)), isFinal: false };
	if (ending.wasWelcome) return broken;
	if (ticket !== undefined && ending.status === 401) return ticketRefused();
	// A browser does not report why an upgrade was refused, and `ws` only the status. A plain request gets the error.
	try {
		const response = await transport.open("getSession", { params: { id }, signal });
		await response.body?.cancel();
	} catch (error) {
		if (!(error instanceof HawserError)) return broken;
		// With a ticket this request has no token, so an answer means that the ticket was refused.
		if (ticket !== undefined && error.code === "unauthenticated" && ending.status === undefined) return ticketRefused();
		if (!isTransient(error) && (ticket === undefined || error.code !== "unauthenticated"))
			return { error, isFinal: true };
		if (error.code === "node_unavailable") {
			const hint = error.hint === undefined ? {} : { hint: error.hint };
			return { error: new HawserError("node_unavailable", error.message, { ...hint, cause: error }), isFinal: false };
		}
	}
	const code = statuses[ending.status ?? 0];
	if (!code) return broken;
	return { error: new HawserError(code, `the server refused to attach, with status ${ending.status}`), isFinal: true };
}

function notConnected(why: string): HawserError {
	return new HawserError("node_unavailable", `not connected to the server: ${why}`);
}

function wordsOf({ code, reason, status }: CloseResult): string {
	if (status !== undefined) return `status ${status}`;
	return reason || (code === 1006 ? "the connection was lost" : `closed with code ${code}`);
}

function ticketRefused(): Reason {
	const error = new HawserError("unauthenticated", "the server did not accept the ticket", {
		hint: "the ticket function must create a new ticket for this session on this server each time",
	});
	return { error, isFinal: false, isTicketRefused: true };
}

function usedTicketError({ wasWelcome }: CloseResult): HawserError {
	const message = wasWelcome
		? "the connection was lost; its ticket was valid for one connection"
		: "the ticket was not accepted";
	return new HawserError("unauthenticated", message, {
		hint: "pass a function as ticket that creates a new one",
	});
}

/** Whether a retry may help: no server, one that is shutting down, or a proxy without one. */
export function isTransient({ code, status = 0 }: HawserError): boolean {
	return code === "node_unavailable" || status >= 500 || status === 429 || status === 408;
}

export function toHawserError(error: unknown): HawserError {
	if (error instanceof HawserError) return error;
	return new HawserError("internal", error instanceof Error ? error.message : String(error), { cause: error });
}
