/** What the native API says about tokens, tickets and sign-in, in both directions. */

/** What a token does not do alone: somebody else has to approve it first. */
export type GateMessage = {
	/** Expressions: a command, or a line that is typed, in which one of them matches is held. */
	match: readonly string[];
	/** When a typed line is looked at: once Enter is pressed, or with each key. */
	keys: "enter" | "all";
	/** Whether signals are held, those that keys send included. */
	signals: boolean;
	/** Whether it is held to end a program, or to delete a session. */
	stops: boolean;
	/** How long an act is held at most; it is refused then. */
	timeoutMs: number;
};

export type CreateToken = {
	/** `admin`, `metrics`, `workspace:ID:read|operate|manage` or `session:ID:view|control`. */
	scopes: string[];
	name?: string;
	/** For ever, if left out, or as long as the token that makes it. */
	expiresInMs?: number;
	/** What it may do when a program reads a secret; as the token that makes it, if left out. */
	secrets?: SecretRight;
	/** None, if left out, but that of the token that makes it; of a gate, what is left out is `[]`, `enter`, false and five minutes. */
	gate?: Partial<GateMessage>;
};

/** To type one, only to ask for it to be typed by somebody else, or neither. */
export type SecretRight = "type" | "request" | "none";

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
	/** How many browsers it has signed in. */
	readonly opened: number;
	readonly secrets: SecretRight;
	/** What it does not do alone; null if it has no gate. */
	readonly gate: GateMessage | null;
};

/** The only answer that ever has a token's secret in it. */
export type CreatedToken = TokenMessage & { readonly token: string };

export type TokenList = { readonly tokens: readonly TokenMessage[] };

/** The answer when something is over that the disk did not take yet: after a crash now it would be back. */
export type NotDurable = { readonly durable: false; readonly message: string };

export type CreateTicket = { session: string; right?: "read" | "operate" };

export type CreatedTicket = { readonly ticket: string; readonly expiresAt: number };

export type SignInLink = { readonly url: string; readonly expiresAt: number };

/** What a browser shows to be signed in: exactly one of a token, which may be a guest's key, and the code of a link. */
export type SignIn = { token?: string; code?: string };

/** The answer, beside the cookie: what pages show with it, and as whom. */
export type SignedIn = { readonly pageKey: string; readonly name: string };

/** Shares one session with whoever has the link. */
export type CreateLink = {
	/** To see it, or to type into it as well; to see it, if left out. */
	right?: "view" | "control";
	/** An hour, if left out, and no longer than the token that makes it. */
	expiresInMs?: number;
	/** For who makes it, to know it by. */
	name?: string;
};

/** A link as it may be shown: the token behind it, which can be revoked as any other. */
export type LinkMessage = {
	readonly id: string;
	readonly name: string | null;
	readonly right: "view" | "control";
	readonly createdAt: number;
	readonly expiresAt: number | null;
	readonly lastUsedAt: number | null;
	/** How many browsers it has signed in. */
	readonly opened: number;
};

/** The only answer that has the key in it, in the part of the address that browsers do not send. */
export type CreatedLink = LinkMessage & { readonly url: string };

/** Oldest first. */
export type LinkList = { readonly links: readonly LinkMessage[] };
