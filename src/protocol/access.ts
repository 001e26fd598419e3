/** What the native API says about tokens, tickets and sign-in, in both directions. */

export type CreateToken = {
	/** `admin`, `metrics`, `workspace:ID:read|operate|manage` or `session:ID:view|control`. */
	scopes: string[];
	name?: string;
	/** For ever, if left out, or as long as the token that makes it. */
	expiresInMs?: number;
};

/** A token as it may be shown. Times are milliseconds since the epoch. */
export type TokenMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly scopes: readonly string[];
	readonly createdAt: number;
	readonly expiresAt: number | null;
	readonly lastUsedAt: number | null;
	/** The token that made it; null for the operator. */
	readonly parent: string | null;
};

/** The only answer that ever has a token's secret in it. */
export type CreatedToken = TokenMessage & { readonly token: string };

export type TokenList = { readonly tokens: readonly TokenMessage[] };

/** The answer when something is over that the disk did not take yet: after a crash now it would be back. */
export type NotDurable = { readonly durable: false; readonly message: string };

export type CreateTicket = { session: string; right?: "read" | "operate" };

export type CreatedTicket = { readonly ticket: string; readonly expiresAt: number };

export type SignInLink = { readonly url: string; readonly expiresAt: number };
