/** What the kernel refused, as this wire says it. */

import { getSystemErrorMap } from "node:util";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";

/** What the kernel's errors are called in the system's own language; clients show these to people. */
const texts: Readonly<Record<string, string>> = {
	EPERM: "Operation not permitted",
	E2BIG: "Argument list too long",
	ENOENT: "No such file or directory",
	EIO: "Input/output error",
	ENXIO: "No such device or address",
	EBADF: "Bad file descriptor",
	EAGAIN: "Resource temporarily unavailable",
	ENOMEM: "Cannot allocate memory",
	EACCES: "Permission denied",
	EBUSY: "Device or resource busy",
	EEXIST: "File exists",
	EXDEV: "Invalid cross-device link",
	ENODEV: "No such device",
	ENOTDIR: "Not a directory",
	EISDIR: "Is a directory",
	EINVAL: "Invalid argument",
	ENFILE: "Too many open files in system",
	EMFILE: "Too many open files",
	ETXTBSY: "Text file busy",
	EFBIG: "File too large",
	ENOSPC: "No space left on device",
	EROFS: "Read-only file system",
	EMLINK: "Too many links",
	ENAMETOOLONG: "File name too long",
	ENOTEMPTY: "Directory not empty",
	ELOOP: "Too many levels of symbolic links",
	EOVERFLOW: "Value too large for defined data type",
	EOPNOTSUPP: "Operation not supported",
	ENOTSUP: "Operation not supported",
	ESTALE: "Stale file handle",
	EDQUOT: "Disk quota exceeded",
};

/** For what is not there (contract §1.5). */
export const NOT_FOUND = -32004;

const invalidRequests: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL"]);

/** A failed call as the answer to the request it was made for; anything else is a bug of ours and stays what it is. */
export function fromSystem(thrown: unknown): unknown {
	const failure = systemFailure(thrown);
	if (!failure) return thrown;
	return new RpcError(rpcCode(failure.name), messageOf(failure), { cause: thrown });
}

/** What happened, in one line: of the kernel's errors their text and number, of ours their text. */
export function errorText(thrown: unknown): string {
	const failure = systemFailure(thrown);
	if (failure) return messageOf(failure);
	if (thrown instanceof RpcError) return thrown.message;
	throw thrown;
}

/** Whether a call failed in just this way. */
export function isError(thrown: unknown, name: string): boolean {
	return systemFailure(thrown)?.name === name;
}

type SystemFailure = { readonly name: string; readonly number: number };

/** Node has the number with its sign turned, as the kernel gives it. */
function systemFailure(thrown: unknown): SystemFailure | undefined {
	const { code, errno } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
	if (!(thrown instanceof Error) || code === undefined || errno === undefined) return undefined;
	return { name: code, number: -errno };
}

function rpcCode(name: string): number {
	if (name === "ENOENT") return NOT_FOUND;
	return invalidRequests.has(name) ? rpcCodes.invalidRequest : rpcCodes.internal;
}

function messageOf({ name, number }: SystemFailure): string {
	const text = texts[name] ?? getSystemErrorMap().get(-number)?.[1] ?? name;
	return `${text} (os error ${number})`;
}
