/** Errors of the exec-server. */

import { SessionError } from "../../../core/errors.ts";
import type { Code } from "../../../words/error-code.ts";
import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import { spawnText } from "../../json-rpc/system-errors.ts";

/** Exhaustive: a new code is a compile error until it has a row. */
const rpcCodeOf: Readonly<Record<Code, number>> = {
	/** The parameters decode but no program can be started with them, such as a NUL in an argument. */
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
	stale: rpcCodes.invalidRequest,
	blocked: rpcCodes.invalidRequest,
	invalid_choice: rpcCodes.invalidRequest,
	not_approved: rpcCodes.invalidRequest,
	limit_exceeded: rpcCodes.internal,
	spawn_failed: rpcCodes.internal,
	unsupported: rpcCodes.internal,
	node_unavailable: rpcCodes.internal,
	internal: rpcCodes.internal,
};

/** Converts anything thrown. Internal errors keep their cause for the log; the client does not see it. */
export function toRpcError(thrown: unknown): RpcError {
	if (thrown instanceof RpcError) return thrown;
	const error = SessionError.from(thrown);
	const text = error.code === "spawn_failed" ? spawnText(error.cause) : undefined;
	const options = error.code === "internal" ? { cause: error.cause } : undefined;
	return new RpcError(rpcCodeOf[error.code], text ?? error.message, options);
}
