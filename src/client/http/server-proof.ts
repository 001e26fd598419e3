/** Makes a server prove that it knows the token before the token is sent. */

import { partsOf, proofText } from "../../api/token-proof.ts";
import type { ProofMessage, ProofRequest } from "../../api/types.ts";
import { HawserError } from "../errors.ts";
import { joinUrl } from "./urls.ts";

const NONCE_BYTES = 32;

type Proving = { readonly url: string; readonly token: string; readonly fetch: typeof globalThis.fetch };

/** Throws `node_unavailable` if the server at this address did not issue the token. */
export async function checkProof({ url, token, fetch }: Proving): Promise<void> {
	const { id, secret } = partsOf(token);
	const nonce = toHex(globalThis.crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
	const expected = await sign(secret, proofText(nonce, dialled(url)));
	const question: ProofRequest = { token: id, nonce };
	const response = await fetch(joinUrl(url, "/v1/proof"), {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(question),
		redirect: "error",
	});
	const answer = (await response.json().catch(() => undefined)) as Partial<ProofMessage> | undefined;
	if (answer?.proof === expected) return;
	throw new HawserError("node_unavailable", `the server at ${url} did not issue this token`, {
		hint: "use its own IP address and port; behind a proxy or a tunnel, set mustProve to false",
	});
}

/** The address as the server sees its end of the connection. */
function dialled(url: string): string {
	const { hostname, port, protocol } = new URL(url);
	return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

async function sign(secret: string, text: string): Promise<string> {
	const { subtle } = globalThis.crypto;
	const bytes = (words: string) => new TextEncoder().encode(words);
	const digest = await subtle.digest("SHA-256", bytes(secret));
	const key = await subtle.importKey("raw", digest, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
	return toHex(new Uint8Array(await subtle.sign("HMAC", key, bytes(text))));
}

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
