/** The local address of a connection, which is reliable where its `Host` header is not. */

type LocalAddress = {
	/** In the form used in a URL. */
	readonly host: string;
	readonly port: number;
};

/** Undefined for a connection without an address, such as one over a Unix socket. */
export function localAddressOf(connection: {
	readonly localAddress?: string | undefined;
	readonly localPort?: number | undefined;
}): LocalAddress | undefined {
	const { localAddress, localPort: port } = connection;
	if (localAddress === undefined || port === undefined) return undefined;
	// An IPv4 connection to a dual-stack listener.
	const ip = localAddress.replace(/^::ffff:(?=\d+\.)/, "");
	return { host: ip.includes(":") ? `[${ip}]` : ip, port };
}
