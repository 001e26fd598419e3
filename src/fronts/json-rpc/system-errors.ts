/** The texts of system errors in the wording of Rust, which Codex clients show to users. */

import { getSystemErrorMap } from "node:util";

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

type SystemFailure = { readonly name: string; readonly number: number };

/** The system error in `thrown`, if there is one. Node's `errno` is negative, as in the kernel. */
export function systemFailure(thrown: unknown): SystemFailure | undefined {
	const { code, errno } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
	if (!(thrown instanceof Error) || code === undefined || errno === undefined) return undefined;
	return { name: code, number: -errno };
}

export function systemText({ name, number }: SystemFailure): string {
	const text = texts[name] ?? getSystemErrorMap().get(-number)?.[1] ?? name;
	return `${text} (os error ${number})`;
}

/** The text of a failed start, if its cause has an `errno`. */
export function spawnText(cause: unknown): string | undefined {
	const { code, errno } = (cause ?? {}) as { readonly code?: unknown; readonly errno?: unknown };
	if (typeof code !== "string" || typeof errno !== "number") return undefined;
	return systemText({ name: code, number: Math.abs(errno) });
}
