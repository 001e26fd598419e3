/** What the kernel refused, as this wire says it. */

import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { systemFailure, systemText } from "../../json-rpc/system-error.ts";

/** For what is not there (contract §1.5). */
export const NOT_FOUND = -32004;

const invalidRequests: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL"]);

/** A failed call as the answer to the request it was made for; anything else is a bug of ours and stays what it is. */
export function fromSystem(thrown: unknown): unknown {
	const failure = systemFailure(thrown);
	if (!failure) return thrown;
	return new RpcError(rpcCode(failure.name), systemText(failure), { cause: thrown });
}

/** What happened, in one line: of the kernel's errors their text and number, of ours their text. */
export function errorText(thrown: unknown): string {
	const failure = systemFailure(thrown);
	if (failure) return systemText(failure);
	if (thrown instanceof RpcError) return thrown.message;
	throw thrown;
}

/** Whether a call failed in just this way. */
export function isError(thrown: unknown, name: string): boolean {
	return systemFailure(thrown)?.name === name;
}

function rpcCode(name: string): number {
	if (name === "ENOENT") return NOT_FOUND;
	return invalidRequests.has(name) ? rpcCodes.invalidRequest : rpcCodes.internal;
}
