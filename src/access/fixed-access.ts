/** Authentication for servers that store no tokens: by one fixed token, or not at all. */

import type { Authorize, CredentialPrincipal } from "../core/policy/access.ts";
import { unauthenticated } from "./principal.ts";
import { digest, isDigestOf } from "./secret-digest.ts";

/** The holder of the token has full access; all other requests are refused. */
export function adminOnly(token: string): Authorize {
	const expected = digest(token);
	return ({ credential }) => {
		if (isDigestOf(expected, credential ?? "") && token !== "") return fullAccess("admin");
		throw unauthenticated(credential === undefined ? "a token is required" : "the token is not valid");
	};
}

/** For a server that trusts every client that can reach it. */
export const allowAnyone: Authorize = () => fullAccess(anybodyId);

/** The id of all callers of such a server. */
export const anybodyId = "anybody";

/** A caller with all rights. */
export function fullAccess(name: string): CredentialPrincipal {
	const revoked = new AbortController().signal;
	return {
		kind: "credential",
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
