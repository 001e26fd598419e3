/** Secrets: 256 random bits each, kept as their digest only. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** A source of randomness, passed in so that a test can know what comes. */
export type RandomBytes = (count: number) => Uint8Array;

const SECRET_BYTES = 32;

export function createSecret(randomBytes: RandomBytes): string {
	return Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
}

/** SHA-256 in hex. A secret has too many values to be guessed, so that a slow hash would protect nothing more. */
export function digest(secret: string): string {
	return createHash("sha256").update(secret).digest("hex");
}

/** Takes the same time whatever the secret is, because digests have one length. */
export function isDigestOf(hash: string, secret: string): boolean {
	return timingSafeEqual(Buffer.from(hash, "hex"), createHash("sha256").update(secret).digest());
}

/** What only who knows the secret can say of a text; the key is the secret's digest. */
export function sign(hash: string, text: string): string {
	return createHmac("sha256", Buffer.from(hash, "hex")).update(text).digest("hex");
}
