/** Authenticates WebSocket clients of the Codex servers, by a fixed token or by signed tokens that expire. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/async/clock.ts";
import type { Authorize, CredentialPrincipal } from "../core/policy/access.ts";
import { type Expires, ExpiringCredentials } from "./expiring-credentials.ts";
import { fullAccess } from "./fixed-access.ts";
import { createRevocation, unauthenticated } from "./principal.ts";
import { digest, isDigestOf } from "./secret-digest.ts";

export type WebSocketAuth =
	/** Only the SHA-256 of the token is known, in hex. */
	| { readonly kind: "capability-token"; readonly sha256: string }
	| ({ readonly kind: "signed-bearer-token" } & SignedTokenTerms);

type SignedTokenTerms = {
	readonly secret: string;
	/** Required issuer and audience of a token; any by default. */
	readonly issuer?: string | undefined;
	readonly audience?: string | undefined;
	/** Allowed difference between the signer's clock and ours. */
	readonly clockSkewSeconds: number;
};

/** Every authenticated caller has full access. Refusals use the messages of the Codex servers. */
export function webSocketAuthorize(auth: WebSocketAuth, clock: Clock): Authorize {
	const judge = auth.kind === "capability-token" ? byToken(auth.sha256) : bySignature(auth, clock);
	return ({ credential }) => {
		if (credential === undefined) throw unauthenticated("a token is required");
		return judge(credential);
	};
}

type Judge = (token: string) => CredentialPrincipal;

function byToken(sha256: string): Judge {
	return (token) => {
		if (isDigestOf(sha256, token)) return fullAccess("admin");
		throw unauthenticated("invalid websocket bearer token");
	};
}

/** Connections opened with a signed token end when the token expires. */
function bySignature(terms: SignedTokenTerms, clock: Clock): Judge {
	const credentials = new ExpiringCredentials<Expires & { readonly principal: CredentialPrincipal }>(clock);
	return (token) => {
		const claims = claimsOf(token, terms.secret);
		if (!claims) throw unauthenticated("invalid websocket jwt");
		const fault = claimsFault(claims, terms, clock);
		if (fault !== undefined) throw unauthenticated(fault);
		const key = digest(token);
		const known = credentials.get(key);
		if (known) return known.principal;
		const revocation = createRevocation();
		const principal = { ...fullAccess("admin"), revoked: revocation.signal };
		const expiresAt = (claims.exp + terms.clockSkewSeconds + 1) * 1000;
		return credentials.add(key, { owner: principal.id, expiresAt, revocation, principal }).principal;
	};
}

/** Signed tokens contain calendar times, so the wall clock counts here. */
function claimsFault(claims: Claims, terms: SignedTokenTerms, clock: Clock): string | undefined {
	const now = Math.floor(clock.now() / 1000);
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

/** The claims of a JSON Web Token (RFC 7519) signed with HS256 and this secret. No other algorithm is accepted. */
function claimsOf(token: string, secret: string): Claims | undefined {
	const [header = "", payload = "", signature = "", ...more] = token.split(".");
	const head = decoded(header);
	if (more.length > 0 || memberOf(head, "alg") !== "HS256") return undefined;
	// A critical extension must be understood, and none is (RFC 7515 §4.1.11).
	if (memberOf(head, "crit") !== undefined) return undefined;
	const expected = createHmac("sha256", secret).update(`${header}.${payload}`).digest();
	const given = Buffer.from(signature, "base64url");
	// Base64 that is not in canonical form was not written by the signer.
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

/** Seconds since the epoch. */
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
