/** How a server proves that it knows a token before it is shown to it: both ends sign the same words with the token's digest. */

export type ProofRequest = {
	/** Which token: its id, or `admin` for the operator's own. */
	readonly token: string;
	/** Never used before. */
	readonly nonce: string;
};

/** HMAC-SHA256 of `proofText`, in hex; its key is the SHA-256 of the token's secret. */
export type ProofMessage = { readonly proof: string };

/** `address` is the one that was dialled, so that nobody can pass the question on to a server elsewhere. */
export function proofText(nonce: string, address: string): string {
	return `hawser proof\n${nonce}\n${address}`;
}

/** The public and the secret part of a token. */
export function partsOf(token: string): { readonly id: string; readonly secret: string } {
	const [, id, secret] = /^hwt_([0-9a-f]{12})_(.+)$/.exec(token) ?? [];
	return id === undefined || secret === undefined ? { id: "admin", secret: token } : { id, secret };
}
