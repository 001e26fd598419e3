/** Where a server listens and how to connect: a port with or without TLS, or a Unix socket. */

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export type Address = { readonly port: number; readonly isTls?: boolean } | { readonly path: string };

export function dial(address: Address): Socket {
	if ("path" in address) return connect(address.path);
	const { port, isTls = false } = address;
	// The tests' certificate is not verified here.
	return isTls ? connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }) : connect(port, "127.0.0.1");
}
