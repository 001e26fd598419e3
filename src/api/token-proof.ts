/** Proof that a server knows a token before the client sends it: both ends compute an HMAC with the token's digest as the key. */

/** `address` is the one that the client dialed, so that an impostor can't forward the request to the real server. */
export function proofText(nonce: string, address: string): string {
	return `hawser proof\n${nonce}\n${address}`;
}

/** The public and the secret part of a token. */
export function partsOf(token: string): { readonly id: string; readonly secret: string } {
	const [, id, secret] = /^hwt_([0-9a-f]{12})_(.+)$/.exec(token) ?? [];
	return id === undefined || secret === undefined ? { id: "admin", secret: token } : { id, secret };
}
