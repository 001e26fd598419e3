/** JSON-RPC errors of the app-server. */

import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";

const OVERLOADED = -32001;

/** The request does not fit the current state. */
export function invalidRequest(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}

/** The parameters parse but make no sense. */
export function invalidParams(message: string): RpcError {
	return new RpcError(rpcCodes.invalidParams, message);
}

/** Too much is queued. The same request may succeed later. */
export function overloaded(): RpcError {
	return new RpcError(OVERLOADED, "Server overloaded; retry later.");
}
