/**
 * JSON Web Tokens (RFC 7519) that somebody else has signed.
 *
 * The algorithm follows from the key that the operator gave, never from the token: whoever writes `none`, or `HS256`
 * over a public key, is refused before anything is computed.
 */

import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";

type JwtKey = { readonly algorithm: "HS256" | "RS256" | "EdDSA"; readonly key: KeyObject };

export type JwtRules = {
	readonly key: JwtKey;
	/** Must be its `iss`, to the letter. */
	readonly issuer: string;
	/** Must be its `aud`, or one of them. */
	readonly audience: string;
};

/** What a valid token says. */
export type JwtClaims = {
	readonly subject: string;
	/** Milliseconds since the epoch. */
	readonly expiresAt: number;
	/** The rights by workspace, as they stand there. */
	readonly workspaces: Readonly<Record<string, unknown>>;
};

/** Rights in a hundred workspaces fit; all that is longer is refused before it is looked at. */
export const MAX_JWT_BYTES: number = 8 * 1024;
/** As long as what HS256 makes of it (RFC 7518 §3.2): a shorter one could be guessed from any token. */
const MIN_SECRET_BYTES = 32;
const MIN_RSA_BITS = 2048;
/** How far the clock of who signs may be ahead of ours. */
const LEEWAY_MS = 30_000;
/** A subject becomes part of names that people read. */
const subjectPattern = /^[^\p{C}\s]{1,128}$/u;

/** The key in a file: a public key as PEM, or a secret as one line of text. What is wrong is said without its text. */
export function parseJwtKey(text: string): JwtKey {
	if (text.includes("-----BEGIN ")) return parsePublicKey(text);
	const secret = text.replace(/\r?\n$/, "");
	// Neither a key in JSON or DER form nor a line of OpenSSH may ever be taken for a secret: they may be public.
	if (!/^[\x21-\x7e]+$/.test(secret) || secret.startsWith("{")) {
		throw new Error("is neither a public key in PEM form nor a secret of one line without spaces");
	}
	if (secret.length < MIN_SECRET_BYTES) throw new Error(`has a secret of less than ${MIN_SECRET_BYTES} characters`);
	return { algorithm: "HS256", key: createSecretKey(Buffer.from(secret)) };
}

function parsePublicKey(pem: string): JwtKey {
	if (pem.includes("PRIVATE KEY-----")) throw new Error("has a private key; the public one is enough");
	let key: KeyObject;
	try {
		key = createPublicKey(pem);
	} catch {
		throw new Error("has no public key that can be read");
	}
	if (key.asymmetricKeyType === "ed25519") return { algorithm: "EdDSA", key };
	if (key.asymmetricKeyType !== "rsa")
		throw new Error(`has a key of type ${key.asymmetricKeyType}, not rsa or ed25519`);
	const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
	if (bits < MIN_RSA_BITS) throw new Error(`has an RSA key of ${bits} bits; it takes ${MIN_RSA_BITS}`);
	return { algorithm: "RS256", key };
}

/** A token in its parts; undefined for what is none. */
type Jwt = { readonly signed: string; readonly signature: Buffer };

export function splitJwt(text: string): Jwt | undefined {
	if (text.length > MAX_JWT_BYTES) return undefined;
	const [, signed, signature] = /^([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(text) ?? [];
	if (signed === undefined || signature === undefined) return undefined;
	return { signed, signature: Buffer.from(signature, "base64url") };
}

/** What it says, if it is ours to believe at this time; throws why it is not. */
export function readJwt({ signed, signature }: Jwt, { key, issuer, audience }: JwtRules, now: number): JwtClaims {
	const [head, body] = signed.split(".");
	const header = parsePart(head);
	if (header?.alg !== key.algorithm || !isSignedWith(key, signed, signature))
		throw new Error("its signature is not valid");
	// What a critical extension means nobody here knows (RFC 7515 §4.1.11).
	if (header.crit !== undefined) throw new Error("it has a critical extension");
	const claims = parsePart(body);
	if (claims === undefined) throw new Error("it has no claims");
	const { iss, aud, sub, exp, nbf, workspaces } = claims;
	if (iss !== issuer) throw new Error("it is not from the issuer that is trusted here");
	if (aud !== audience && !(Array.isArray(aud) && aud.includes(audience)))
		throw new Error("it is not meant for this server");
	if (typeof sub !== "string" || !subjectPattern.test(sub)) throw new Error("it names nobody");
	if (!isSeconds(exp)) throw new Error("it has no end");
	if (exp * 1000 <= now) throw new Error("it has expired");
	if (nbf !== undefined && !(isSeconds(nbf) && nbf * 1000 <= now + LEEWAY_MS)) throw new Error("its time has not come");
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

/** A time that fits a date. */
function isSeconds(value: unknown): value is number {
	return typeof value === "number" && value > 0 && value < 8.64e12;
}
