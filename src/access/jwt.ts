/**
 * Verifies JSON Web Tokens (RFC 7519) of another issuer.
 *
 * The operator's key determines the algorithm, never the token. So `none`, and `HS256` with a public key as the secret,
 * are refused before anything is computed.
 */

import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";

type JwtKey = { readonly algorithm: "HS256" | "RS256" | "EdDSA"; readonly key: KeyObject };

export type JwtRules = {
	readonly key: JwtKey;
	/** Must equal the token's `iss`. */
	readonly issuer: string;
	/** Must equal the token's `aud`, or one of its entries. */
	readonly audience: string;
};

/** Claims of a valid token. */
export type JwtClaims = {
	readonly subject: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
	/** Unverified rights by workspace, as in the token. */
	readonly workspaces: Readonly<Record<string, unknown>>;
};

/**
 * Enough for rights in a hundred workspaces. Longer tokens are refused without parsing.
 * @limit a JWT | 401
 */
export const MAX_JWT_BYTES: number = 8 * 1024;
/** As long as the output of HS256 (RFC 7518 §3.2). A shorter secret could be guessed from any token. */
const MIN_SECRET_BYTES = 32;
const MIN_RSA_BITS = 2048;
/** How far the issuer's clock may be ahead of ours. */
const LEEWAY_MS = 30_000;
/** A subject becomes part of names that users see. */
const subjectPattern = /^[^\p{C}\s]{1,128}$/u;

/** Parses a key file: a public key as PEM, or a secret as one line of text. Errors never quote the file. */
export function parseJwtKey(text: string): JwtKey {
	if (text.includes("-----BEGIN ")) return parsePublicKey(text);
	const secret = text.replace(/\r?\n$/, "");
	// A key in JSON, DER or OpenSSH format must never be used as a secret: it may be public.
	if (!/^[\x21-\x7e]+$/.test(secret) || secret.startsWith("{")) {
		throw new Error("is neither a public key in PEM form nor a secret of one line without spaces");
	}
	if (secret.length < MIN_SECRET_BYTES)
		throw new Error(`has a secret that is too short (minimum ${MIN_SECRET_BYTES} characters)`);
	return { algorithm: "HS256", key: createSecretKey(Buffer.from(secret)) };
}

function parsePublicKey(pem: string): JwtKey {
	if (pem.includes("PRIVATE KEY-----")) throw new Error("has a private key; use the public key");
	let key: KeyObject;
	try {
		key = createPublicKey(pem);
	} catch {
		throw new Error("has no valid public key");
	}
	if (key.asymmetricKeyType === "ed25519") return { algorithm: "EdDSA", key };
	if (key.asymmetricKeyType !== "rsa")
		throw new Error(`has a key of type ${key.asymmetricKeyType}; use rsa or ed25519`);
	const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
	if (bits < MIN_RSA_BITS) throw new Error(`has an RSA key of ${bits} bits (minimum ${MIN_RSA_BITS})`);
	return { algorithm: "RS256", key };
}

/** A token split into its parts. */
type Jwt = { readonly signed: string; readonly signature: Buffer };

export function splitJwt(text: string): Jwt | undefined {
	if (text.length > MAX_JWT_BYTES) return undefined;
	const [, signed, signature] = /^([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(text) ?? [];
	if (signed === undefined || signature === undefined) return undefined;
	return { signed, signature: Buffer.from(signature, "base64url") };
}

/** The claims of a token that is valid now. Throws the reason why it is not. */
export function readJwt({ signed, signature }: Jwt, { key, issuer, audience }: JwtRules, now: number): JwtClaims {
	const [head, body] = signed.split(".");
	const header = parsePart(head);
	if (header?.alg !== key.algorithm || !isSignedWith(key, signed, signature)) throw new Error("invalid signature");
	// A critical extension must be understood, and none is (RFC 7515 §4.1.11).
	if (header.crit !== undefined) throw new Error("critical extensions (crit) are not supported");
	const claims = parsePart(body);
	if (claims === undefined) throw new Error("no claims");
	const { iss, aud, sub, exp, nbf, workspaces } = claims;
	if (iss !== issuer) throw new Error("wrong issuer (iss)");
	if (aud !== audience && !(Array.isArray(aud) && aud.includes(audience))) throw new Error("wrong audience (aud)");
	if (typeof sub !== "string" || !subjectPattern.test(sub)) throw new Error("missing or invalid sub");
	if (!isSeconds(exp)) throw new Error("missing or invalid exp");
	if (exp * 1000 <= now) throw new Error("expired");
	if (nbf !== undefined && !(isSeconds(nbf) && nbf * 1000 <= now + LEEWAY_MS)) throw new Error("not valid yet (nbf)");
	return { subject: sub, expiresAt: exp * 1000, workspaces: isObject(workspaces) ? workspaces : {} };
}

function isSignedWith({ algorithm, key }: JwtKey, signed: string, signature: Buffer): boolean {
	const bytes = Buffer.from(signed);
	switch (algorithm) {
		case "HS256": {
			const expected = createHmac("sha256", key).update(bytes).digest();
			return expected.length === signature.length && timingSafeEqual(expected, signature);
		}
		case "RS256":
			return verify("sha256", bytes, key, signature);
		case "EdDSA":
			return verify(null, bytes, key, signature);
	}
}

function parsePart(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
	try {
		const value: unknown = JSON.parse(Buffer.from(text ?? "", "base64url").toString());
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Seconds since the epoch within the range of `Date`. */
function isSeconds(value: unknown): value is number {
	return typeof value === "number" && value > 0 && value < 8.64e12;
}
