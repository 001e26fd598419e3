/** What went wrong, as this wire says it. */

import { type Code, SessionError } from "../../core/errors.ts";
import { RpcError, rpcCodes } from "../json-rpc/error.ts";
import { spawnText } from "../json-rpc/system-error.ts";

/** Total by type: a new code does not compile until it has a row. */
const rpcCodeOf: Readonly<Record<Code, number>> = {
	/** Parameters were decoded by then: this is what no program can be started with, such as a NUL in an argument. */
	invalid_argument: rpcCodes.internal,
	unauthenticated: rpcCodes.invalidRequest,
	token_ended: rpcCodes.invalidRequest,
	permission_denied: rpcCodes.invalidRequest,
	not_found: rpcCodes.invalidRequest,
	session_not_found: rpcCodes.invalidRequest,
	conflict: rpcCodes.invalidRequest,
	session_exists: rpcCodes.invalidRequest,
	session_closed: rpcCodes.invalidRequest,
	not_writable: rpcCodes.invalidRequest,
	not_waiting: rpcCodes.invalidRequest,
	not_approved: rpcCodes.invalidRequest,
	limit_exceeded: rpcCodes.internal,
	spawn_failed: rpcCodes.internal,
	unsupported: rpcCodes.internal,
	node_unavailable: rpcCodes.internal,
	internal: rpcCodes.internal,
};

/** Anything thrown, as the answer; our own bugs keep their cause for the log, and their text to themselves. */
export function toRpcError(thrown: unknown): RpcError {
	if (thrown instanceof RpcError) return thrown;
	const error = SessionError.from(thrown);
	const text = error.code === "spawn_failed" ? spawnText(error.cause) : undefined;
	const options = error.code === "internal" ? { cause: error.cause } : undefined;
	return new RpcError(rpcCodeOf[error.code], text ?? error.message, options);
}
