/** Who is calling and what they may do, as everybody asks it: fronts, the server's door, and whoever checks credentials. */

import type { Gate } from "./gate.ts";

/** What somebody may do with sessions: look at them, act on them, or make and end them. */
export type Right = "read" | "operate" | "manage";

/**
 * What somebody who may operate a session may do when its program reads a secret: type it, only ask for it to be typed
 * by somebody else, or neither. It is about the secret lane alone; see `docs/security.md`.
 */
export type SecretRight = (typeof secretRights)[number];
/** Each holds those before it. */
export const secretRights = ["none", "request", "type"] as const;

/** What a right is about: a workspace, or one session in it. */
export type Place = { readonly workspace: string; readonly session?: string };

/** Who is calling, and what they may do. */
export type Principal = {
	/** Of the token; `admin` for the operator's own, `jwt:USER` for all of somebody's that others made. */
	readonly id: string;
	/** Whom what it has counts for, where callers have shares: the token that the operator made and it came from, or itself. */
	readonly account: string;
	/** How others hear of them: `admin`, `jwt:USER`, or `token:ID:NAME`, whose name is free and so can pretend nothing. */
	readonly name: string;
	/** The person behind the credential, as whoever vouches for them calls them; left out where nobody does. */
	readonly user?: string;
	/** May do everything, everywhere. */
	readonly isAdmin: boolean;
	/** May see the server's own numbers. */
	readonly maySeeMetrics: boolean;
	readonly secrets: SecretRight;
	/** The tokens that it came from, its maker first. */
	readonly makers: readonly string[];
	/** What the credential is good for, as tokens say it; `may` is what decides. */
	readonly scopes: readonly string[];
	/** What it does not do alone; null if it may do alone what it may do. */
	readonly gate: Gate | null;
	/** When it ends by itself; null if it does not. */
	readonly expiresAt: number | null;
	may(right: Right, place: Place): boolean;
	/** Aborted when the credential is revoked or over: whatever it opened must end then. */
	readonly revoked: AbortSignal;
	/** Counts one more session or token made; zero if it may be, otherwise how long to wait, in milliseconds. */
	countCreation(): number;
};

/** Of a caller, what must be known of who does something. */
export type Bearer = Pick<Principal, "id" | "account" | "name" | "gate" | "revoked">;

/** What somebody shows of who they are. The host and the origin are checked by then. */
export type Caller = {
	/** Where the front's protocol carries it, such as a bearer header. */
	readonly credential: string | undefined;
	/** Offered in an upgrade by a browser, which can't set headers. */
	readonly ticket: string | undefined;
	/** The `Cookie` header. */
	readonly cookies: string | undefined;
	/** What a page of ours shows besides its cookie. */
	readonly pageKey: string | undefined;
	readonly origin: string | undefined;
	/** Whether it can only read: no upgrade, and a method that changes nothing. */
	readonly isSafe: boolean;
	/** What the request came over: there may be connections that say by themselves who is at their other end. */
	readonly connection: object;
};

/** Says who a caller is; rejects with `unauthenticated`. What they may do is asked of the principal. */
export type Authorize = (caller: Caller) => Principal | Promise<Principal>;

/**
 * Knows credentials that somebody else has made: who shows one, undefined for what is none of them. Rejects with
 * `unauthenticated` what is one of them and not good.
 */
export type Verify = (credential: string) => Principal | undefined;

/** A token as it may be shown: everything but its secret. */
export type TokenInfo = {
	readonly id: string;
	readonly name: string | null;
	readonly scopes: readonly string[];
	/** Milliseconds since the epoch, as all times. */
	readonly createdAt: number;
	readonly expiresAt: number | null;
	readonly lastUsedAt: number | null;
	/** The token that made it; null for the operator. */
	readonly parent: string | null;
	/** How many browsers it has signed in. */
	readonly opened: number;
	readonly secrets: SecretRight;
	/** What it does not do alone. */
	readonly gate: Gate | null;
};

export type TokenRequest = {
	readonly name?: string | undefined;
	readonly scopes: readonly string[];
	readonly expiresInMs?: number | undefined;
	/** As its maker, if left out. */
	readonly secrets?: SecretRight | undefined;
	/** Besides that of the token that makes it. */
	readonly gate?: Gate | undefined;
};

/** How the cookie of a signed-in browser begins, before `_` and eight digits for the server. With TLS its name makes browsers refuse one that another host or a plain connection has set. */
export const sessionCookies = { plain: "hawser_session", secure: "__Host-hawser_session" } as const;

/** The two halves of what a browser shows from then on. */
export type SignedIn = {
	/** A `Set-Cookie` header. */
	readonly cookie: string;
	/** For pages of our origin alone. */
	readonly pageKey: string;
	/** Whose browser it is now. */
	readonly owner: Bearer;
};

/** Something is in force; whether it is on disk too, and so will be after a crash. It gets there as soon as the disk takes it. */
export type Durability = { readonly isDurable: boolean };

export type SignedOut = Durability & {
	/** The `Set-Cookie` header that takes the cookie away. */
	readonly cookie: string;
	/** Whose browser it was, if it was anybody's. */
	readonly owner?: Bearer | undefined;
};

/** Everything that is asked of whoever knows the credentials. */
export interface Access {
	readonly authorize: Authorize;
	/** Whether browsers reach us over TLS, whoever does it. */
	readonly isSecure: boolean;
	/** Makes a token that may do no more and live no longer than its maker; its secret is known only now. */
	createToken(by: Principal, request: TokenRequest): Promise<{ readonly secret: string; readonly token: TokenInfo }>;
	/** Those that `by` may revoke, oldest first. */
	listTokens(by: Principal): readonly TokenInfo[];
	/** Ends a token, those it made, their browsers and everything they have open. Asked again while it is not on disk, it tries again. */
	revokeToken(by: Principal, id: string): Promise<Durability>;
	/** A workspace is deleted: what tokens may do there ends, and with it those that may do nothing else, whose ids these are. */
	leaveWorkspace(by: Principal, workspace: string): Promise<readonly string[]>;
	/** Signs a text with what is known of a token (its id, or `admin`), as only who has the token could tell; with nonsense for one that is not there. */
	prove(token: string, text: string): string;
	/** Good for one upgrade, soon. */
	createTicket(
		by: Principal,
		request: { readonly session: string; readonly right: "read" | "operate"; readonly origin: string | undefined },
	): { readonly ticket: string; readonly expiresAt: number };
	/** Good for one browser, soon; it will be worth what `by` is. */
	createSignInCode(by: Principal): { readonly code: string; readonly expiresAt: number };
	/** As whom a sign-in code would sign in; undefined if it is not good, or not any more. It is not used up by this. */
	signInOwner(code: string): Pick<Principal, "name"> | undefined;
	/** What a browser gets for a sign-in code; undefined if that is not good, or not any more. */
	signIn(code: string): Promise<SignedIn | undefined>;
	/** The same for somebody who has shown another credential. */
	signInAs(owner: Principal): Promise<SignedIn>;
	/** Whether what is not good was a token once, that was revoked or has expired; as far as is remembered. */
	wasGood(credential: string): boolean;
	/** Ends the browser of a `Cookie` header. */
	signOut(cookies: string | undefined): Promise<SignedOut>;
}
