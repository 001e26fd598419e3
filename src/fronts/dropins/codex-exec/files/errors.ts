/** Converts system errors to errors of the exec-server. */

import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { systemFailure, systemText } from "../../../json-rpc/system-errors.ts";

/** The file does not exist (contract §1.5). */
export const NOT_FOUND = -32004;

const invalidRequests: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL"]);

/** Converts a system error; anything else is an internal error and returned unchanged. */
export function fromSystem(thrown: unknown): unknown {
	const failure = systemFailure(thrown);
	if (!failure) return thrown;
	return new RpcError(rpcCode(failure.name), systemText(failure), { cause: thrown });
}

/** One line of text: text and number of a system error, or the message of an RpcError. */
export function errorText(thrown: unknown): string {
	const failure = systemFailure(thrown);
	if (failure) return systemText(failure);
	if (thrown instanceof RpcError) return thrown.message;
	throw thrown;
}

/** Whether the call failed with this error. */
export function isError(thrown: unknown, name: string): boolean {
	return systemFailure(thrown)?.name === name;
}

function rpcCode(name: string): number {
	if (name === "ENOENT") return NOT_FOUND;
	return invalidRequests.has(name) ? rpcCodes.invalidRequest : rpcCodes.internal;
}
