/** A WebSocket wherever we run: the browser's, the package `ws` in Node, or whatever the caller brings. */

import { type Role, subprotocol, ticketPrefix } from "../protocol/socket.ts";
import { below, sessionPath } from "./address.ts";
import { HawserError } from "./error.ts";
import type { Transport } from "./transport.ts";

/** As much of a WebSocket as we use. The events are given by whoever implements it, hence `never`. */
export interface WebSocketLike {
	binaryType: string;
	send(data: string | Uint8Array): void;
	close(code?: number, reason?: string): void;
	/** `ws` can cut a connection; others can only ask for its end. */
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

/** Made by somebody else for this page, and good for one connection; a function is asked for a new one each time. */
export type Ticket = string | (() => string | Promise<string>);

/** Far above what a server sends in one frame; bounds what a stranger could make us keep. */
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Begins a connection to a session at the address of now. Who calls sets the handlers in the same turn. */
export async function openWebSocket(
	transport: Transport,
	{ id, role, ticket }: { readonly id: string; readonly role: Role; readonly ticket: Ticket | undefined },
): Promise<WebSocketLike> {
	const { url, token, pageKey, WebSocket, createConnection } = await transport.address();
	const target = below(url, `${sessionPath(id)}/attach`);
	target.protocol = createConnection ? "ws:" : target.protocol.replace("http", "ws");
	const Constructor = WebSocket ?? (await findWebSocket());
	const withTicket = (shown: string) => new Constructor(target.href, [subprotocol, `${ticketPrefix}${shown}`]);
	if (ticket !== undefined) return withTicket(typeof ticket === "string" ? ticket : await ticket());
	if ((token ?? pageKey) === undefined || canSetHeaders(Constructor)) {
		const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
		return new Constructor(target.href, [subprotocol], {
			headers,
			perMessageDeflate: false,
			maxPayload: MAX_PAYLOAD_BYTES,
			// Its type is that of whoever implements it, as with the events.
			...(createConnection ? { createConnection: createConnection as never } : {}),
		});
	}
	const wanted = { session: id, right: role === "writer" ? "operate" : "read" };
	const response = await transport.request({ method: "POST", path: "/v1/tickets", json: wanted });
	return withTicket(((await response.json()) as { ticket: string }).ticket);
}

/** Node's own WebSocket says nothing of the status that refused it, so `ws` is preferred there. Bundlers for browsers find an empty one. */
async function findWebSocket(): Promise<WebSocketConstructor> {
	const own = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
	if (own && !isNode()) return own;
	try {
		return (await import("ws")).WebSocket;
	} catch (error) {
		if (own) return own;
		throw new HawserError("unsupported", "there is no WebSocket here", {
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
