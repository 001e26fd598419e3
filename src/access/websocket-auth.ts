/** How clients of Codex's servers show who they are on a WebSocket: by the one token, or by one that is signed and expires. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Authorize } from "../core/access.ts";
import { everything } from "./fixed.ts";
import { unauthenticated } from "./principal.ts";
import { isDigestOf } from "./secret.ts";

export type WebSocketAuth =
	/** Of the token only its SHA-256 is known, in hex. */
	| { readonly kind: "capability-token"; readonly sha256: string }
	| ({ readonly kind: "signed-bearer-token" } & SignedTokenTerms);

export type SignedTokenTerms = {
	readonly secret: string;
	/** Whom a token must be of and for; anybody, if left out. */
	readonly issuer?: string | undefined;
	readonly audience?: string | undefined;
	/** By how much the clock of whoever signs may differ from ours. */
	readonly clockSkewSeconds: number;
};

/** Whoever comes in may do everything. Why somebody may not is said in the words of Codex's servers. */
export function webSocketAuthorize(auth: WebSocketAuth): Authorize {
	return ({ credential }) => {
		if (credential === undefined) throw unauthenticated("a token is required");
		const fault = auth.kind === "capability-token" ? tokenFault(credential, auth) : signedTokenFault(credential, auth);
		if (fault !== undefined) throw unauthenticated(fault);
		return everything("admin");
	};
}

function tokenFault(token: string, { sha256 }: { readonly sha256: string }): string | undefined {
	return isDigestOf(sha256, token) ? undefined : "invalid websocket bearer token";
}

/** Signed tokens name times of the calendar, so that the wall clock decides here. */
function signedTokenFault(token: string, terms: SignedTokenTerms): string | undefined {
	const claims = claimsOf(token, terms.secret);
	if (!claims) return "invalid websocket jwt";
	const now = Math.floor(Date.now() / 1000);
	if (now > claims.exp + terms.clockSkewSeconds) return "expired websocket jwt";
	if (claims.nbf !== undefined && now < claims.nbf - terms.clockSkewSeconds) return "websocket jwt is not valid yet";
	if (terms.issuer !== undefined && claims.iss !== terms.issuer) return "websocket jwt issuer mismatch";
	if (terms.audience !== undefined && !claims.aud.includes(terms.audience)) return "websocket jwt audience mismatch";
	return undefined;
}

type Claims = {
	readonly exp: number;
	readonly nbf: number | undefined;
	readonly iss: string | undefined;
	readonly aud: readonly string[];
};

/** What a JSON Web Token (RFC 7519) claims, if the secret signed it with HS256, the only algorithm that is taken. */
function claimsOf(token: string, secret: string): Claims | undefined {
	const [header = "", payload = "", signature = "", ...more] = token.split(".");
	if (more.length > 0 || memberOf(decoded(header), "alg") !== "HS256") return undefined;
	const expected = createHmac("sha256", secret).update(`${header}.${payload}`).digest();
	const given = Buffer.from(signature, "base64url");
	// What is not written in the one way that it can be was not written by who signed it.
	if (given.toString("base64url") !== signature || given.length !== expected.length) return undefined;
	return timingSafeEqual(given, expected) ? checkedClaims(decoded(payload)) : undefined;
}

function checkedClaims(claims: unknown): Claims | undefined {
	const exp = memberOf(claims, "exp");
	const nbf = memberOf(claims, "nbf") ?? undefined;
	const iss = memberOf(claims, "iss") ?? undefined;
	const aud = [memberOf(claims, "aud") ?? []].flat();
	if (!isTime(exp) || (nbf !== undefined && !isTime(nbf))) return undefined;
	if (iss !== undefined && typeof iss !== "string") return undefined;
	return aud.every((each) => typeof each === "string") ? { exp, nbf, iss, aud } : undefined;
}

/** In seconds since the epoch. */
function isTime(value: unknown): value is number {
	return Number.isSafeInteger(value);
}

function decoded(part: string): unknown {
	try {
		return JSON.parse(Buffer.from(part, "base64url").toString());
	} catch {
		return undefined;
	}
}

function memberOf(value: unknown, name: string): unknown {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
	return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
