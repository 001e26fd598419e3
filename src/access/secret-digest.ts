/** Secrets of 256 random bits, stored only as digests. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** A source of random bytes, replaceable in tests. */
export type RandomBytes = (count: number) => Uint8Array;

const SECRET_BYTES = 32;

export function createSecret(randomBytes: RandomBytes): string {
	return Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
}

/** SHA-256 in hex. With 256 random bits, a slow hash would add no protection. */
export function digest(secret: string): string {
	return createHash("sha256").update(secret).digest("hex");
}

/** Takes the same time for every secret. */
export function isDigestOf(hash: string, secret: string): boolean {
	return timingSafeEqual(Buffer.from(hash, "hex"), createHash("sha256").update(secret).digest());
}

/** Proves knowledge of a secret: an HMAC whose key is the secret's digest. */
export function sign(hash: string, text: string): string {
	return createHmac("sha256", Buffer.from(hash, "hex")).update(text).digest("hex");
}
