/** Where a connection really came in: what its request says about that may be anybody's words. */

type LocalAddress = {
	/** As it stands in a URL. */
	readonly host: string;
	readonly port: number;
};

/** Undefined for a connection that has no address, such as one over a Unix socket. */
export function localAddressOf(connection: {
	readonly localAddress?: string | undefined;
	readonly localPort?: number | undefined;
}): LocalAddress | undefined {
	const { localAddress, localPort: port } = connection;
	if (localAddress === undefined || port === undefined) return undefined;
	// An IPv4 connection to a listener of both kinds.
	const ip = localAddress.replace(/^::ffff:(?=\d+\.)/, "");
	return { host: ip.includes(":") ? `[${ip}]` : ip, port };
}
