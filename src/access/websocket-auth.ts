/** How clients of Codex's servers show who they are on a WebSocket: by the one token, or by one that is signed and expires. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Authorize, Principal } from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { type Expires, Expiring } from "./expiring.ts";
import { everything } from "./fixed.ts";
import { createRevocation, unauthenticated } from "./principal.ts";
import { digest, isDigestOf } from "./secret.ts";

export type WebSocketAuth =
	/** Of the token only its SHA-256 is known, in hex. */
	| { readonly kind: "capability-token"; readonly sha256: string }
	| ({ readonly kind: "signed-bearer-token" } & SignedTokenTerms);

type SignedTokenTerms = {
	readonly secret: string;
	/** Whom a token must be of and for; anybody, if left out. */
	readonly issuer?: string | undefined;
	readonly audience?: string | undefined;
	/** By how much the clock of whoever signs may differ from ours. */
	readonly clockSkewSeconds: number;
};

/** Whoever comes in may do everything. Why somebody may not is said in the words of Codex's servers. */
export function webSocketAuthorize(auth: WebSocketAuth, clock: Clock): Authorize {
	const judge = auth.kind === "capability-token" ? byToken(auth.sha256) : bySignature(auth, clock);
	return ({ credential }) => {
		if (credential === undefined) throw unauthenticated("a token is required");
		return judge(credential);
	};
}

type Judge = (token: string) => Principal;

function byToken(sha256: string): Judge {
	return (token) => {
		if (isDigestOf(sha256, token)) return everything("admin");
		throw unauthenticated("invalid websocket bearer token");
	};
}

/** What is opened with a signed token ends when the token would be refused. */
function bySignature(terms: SignedTokenTerms, clock: Clock): Judge {
	const bearers = new Expiring<Expires & { readonly principal: Principal }>(clock);
	return (token) => {
		const claims = claimsOf(token, terms.secret);
		if (!claims) throw unauthenticated("invalid websocket jwt");
		const fault = claimsFault(claims, terms, clock);
		if (fault !== undefined) throw unauthenticated(fault);
		const key = digest(token);
		const known = bearers.get(key);
		if (known) return known.principal;
		const revocation = createRevocation();
		const principal = { ...everything("admin"), revoked: revocation.signal };
		const expiresAt = (claims.exp + terms.clockSkewSeconds + 1) * 1000;
		return bearers.add(key, { owner: principal.id, expiresAt, revocation, principal }).principal;
	};
}

/** Signed tokens name times of the calendar, so that the wall clock decides here. */
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

/** What a JSON Web Token (RFC 7519) claims, if the secret signed it with HS256, the only algorithm that is taken. */
function claimsOf(token: string, secret: string): Claims | undefined {
	const [header = "", payload = "", signature = "", ...more] = token.split(".");
	const head = decoded(header);
	if (more.length > 0 || memberOf(head, "alg") !== "HS256") return undefined;
	// What a critical extension means nobody here knows (RFC 7515 §4.1.11).
	if (memberOf(head, "crit") !== undefined) return undefined;
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
