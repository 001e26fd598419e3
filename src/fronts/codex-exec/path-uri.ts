/** Paths as this wire writes them, `file:` URIs; inside they are the bytes the kernel knows. */

import { RpcError, rpcCodes } from "../json-rpc/error.ts";
import { type Decode, refusal, string } from "../json-rpc/params.ts";

/** A URI that is well formed. Whether it names a path here is asked by the method, which answers in its own way. */
export type PathUri = {
	readonly uri: string;
	/** Absolute, without a slash at its end; undefined if it is a path of another kind of host. */
	readonly path: Buffer | undefined;
};

/** Before the bytes, in base64url, of a path that has no spelling of its own; no real path has a zero in it. */
const OPAQUE_PREFIX = "file:///%00/bad/path/";

const SLASH = 0x2f;

/** What a path may not hold as it is in a URI: all but printable ASCII, and what has a meaning there. */
const reserved: ReadonlySet<number> = new Set(Buffer.from(' "#%<>?\\`{}'));

export const pathUri: Decode<PathUri> = (value, field) => {
	const text = string(value, field);
	const url = parse(text);
	if (url.protocol !== "file:") throw refusal(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
	// An empty query or fragment is none to `URL`, but is there to be seen in the text.
	if (url.href.includes("?")) throw refusal("query parameters are not allowed in path URIs");
	if (url.href.includes("#")) throw refusal("fragments are not allowed in path URIs");
	const opaque = opaquePath(url.href);
	if (!opaque && /%00/.test(url.pathname)) throw refusal(invalidHere(url.href));
	return { uri: url.href, path: opaque ? absolute(opaque) : plainPath(url) };
};

/** The path of a `fs/*` request. */
export function nativePath({ uri, path }: PathUri): Buffer {
	if (!path) throw new RpcError(rpcCodes.invalidRequest, invalidHere(uri));
	return path;
}

/** Where `process/start` is asked to start something; the core knows only directories whose names are text. */
export function workingDirectory({ uri, path }: PathUri): string {
	const text = path?.toString();
	if (path && text !== undefined && Buffer.from(text).equals(path)) return text;
	throw refusal(`cwd URI \`${uri}\` is not valid on this exec-server host: ${invalidHere(uri)}`);
}

/** An absolute path as a URI, by the escape hatch where the plain spelling would be read as something else. */
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
		throw refusal(`invalid URI: ${hasScheme ? "malformed" : "relative URL without a base"}`);
	}
}

/** The path of a URI without tricks; undefined if it has a server or a drive, as only paths of Windows have. */
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

/** Without the slashes at the end, which would make the kernel follow a link that is to be looked at. */
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
