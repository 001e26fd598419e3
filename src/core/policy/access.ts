/** Callers and their rights: the types shared by the door, the fronts and the code that checks credentials. */

import type { Right, SecretRight } from "../../words/rights.ts";
import { SessionError } from "../errors.ts";
import type { Gate } from "./gate.ts";

/** The object of a right: a workspace, or one session in it. */
export type AccessResource = { readonly workspace: string; readonly session?: string };

/** Properties of every kind of caller. */
type PrincipalFacts = {
	/**
	 * Id of the token; `admin` for the operator's own, `jwt:USER` for all tokens of a user made by another issuer,
	 * `ticket:ID` for a ticket.
	 */
	readonly id: string;
	/** Budgets are counted per account: the token made by the operator from which this one descends, or itself. */
	readonly account: string;
	/**
	 * Display name: `admin`, `jwt:USER`, `token:ID:NAME`, or `ticket:ID:` and its maker's name. The prefix keeps a chosen
	 * name from imitating another caller.
	 */
	readonly name: string;
	/** The user behind the credential, as named by its issuer; missing if no issuer names one. */
	readonly user?: string;
	/** May do everything. */
	readonly isAdmin: boolean;
	/** May read the server's metrics. */
	readonly maySeeMetrics: boolean;
	readonly secrets: SecretRight;
	/** The tokens that it descends from, its maker first. */
	readonly makers: readonly string[];
	/** The scopes of the credential, for display. `may` decides. */
	readonly scopes: readonly string[];
	/** Holds some of its actions for approval; null if none. */
	readonly gate: Gate | null;
	/** Expiry time; null if it does not expire. */
	readonly expiresAt: number | null;
	may(right: Right, place: AccessResource): boolean;
	/** Aborted when the credential is revoked or expired. Everything that it opened must end then. */
	readonly revoked: AbortSignal;
	/** Counts one more created session or token. Returns zero if it is allowed, else the milliseconds to wait. */
	countCreation(): number;
};

/** A caller with its own credential: the operator, a token, a JWT, or any caller of a server without authentication. */
export type CredentialPrincipal = PrincipalFacts & { readonly kind: "credential" };

/** A signed-in browser. `revoked` aborts when the browser signs out; its credential may outlive it. */
export type BrowserPrincipal = PrincipalFacts & {
	readonly kind: "browser";
	readonly credential: CredentialPrincipal;
};

/** A WebSocket opened with a ticket: one session, up to one right. */
export type TicketPrincipal = PrincipalFacts & { readonly kind: "ticket" };

/**
 * A caller that may pass on its rights in tokens, links, tickets and sign-ins. A ticket may not: its rights end with
 * its socket.
 */
export type Grantor = CredentialPrincipal | BrowserPrincipal;

/** The caller of a request. */
export type Principal = Grantor | TicketPrincipal;

/** Returns the caller if it may grant rights; throws `permission_denied` otherwise. */
export function grantorOf(principal: Principal): Grantor {
	if (principal.kind !== "ticket") return principal;
	throw new SessionError("permission_denied", "a ticket opens one WebSocket and can't grant or revoke anything", {
		hint: "use the token that made the ticket",
	});
}

/**
 * Checks that a caller may change or delete something that another caller made. A caller with a gate may not, because
 * that would change what others do without approval. `owner` is the principal that made it, null for the operator.
 */
export function checkMayChange(by: Pick<Principal, "id" | "gate">, owner: string | null, what: string): void {
	if (by.gate === null || by.id === owner) return;
	throw new SessionError("permission_denied", `a token with a gate may not change ${what} that it did not make`, {
		hint: "the caller that made it, or a token without a gate, can change it",
	});
}

export function missingRightError(right: Right, { workspace, session }: AccessResource): SessionError {
	const what = session === undefined ? `workspace "${workspace}"` : `session "${session}"`;
	return new SessionError("permission_denied", `this token may not ${right} ${what}`, {
		hint: "ask the creator of this token for one with this right",
	});
}

/** The part of a principal that identifies an acting caller. */
export type CallerIdentity = Pick<Principal, "id" | "account" | "name" | "gate" | "revoked" | "may">;

/** The credentials in a request. Host and origin were checked before. */
export type Credentials = {
	/** Where the front's protocol carries it, such as a bearer header. */
	readonly credential: string | undefined;
	/** Offered in an upgrade by a browser, which can't set headers. */
	readonly ticket: string | undefined;
	/** The `Cookie` header. */
	readonly cookies: string | undefined;
	/** Shown by pages of ours in addition to the cookie. */
	readonly pageKey: string | undefined;
	readonly origin: string | undefined;
	/** Whether the request can only read: no upgrade, and a safe method. */
	readonly isSafe: boolean;
	/** The connection of the request. Some connections authenticate by themselves, such as the server's own socket. */
	readonly connection: object;
};

