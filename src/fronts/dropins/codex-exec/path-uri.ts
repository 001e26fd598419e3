/** Paths are `file:` URIs on the wire and bytes inside the server. */

import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import * as rpc from "../../json-rpc/params.ts";

/**
 * A well-formed URI. The method checks whether it names a path on this host, because the error depends on the method.
 */
export type PathUri = {
	readonly uri: string;
	/** Absolute, without a trailing slash; undefined if it is a path of another kind of host. */
	readonly path: Buffer | undefined;
};

/** Prefix of a base64url path that has no plain URI. No real path contains a zero byte. */
const OPAQUE_PREFIX = "file:///%00/bad/path/";

const SLASH = 0x2f;

/** Bytes that must be escaped: everything but printable ASCII, and characters with a meaning in URIs. */
const reserved: ReadonlySet<number> = new Set(Buffer.from(' "#%<>?\\`{}'));

export const pathUri: rpc.Decode<PathUri> = (value, field) => {
	const text = rpc.string(value, field);
	const url = parse(text);
	if (url.protocol !== "file:") throw rpc.refusal(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
	// `URL` reports an empty query or fragment as none, so the text is checked.
	if (url.href.includes("?")) throw rpc.refusal("query parameters are not allowed in path URIs");
	if (url.href.includes("#")) throw rpc.refusal("fragments are not allowed in path URIs");
	const opaque = opaquePath(url.href);
	if (!opaque && /%00/.test(url.pathname)) throw rpc.refusal(invalidHere(url.href));
	return { uri: url.href, path: opaque ? absolute(opaque) : plainPath(url) };
};

/** The path of an `fs/*` request. */
export function nativePath({ uri, path }: PathUri): Buffer {
	if (!path) throw new RpcError(rpcCodes.invalidRequest, invalidHere(uri));
	return path;
}

/** The working directory of `process/start`. The core supports only directories whose names are UTF-8. */
export function workingDirectory({ uri, path }: PathUri): string {
	const text = path?.toString();
	if (path && text !== undefined && Buffer.from(text).equals(path)) return text;
	throw rpc.refusal(`cwd URI \`${uri}\` is not valid on this exec-server host: ${invalidHere(uri)}`);
}

/** Converts an absolute path to a URI; uses the opaque prefix if the plain form would parse differently. */
export function toPathUri(path: Buffer | string): string {
	const native = Buffer.from(path);
	const spelled = [...native].map((byte) =>
		byte > 0x20 && byte < 0x7f && !reserved.has(byte)
			? String.fromCharCode(byte)
			: `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
	);
	const uri = `file://${spelled.join("")}`;
	const url = new URL(uri);
	return plainPath(url)?.equals(native) && url.href === uri ? uri : OPAQUE_PREFIX + native.toString("base64url");
}

function parse(text: string): URL {
	try {
		return new URL(text);
	} catch {
		const hasScheme = /^\s*[a-z][a-z0-9+.-]*:/i.test(text);
		throw rpc.refusal(`invalid URI: ${hasScheme ? "malformed" : "relative URL without a base"}`);
	}
}

/** The path of a plain URI; undefined if it has a host or a drive, as Windows paths do. */
function plainPath({ host, pathname }: URL): Buffer | undefined {
	const [first = ""] = pathname.split("/").filter((segment) => segment !== "");
	return host === "" && !/^[a-z]:$/i.test(first) ? absolute(percentDecoded(pathname)) : undefined;
}

function opaquePath(uri: string): Buffer | undefined {
	if (!uri.startsWith(OPAQUE_PREFIX)) return undefined;
	const encoded = uri.slice(OPAQUE_PREFIX.length);
	const path = Buffer.from(encoded, "base64url");
	return encoded !== "" && path.toString("base64url") === encoded ? path : undefined;
}

/** Removes trailing slashes, which would make the kernel follow a link. */
function absolute(path: Buffer): Buffer | undefined {
	if (path[0] !== SLASH || path.includes(0)) return undefined;
	let end = path.length;
	while (end > 1 && path[end - 1] === SLASH) end--;
	return path.subarray(0, end);
}

function percentDecoded(text: string): Buffer {
	const bytes: number[] = [];
	for (let at = 0; at < text.length; at++) {
		const hex = text[at] === "%" && /^[0-9a-f]{2}$/i.test(text.slice(at + 1, at + 3));
		bytes.push(hex ? Number.parseInt(text.slice(at + 1, at + 3), 16) : text.charCodeAt(at));
		if (hex) at += 2;
	}
	return Buffer.from(bytes);
}

function invalidHere(uri: string): string {
	return `'${uri}' is invalid on '${process.platform}'`;
}
