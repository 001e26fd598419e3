/** What the native API says about tokens, tickets and sign-in, and the schemas that check it. */

import Type, { type TUnsafe } from "typebox";
import { MAX_EXPRESSION_LENGTH, MAX_EXPRESSIONS, MAX_GATE_TIMEOUT_MS } from "../../../core/gate.ts";
import type {
	CreatedLink,
	CreatedTicket,
	CreatedToken,
	CreateLink,
	CreateTicket,
	CreateToken,
	LinkList,
	NotDurable,
	SignedIn,
	SignIn,
	SignInLink,
	TokenList,
} from "../../../protocol/access.ts";
import type { ProofMessage, ProofRequest } from "../../../protocol/proof.ts";
import { closed, displayName, nullable } from "../schemas.ts";

/** A hundred years: more would not be a safe number of milliseconds for long. */
const MAX_EXPIRES_MS = 3_153_600_000_000;

const time = Type.Integer({ minimum: 0 });
const secrets = Type.Union([Type.Literal("type"), Type.Literal("request"), Type.Literal("none")]);

const gateFields = {
	match: Type.Array(Type.String({ minLength: 1, maxLength: MAX_EXPRESSION_LENGTH }), { maxItems: MAX_EXPRESSIONS }),
	keys: Type.Union([Type.Literal("enter"), Type.Literal("all")]),
	signals: Type.Boolean(),
	stops: Type.Boolean(),
	timeoutMs: Type.Integer({ minimum: 1, maximum: MAX_GATE_TIMEOUT_MS }),
};

export const createToken: TUnsafe<CreateToken> = Type.Unsafe<CreateToken>(
	Type.Object(
		{
			scopes: Type.Array(Type.String({ maxLength: 160 }), { minItems: 1, maxItems: 32 }),
			name: Type.Optional(displayName),
			expiresInMs: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EXPIRES_MS })),
			secrets: Type.Optional(secrets),
			gate: Type.Optional(Type.Partial(Type.Object(gateFields, closed))),
		},
		{
			...closed,
			title: "CreateToken",
			examples: [
				{ scopes: ["workspace:ci:manage"], name: "ci", expiresInMs: 7_776_000_000 },
				{ scopes: ["workspace:agents:manage"], gate: { match: ["rm -rf", "git push"], stops: true } },
			],
		},
	),
);

const tokenFields = {
	id: Type.String(),
	name: nullable(Type.String()),
	scopes: Type.Array(Type.String()),
	createdAt: time,
	expiresAt: nullable(time),
	lastUsedAt: nullable(time),
	parent: nullable(Type.String()),
	opened: Type.Integer(),
	secrets,
	gate: nullable(Type.Object(gateFields, { title: "Gate" })),
};

export const createdToken: TUnsafe<CreatedToken> = Type.Unsafe<CreatedToken>(
	Type.Object({ ...tokenFields, token: Type.String() }, { title: "CreatedToken" }),
);

export const tokenList: TUnsafe<TokenList> = Type.Unsafe<TokenList>(
	Type.Object({ tokens: Type.Array(Type.Object(tokenFields, { title: "Token" })) }, { title: "TokenList" }),
);

export const notDurable: TUnsafe<NotDurable> = Type.Unsafe<NotDurable>(
	Type.Object({ durable: Type.Literal(false), message: Type.String() }, { title: "NotDurable" }),
);

export const createTicket: TUnsafe<CreateTicket> = Type.Unsafe<CreateTicket>(
	Type.Object(
		{
			session: Type.String({ minLength: 1, maxLength: 64 }),
			right: Type.Optional(Type.Union([Type.Literal("read"), Type.Literal("operate")])),
		},
		{ ...closed, title: "CreateTicket" },
	),
);

export const createdTicket: TUnsafe<CreatedTicket> = Type.Unsafe<CreatedTicket>(
	Type.Object({ ticket: Type.String(), expiresAt: time }, { title: "Ticket" }),
);

export const signInLink: TUnsafe<SignInLink> = Type.Unsafe<SignInLink>(
	Type.Object({ url: Type.String(), expiresAt: time }, { title: "SignInLink" }),
);

/** Longer than any token, JWTs included. */
const MAX_CREDENTIAL = 8192;

export const signIn: TUnsafe<SignIn> = Type.Unsafe<SignIn>(
	Type.Object(
		{
			token: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_CREDENTIAL })),
			code: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_CREDENTIAL })),
		},
		{ ...closed, minProperties: 1, maxProperties: 1, title: "SignIn" },
	),
);
export const signedIn: TUnsafe<SignedIn> = Type.Unsafe<SignedIn>(
	Type.Object({ pageKey: Type.String(), name: Type.String() }, { title: "SignedIn" }),
);

const linkRight = Type.Union([Type.Literal("view"), Type.Literal("control")]);
const linkFields = {
	id: Type.String(),
	name: nullable(Type.String()),
	right: linkRight,
	createdAt: time,
	expiresAt: nullable(time),
	lastUsedAt: nullable(time),
	opened: Type.Integer(),
};

export const createLink: TUnsafe<CreateLink> = Type.Unsafe<CreateLink>(
	Type.Object(
		{
			right: Type.Optional(linkRight),
			expiresInMs: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EXPIRES_MS })),
			name: Type.Optional(displayName),
		},
		{ ...closed, title: "CreateLink" },
	),
);
export const createdLink: TUnsafe<CreatedLink> = Type.Unsafe<CreatedLink>(
	Type.Object({ ...linkFields, url: Type.String() }, { title: "CreatedLink" }),
);
export const linkList: TUnsafe<LinkList> = Type.Unsafe<LinkList>(
	Type.Object({ links: Type.Array(Type.Object(linkFields, { title: "Link" })) }, { title: "LinkList" }),
);

export type LinkParams = { id: string; link: string };
export const linkParams: TUnsafe<LinkParams> = Type.Unsafe<LinkParams>(
	Type.Object({ id: Type.String(), link: Type.String() }),
);

/** Anything may stand in a link that was typed or cut off; what is no code is answered like one that is over. */
export type SignInQuery = { code?: string | string[] };
export const signInQuery: TUnsafe<SignInQuery> = Type.Unsafe<SignInQuery>(Type.Object({}));

export type TokenParams = { id: string };
export const tokenParams: TUnsafe<TokenParams> = Type.Unsafe<TokenParams>(Type.Object({ id: Type.String() }));

export const proofRequest: TUnsafe<ProofRequest> = Type.Unsafe<ProofRequest>(
	Type.Object(
		{
			token: Type.String({ minLength: 1, maxLength: 64 }),
			// Long enough that nobody meets one again, and short enough to be no work.
			nonce: Type.String({ minLength: 16, maxLength: 128 }),
		},
		{ ...closed, title: "ProofRequest" },
	),
);
export const proofAnswer: TUnsafe<ProofMessage> = Type.Unsafe<ProofMessage>(
	Type.Object({ proof: Type.String() }, { title: "Proof" }),
);
