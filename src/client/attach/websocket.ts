/** The WebSocket to use: the browser's, the package `ws` in Node.js, or the caller's. */

import { type Role, subprotocol, ticketPrefix } from "../../api/socket.ts";
import { HawserError, isProgrammingError } from "../errors.ts";
import type { Transport } from "../http/transport.ts";
import { joinUrl, sessionPath } from "../http/urls.ts";

/** The parts of a WebSocket that the client uses. Events have the types of the implementation, hence `never`. */
export interface WebSocketLike {
	binaryType: string;
	send(data: string | Uint8Array): void;
	close(code?: number, reason?: string): void;
	/** Drops the connection. Only `ws` has it. */
	terminate?(): void;
	onopen: ((event: never) => void) | null;
	onmessage: ((event: never) => void) | null;
	onerror: ((event: never) => void) | null;
	onclose: ((event: never) => void) | null;
}

/** Browsers take two arguments and ignore the third, which is for `ws`. */
export type WebSocketConstructor = new (
	url: string,
	protocols: string[],
	options?: {
		headers?: Record<string, string>;
		perMessageDeflate?: boolean;
		maxPayload?: number;
		createConnection?: never;
	},
) => WebSocketLike;

/** Created by a server for this page, and valid for one connection. A function creates one for each connection. */
export type Ticket = string | (() => string | Promise<string>);

/** Far above the largest frame of a server. Bounds the memory that another peer could use. */
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Starts to connect to a session at the current address. The caller sets the handlers synchronously. */
export async function openWebSocket(
	transport: Transport,
	{ id, role, ticket }: { readonly id: string; readonly role: Role; readonly ticket: Ticket | undefined },
): Promise<WebSocketLike> {
	const { url, token, pageKey, WebSocket, createConnection } = await transport.address();
	const target = joinUrl(url, `${sessionPath(id)}/attach`);
	target.protocol = createConnection ? "ws:" : target.protocol.replace("http", "ws");
	const Constructor = WebSocket ?? (await findWebSocket());
	const withTicket = (shown: string) => new Constructor(target.href, [subprotocol, `${ticketPrefix}${shown}`]);
	if (ticket !== undefined) return withTicket(await shownTicket(ticket));
	if ((token ?? pageKey) === undefined || canSetHeaders(Constructor)) {
		const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
		return new Constructor(target.href, [subprotocol], {
			headers,
			perMessageDeflate: false,
			maxPayload: MAX_PAYLOAD_BYTES,
			// Has the implementation's type, like the events.
			...(createConnection ? { createConnection: createConnection as never } : {}),
		});
	}
	const body = { session: id, right: role === "writer" ? "operate" : "read" } as const;
	return withTicket((await transport.call("createTicket", { body })).ticket);
}

/** A subprotocol allows no other characters (RFC 6455 §4.1), and browsers throw for them. */
const TICKET_FORM = /^[\w-]{1,200}$/;

/** Resolves with the ticket. Rejects with a temporary error if the function fails. */
async function shownTicket(ticket: Ticket): Promise<string> {
	const given: unknown = typeof ticket === "function" ? await madeBy(ticket) : ticket;
	if (typeof given === "string" && TICKET_FORM.test(given)) return given;
	const what = typeof given === "string" ? "not a valid ticket" : `a value of type ${typeof given}`;
	throw new HawserError("invalid_argument", `the ticket of this attachment is ${what}`, {
		hint: "pass the field `ticket` of the response to POST /v1/tickets",
	});
}

async function madeBy(newTicket: Exclude<Ticket, string>): Promise<unknown> {
	try {
		return await newTicket();
	} catch (error) {
		if (error instanceof HawserError) throw error;
		const message = `the ticket function failed: ${error instanceof Error ? error.message : String(error)}`;
		throw new HawserError(isProgrammingError(error) ? "internal" : "node_unavailable", message, { cause: error });
	}
}

/**
 * Prefers `ws` in Node.js, because the built-in WebSocket does not report the status of a refused upgrade. Bundlers for
 * browsers find an empty module.
 */
async function findWebSocket(): Promise<WebSocketConstructor> {
	const own = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
	if (own && !isNode()) return own;
	try {
		return (await import("ws")).WebSocket;
	} catch (error) {
		if (own) return own;
		throw new HawserError("unsupported", "no WebSocket implementation found", {
			hint: 'install the package "ws", or give a constructor: connect({ url, WebSocket })',
			cause: error,
		});
	}
}

function canSetHeaders(kind: WebSocketConstructor): boolean {
	return isNode() && kind !== (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
}

function isNode(): boolean {
	return typeof (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === "string";
}