/** Authenticates a caller; rejects with `unauthenticated`. Rights are checked with the returned principal. */
export type Authorize = (caller: Credentials) => Principal | Promise<Principal>;

/**
 * Verifies credentials of another issuer. Returns undefined for a credential of another kind, and throws
 * `unauthenticated` for an invalid one of its kind.
 */
export type Verify = (credential: string) => Principal | undefined;

/** A token without its secret. */
export type TokenInfo = {
	readonly id: string;
	readonly name: string | null;
	readonly scopes: readonly string[];
	/** Milliseconds since the epoch, like all times. */
	readonly createdAt: number;
	readonly expiresAt: number | null;
	readonly lastUsedAt: number | null;
	/** The token that made it; null for the operator. */
	readonly parent: string | null;
	/** Number of browsers signed in with it. */
	readonly opened: number;
	readonly secrets: SecretRight;
	/** Holds some of its actions for approval. */
	readonly gate: Gate | null;
};

export type TokenRequest = {
	readonly name?: string | undefined;
	readonly scopes: readonly string[];
	readonly expiresInMs?: number | undefined;
	/** Defaults to the maker's right. */
	readonly secrets?: SecretRight | undefined;
	/** Added to the gate of the token that makes it. */
	readonly gate?: Gate | undefined;
};

/**
 * Prefix of a signed-in browser's cookie, before `_` and eight digits of the server. With TLS, the name makes browsers
 * refuse cookies set by another host or over plain HTTP.
 */
export const sessionCookies = { plain: "hawser_session", secure: "__Host-hawser_session" } as const;

/** The two secrets of a signed-in browser. */
export type SignedIn = {
	/** A `Set-Cookie` header. */
	readonly cookie: string;
	/** For pages of our origin only. */
	readonly pageKey: string;
	/** The caller that the browser is signed in as. */
	readonly owner: CallerIdentity;
};

/**
 * Whether a change that is in effect is also on disk, and so survives a crash. If not, it is written as soon as the
 * disk allows.
 */
export type Durability = { readonly isDurable: boolean };

export type SignedOut = Durability & {
	/** The `Set-Cookie` header that deletes the cookie. */
	readonly cookie: string;
	/** The caller that the browser was signed in as, if any. */
	readonly owner?: CallerIdentity | undefined;
};

/** Manages credentials. */
export interface Access {
	readonly authorize: Authorize;
	/** Whether browsers reach the server over TLS, perhaps through a proxy. */
	readonly isSecure: boolean;
	/** Creates a token with at most the rights and lifetime of its maker. Its secret is returned only here. */
	createToken(by: Grantor, request: TokenRequest): Promise<{ readonly secret: string; readonly token: TokenInfo }>;
	/** The tokens that `by` may revoke, oldest first. */
	listTokens(by: Grantor): readonly TokenInfo[];
	/**
	 * Revokes a token and its descendants, signs out their browsers and closes everything they opened. Can be repeated
	 * until it is on disk.
	 */
	revokeToken(by: Grantor, id: string): Promise<Durability>;
	/**
	 * Removes a deleted workspace from the scopes of all tokens, and revokes those with no other scope. Returns their
	 * ids.
	 */
	leaveWorkspace(by: Grantor, workspace: string): Promise<readonly string[]>;
	/**
	 * Signs a text with the token's secret hash (by token id, or `admin`). For an unknown token the signature is random.
	 */
	prove(token: string, text: string): string;
	/** A ticket for one upgrade, valid for a short time. */
	createTicket(
		by: Grantor,
		request: { readonly session: string; readonly right: "read" | "operate"; readonly origin: string | undefined },
	): { readonly id: string; readonly ticket: string; readonly expiresAt: number };
	/** A code that signs in one browser as `by`, valid for a short time. */
	createSignInCode(by: Grantor): { readonly code: string; readonly expiresAt: number };
	/** The caller that a sign-in code belongs to; undefined if it is invalid. Does not use it up. */
	signInOwner(code: string): Pick<Principal, "name"> | undefined;
	/** Signs in a browser with a code; undefined if the code is invalid. */
	signIn(code: string): Promise<SignedIn | undefined>;
	/** Signs in a browser of a caller with another credential. */
	signInAs(by: Grantor): Promise<SignedIn>;
	/** Whether an invalid credential is a token that was revoked or has expired, as far as these are remembered. */
	wasGood(credential: string): boolean;
	/** Signs out the browser of a `Cookie` header. */
	signOut(cookies: string | undefined): Promise<SignedOut>;
}
