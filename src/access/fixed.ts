/** Who may come in where no tokens are kept: the bearer of one token, or everybody. */

import type { Authorize, Principal } from "../core/access.ts";
import { unauthenticated } from "./principal.ts";
import { digest, isDigestOf } from "./secret.ts";

/** The token's bearer may do everything, nobody else anything. */
export function adminOnly(token: string): Authorize {
	const expected = digest(token);
	return ({ credential }) => {
		if (isDigestOf(expected, credential ?? "") && token !== "") return everything("admin");
		throw unauthenticated(credential === undefined ? "a token is required" : "the token is not valid");
	};
}

/** For a server that trusts whoever can reach it. */
export const anybody: Authorize = () => everything("anybody");

/** A caller who may do everything. */
export function everything(name: string): Principal {
	const revoked = new AbortController().signal;
	return {
		id: name,
		account: name,
		name,
		isAdmin: true,
		maySeeMetrics: true,
		secrets: "type",
		makers: [],
		scopes: ["admin"],
		gate: null,
		expiresAt: null,
		may: () => true,
		revoked,
		countCreation: () => 0,
	};
}
