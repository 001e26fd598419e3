/** Headers that pass the proxy: all but hop-by-hop headers (RFC 9110 §7.6.1) and our credentials. */

import type { OutgoingHttpHeaders } from "node:http";
import { pageKeyHeader } from "../../../../api/page-key.ts";
import { sessionCookies } from "../../../../core/policy/access.ts";
import { hopsIn, VIA } from "../../../../http/via.ts";

/** Names and values alternate, as in Node; repeated headers are repeated. */
export type RawHeaders = readonly string[];

const ofOneConnection = [
	"connection",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
];

/** Kept even if `Connection` names them: without them, the bytes after a request could be parsed as another request. */
const ofTheRequest: ReadonlySet<string> = new Set(["content-length", "host"]);

/** Credentials of this server, which must not reach other ports. */
const credentials = ["x-execd-access-token", pageKeyHeader];

/** Browsers share cookies between all ports of a host. A cookie without a name is sent as just its value. */
const ourCookie = new RegExp(`^[\\s=]*(?:${Object.values(sessionCookies).join("|")})(?:_[0-9a-f]{8})?\\s*=`, "i");

/**
 * Headers already checked by the door. When the proxy's target is this server, they would be wrong for the new address.
 */
const judged = ["host", "origin", "referer", "sec-fetch-site"];

type Passage = {
	/** The `Host` header when the target is this server. */
	readonly host: string;
	readonly isOwnPort: boolean;
	/** Address of the caller. */
	readonly address: string;
	readonly isUpgrade: boolean;
};

/** The headers of the forwarded request. */
export function requestHeaders(raw: RawHeaders, passage: Passage): OutgoingHttpHeaders {
	const headers = new Map<string, { readonly name: string; readonly values: string[] }>();
	for (const [name, value] of pairsOf(passedOn(raw, passage))) {
		const known = headers.get(name.toLowerCase());
		if (known) known.values.push(value);
		else headers.set(name.toLowerCase(), { name, values: [value] });
	}
	return Object.fromEntries(
		[...headers.values()].map(({ name, values }) => [name, values.length === 1 ? values[0] : values]),
	);
}

function passedOn(raw: RawHeaders, { host, isOwnPort, address, isUpgrade }: Passage): string[] {
	const replaced = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "via", "expect"];
	const headers = without(isOwnPort ? raw : withoutOurCookie(raw), [
		...replaced,
		...(isOwnPort ? judged : credentials),
	]);
	if (isOwnPort) headers.push("Host", host);
	const forwardedFor = listOf(raw, "x-forwarded-for")?.split(",")[0]?.trim() || address;
	headers.push("X-Forwarded-For", forwardedFor, "X-Forwarded-Proto", "http", "Via", nextVia(raw));
	if (isUpgrade) headers.push("Connection", "Upgrade", "Upgrade", listOf(raw, "upgrade") ?? "");
	else {
		headers.push("Connection", "close");
		// Otherwise Node would send the body of a DELETE without framing.
		if (listOf(raw, "transfer-encoding") !== undefined) headers.push("Transfer-Encoding", "chunked");
	}
	return headers;
}

/** The headers of the forwarded response; Node adds the hop-by-hop ones. */
export function responseHeaders(raw: RawHeaders, isOwnPort: boolean): string[] {
	return without(upgradeHeaders(raw, isOwnPort), []);
}

/**
 * The headers of a forwarded upgrade response. Another port must not sign a browser in to this server, or out of it.
 */
export function upgradeHeaders(raw: RawHeaders, isOwnPort: boolean): RawHeaders {
	if (isOwnPort) return raw;
	return pairsOf(raw)
		.filter(([name, value]) => {
			const lower = name.toLowerCase();
			return lower !== "clear-site-data" && !(lower === "set-cookie" && ourCookie.test(value));
		})
		.flat();
}

function withoutOurCookie(raw: RawHeaders): RawHeaders {
	return pairsOf(raw).flatMap(([name, value]) => {
		if (name.toLowerCase() !== "cookie") return [name, value];
		const others = value.split(";").filter((pair) => !ourCookie.test(pair));
		return others.length === 0 ? [] : [name, others.map((pair) => pair.trim()).join("; ")];
	});
}

/** Number of times the request has passed this proxy. */
export function hopsOf(raw: RawHeaders): number {
	return hopsIn(listOf(raw, "via"));
}

function nextVia(raw: RawHeaders): string {
	const before = listOf(raw, "via");
	return before === undefined ? VIA : `${before}, ${VIA}`;
}

function without(raw: RawHeaders, names: readonly string[]): string[] {
	const named = (listOf(raw, "connection") ?? "").split(",").map((name) => name.trim().toLowerCase());
	const dropped = new Set([...ofOneConnection, ...named.filter((name) => !ofTheRequest.has(name)), ...names]);
	return pairsOf(raw).flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}

/** All values of a header, joined; undefined if absent. */
function listOf(raw: RawHeaders, wanted: string): string | undefined {
	const values = pairsOf(raw).flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
	return values.length === 0 ? undefined : values.join(", ");
}

function pairsOf(raw: RawHeaders): [name: string, value: string][] {
	const pairs: [string, string][] = [];
	for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
	return pairs;
}
