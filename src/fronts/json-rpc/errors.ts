/** JSON-RPC errors: a code, which clients act on, and a message. */

/** Codes defined by JSON-RPC. Fronts add their own. */
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
