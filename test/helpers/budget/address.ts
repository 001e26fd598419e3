/** Where a server listens, and how to get there: a port, with TLS or without, or a Unix socket. */

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export type Address = { readonly port: number; readonly isTls?: boolean } | { readonly path: string };

export function dial(address: Address): Socket {
	if ("path" in address) return connect(address.path);
	const { port, isTls = false } = address;
	// The certificate of the tests is nobody's business here.
	return isTls ? connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }) : connect(port, "127.0.0.1");
}
