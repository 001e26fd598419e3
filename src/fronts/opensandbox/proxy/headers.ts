/** Which headers pass a proxy: all but those of one connection (RFC 9110 §7.6.1), and ours of who is calling or signed in. */

import type { OutgoingHttpHeaders } from "node:http";
import { sessionCookies } from "../../../core/access.ts";
import { pageKeyHeader } from "../../../protocol/page-key.ts";

/** Names and values one after the other, as Node has them: what was sent twice is there twice. */
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

/** Never of one connection, whatever `Connection` says: without them, what follows a request could pass for the next one. */
const ofTheRequest: ReadonlySet<string> = new Set(["content-length", "host"]);

/** By these a caller has been let in here; they are nobody else's business. */
const credentials = ["x-execd-access-token", pageKeyHeader];

/** Browsers have one jar for all ports of a host; a cookie without a name is sent as if its value had one. */
const ourCookie = new RegExp(`^[\\s=]*(?:${Object.values(sessionCookies).join("|")})(?:_[0-9a-f]{8})?\\s*=`, "i");

/** By these the door has judged a request. To ourselves it comes again, by an address that would make them wrong. */
const judged = ["host", "origin", "referer", "sec-fetch-site"];

type Passage = {
	/** Where the request goes, as `Host` says it to ourselves. */
	readonly host: string;
	readonly isOwnPort: boolean;
	/** Of who is calling. */
	readonly address: string;
	readonly isUpgrade: boolean;
};

/** What the request is sent on with. */
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
		// Node would send the body of a DELETE without saying where it ends.
		if (listOf(raw, "transfer-encoding") !== undefined) headers.push("Transfer-Encoding", "chunked");
	}
	return headers;
}

/** What the answer is sent on with; Node adds how this connection carries it. */
export function responseHeaders(raw: RawHeaders, isOwnPort: boolean): string[] {
	return without(upgradeHeaders(raw, isOwnPort), []);
}

/** What an answer is sent on with that makes the connection another one. No other port may sign a browser in here, or out. */
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

const VIA = "1.1 hawser";

/** How many of us a request has passed already. */
export function hopsOf(raw: RawHeaders): number {
	return (listOf(raw, "via") ?? "").split(",").filter((hop) => hop.trim() === VIA).length;
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

/** All values of a header as one list; undefined if it was not sent. */
function listOf(raw: RawHeaders, wanted: string): string | undefined {
	const values = pairsOf(raw).flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
	return values.length === 0 ? undefined : values.join(", ");
}

function pairsOf(raw: RawHeaders): [name: string, value: string][] {
	const pairs: [string, string][] = [];
	for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
	return pairs;
}
