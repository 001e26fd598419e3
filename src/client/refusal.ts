/** What the end of a connection means: whether to come back, and if not, what to tell. */

import { closeCodes } from "../protocol/socket.ts";
import { sessionPath } from "./address.ts";
import type { Ending } from "./connection.ts";
import { HawserError } from "./error.ts";
import type { Transport } from "./transport.ts";
import type { Ticket } from "./web-socket.ts";

/** Nothing a further attempt would change. */
export const finalCodes: Readonly<Record<number, (reason: string) => HawserError>> = {
	[closeCodes.protocolError]: (reason) => new HawserError("internal", `the server did not understand us: ${reason}`),
	[closeCodes.unauthenticated]: (reason) =>
		new HawserError("unauthenticated", reason || "the token is not valid any more"),
	[closeCodes.sessionRemoved]: (reason) => new HawserError("session_not_found", reason || "the session was removed"),
	[closeCodes.detached]: (reason) => new HawserError("conflict", reason || "somebody has detached everybody"),
	[closeCodes.tooBig]: (reason) => new HawserError("limit_exceeded", reason || "a message was too large"),
	[closeCodes.internal]: (reason) => new HawserError("internal", reason || "the server failed"),
};

/** What a status says when the server's own words can't be had. */
const statuses: Readonly<Record<number, HawserError["code"]>> = {
	400: "invalid_argument",
	401: "unauthenticated",
	403: "permission_denied",
	404: "unsupported",
	426: "unsupported",
};

/** Why there can be no further connection; undefined when it is worth trying. */
export async function finalError(
	ending: Ending,
	transport: Transport,
	{ id, ticket, signal }: { readonly id: string; readonly ticket: Ticket | undefined; readonly signal: AbortSignal },
): Promise<HawserError | undefined> {
	if (ending.fault !== undefined) return toHawserError(ending.fault);
	const final = finalCodes[ending.code];
	if (final) return final(ending.reason);
	if (typeof ticket === "string") return usedUp(ending);
	// Whoever makes tickets is asked again; a page without a token has nobody else to ask.
	if (ending.wasWelcome || ticket !== undefined) return undefined;
	// A browser does not tell why an upgrade was refused, and `ws` only the status: a plain request does.
	try {
		const response = await transport.request({ path: sessionPath(id), signal });
		await response.body?.cancel();
	} catch (error) {
		return error instanceof HawserError && !isPassing(error) ? error : undefined;
	}
	const code = statuses[ending.status ?? 0];
	return code && new HawserError(code, `the server refused to attach, with status ${ending.status}`);
}

function usedUp({ wasWelcome }: Ending): HawserError {
	const message = wasWelcome
		? "the connection is lost, and its ticket was good for one"
		: "the ticket was not accepted";
	return new HawserError("unauthenticated", message, {
		hint: "give a function as ticket, which makes a new one each time",
	});
}

/** Whether it may be over soon: no server, one on its way out, or something between us that has none to ask. */
export function isPassing({ code, status = 0 }: HawserError): boolean {
	return code === "node_unavailable" || status >= 500 || status === 429 || status === 408;
}

export function toHawserError(error: unknown): HawserError {
	if (error instanceof HawserError) return error;
	return new HawserError("internal", error instanceof Error ? error.message : String(error), { cause: error });
}
