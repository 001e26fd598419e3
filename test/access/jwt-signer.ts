/** Signs JWTs like an issuer, or like an untrusted one. */

import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export type Signer = {
	/** The content of the server's key file. */
	readonly keyFile: string;
	/** Claims and header fields override the usual ones. Undefined removes one. */
	sign(claims: object, header?: object): string;
};

export const ISSUER = "https://multica.test";
export const AUDIENCE = "hawser";
export const SECRET = "a-secret-that-is-longer-than-32-characters";

/** The usual claims are valid for a long time, by any clock that checks them. */
const usual = { iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: 4_000_000_000 };

export function hmacSigner(secret = SECRET): Signer {
	return signer("HS256", `${secret}\n`, (bytes) => createHmac("sha256", secret).update(bytes).digest());
}

export function rsaSigner(bits = 2048): Signer {
	const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
	return signer("RS256", pem(publicKey), (bytes) => sign("sha256", bytes, privateKey));
}

export function edSigner(): Signer {
	const { privateKey, publicKey } = generateKeyPairSync("ed25519");
	return signer("EdDSA", pem(publicKey), (bytes) => sign(null, bytes, privateKey));
}

function pem(key: KeyObject): string {
	return key.export({ type: "spki", format: "pem" }).toString();
}

function signer(alg: string, keyFile: string, signBytes: (bytes: Buffer) => Buffer): Signer {
	return {
		keyFile,
		sign(claims, header = {}) {
			const signed = `${part({ alg, typ: "JWT", ...header })}.${part({ ...usual, ...claims })}`;
			return `${signed}.${signBytes(Buffer.from(signed)).toString("base64url")}`;
		},
	};
}

export function part(value: unknown): string {
	return Buffer.from(JSON.stringify(value)).toString("base64url");
}
