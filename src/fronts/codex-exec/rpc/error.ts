/** What a caller of this front can't have: a number of the wire's closed set, and a text. */

/** The numbers the client knows (contract §1.5); it acts on them, never on the text. */
export const rpcCodes = {
	invalidRequest: -32600,
	methodNotFound: -32601,
	invalidParams: -32602,
	internal: -32603,
	notFound: -32004,
	stillAttached: -32010,
} as const;

export class RpcError extends Error {
	readonly code: number;

	constructor(code: number, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "RpcError";
		this.code = code;
	}
}
