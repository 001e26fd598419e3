/** What a caller of this wire can't have. */

import { RpcError, rpcCodes } from "../json-rpc/error.ts";

const OVERLOADED = -32001;

/** A request that does not fit what is going on. */
export function refused(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}

/** Parameters that can be read, and make no sense. */
export function conflicting(message: string): RpcError {
	return new RpcError(rpcCodes.invalidParams, message);
}

/** Too much waits already; the same request may well be taken a little later. */
export function overloaded(): RpcError {
	return new RpcError(OVERLOADED, "Server overloaded; retry later.");
}
