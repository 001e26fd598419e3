/** What a caller can't have: a number and a text. Clients act on the number. */

/** Those of JSON-RPC itself; a front has its own besides. */
export const rpcCodes = {
	invalidRequest: -32600,
	methodNotFound: -32601,
	invalidParams: -32602,
	internal: -32603,
} as const;

export class RpcError extends Error {
	readonly code: number;

	constructor(code: number, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "RpcError";
		this.code = code;
	}
}
