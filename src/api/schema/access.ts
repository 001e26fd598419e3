/** Tokens, tickets, guest links and sign-in. */

import { MAX_EXPRESSION_LENGTH, MAX_EXPRESSIONS, MAX_GATE_TIMEOUT_MS } from "../../words/gate-limits.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";

/** One hundred years. */
const MAX_EXPIRES_MS = 3_153_600_000_000;
/** Longer than any token, including JWTs. */
const MAX_CREDENTIAL = 8192;

const secretRight = s.named(
	"SecretRight",
	"Rights of a token when a program reads a secret: type it, request it from a user, or neither.",
	s.literals("type", "request", "none"),
);
const expiresInMs = s.integer(1, MAX_EXPIRES_MS);
const createdAt = s.doc("Milliseconds since the epoch.", s.milliseconds);
const expiresAt = s.doc("Milliseconds since the epoch; null if it does not expire.", s.nullable(s.milliseconds));
const lastUsedAt = s.doc("Milliseconds since the epoch; null if it was never used.", s.nullable(s.milliseconds));
const opened = s.doc("Number of browsers that it has signed in.", s.count);

const gate = {
	match: s.doc(
		"Regular expressions. A command or typed line that matches one of them is held for approval.",
		s.list(s.string({ minLength: 1, maxLength: MAX_EXPRESSION_LENGTH }), { maxItems: MAX_EXPRESSIONS }),
	),
	keys: s.doc("When typed lines are matched: at Enter, or at each key.", s.literals("enter", "all")),
	signals: s.doc("Hold signals, including those that keys send.", s.boolean),
	stops: s.doc("Hold requests that end a program or delete a session.", s.boolean),
	timeoutMs: s.doc("An action that has been held for this long is refused.", s.integer(1, MAX_GATE_TIMEOUT_MS)),
};
const optionalGate = Object.fromEntries(Object.entries(gate).map(([name, field]) => [name, s.optional(field)]));
const gateMessage = s.message("GateMessage", "Actions of a token that wait for another caller's approval.", gate);

const scopes = "`admin`, `metrics`, `workspace:ID:read|operate|manage` or `session:ID:view|control`.";
const createToken = s.request(
	"CreateToken",
	"A token to create. It can't have more rights than its creator, or live longer.",
	{
		scopes: s.doc(scopes, s.list(s.string({ maxLength: 160 }), { minItems: 1, maxItems: 32 })),
		name: s.optional(s.displayName),
		expiresInMs: s.optional(s.doc("By default the token expires with its creator.", expiresInMs)),
		secrets: s.optional(s.doc("By default as for its creator.", secretRight)),
		gate: s.optional(
			s.doc(
				"Added to the gate of its creator. Defaults: `[]`, `enter`, false and five minutes.",
				s.request("CreateGate", "The gate of a token to create.", optionalGate),
			),
		),
	},
	{
		examples: [
			{ scopes: ["workspace:ci:manage"], name: "ci", expiresInMs: 7_776_000_000 },
			{ scopes: ["workspace:agents:manage"], gate: { match: ["rm -rf", "git push"], stops: true } },
		],
	},
);

const token = {
	id: s.text,
	name: s.nullable(s.text),
	scopes: s.list(s.text),
	createdAt,
	expiresAt,
	lastUsedAt,
	parent: s.doc("The token that created it; null for the operator's.", s.nullable(s.text)),
	opened,
	secrets: secretRight,
	gate: s.doc("Null if its actions need no approval.", s.nullable(gateMessage)),
};
const tokenMessage = s.message("TokenMessage", "A token, without its secret.", token);
const createdToken = s.message("CreatedToken", "A new token. No other answer contains its secret.", {
	...token,
	token: s.text,
});
const tokenList = s.message("TokenList", "The tokens that the caller may revoke.", { tokens: s.list(tokenMessage) });

const notDurable = s.message(
	"NotDurable",
	"The credential is revoked, but the disk has not stored that yet. After a crash it would be valid again.",
	{ durable: s.literal(false), message: s.text },
);

const createTicket = s.request("CreateTicket", "A ticket to create.", {
	session: s.string({ minLength: 1, maxLength: 64 }),
	right: s.optional(s.doc("`read` if left out.", s.literals("read", "operate"))),
});
const createdTicket = s.message("CreatedTicket", "Opens one WebSocket, within 30 seconds.", {
	id: s.doc("The audit names a connection opened with it `ticket:ID`.", s.text),
	ticket: s.text,
	expiresAt: createdAt,
});

const signInLink = s.message("SignInLink", "Signs in one browser, within five minutes.", {
	url: s.text,
	expiresAt: createdAt,
});
const credential = s.optional(s.string({ minLength: 1, maxLength: MAX_CREDENTIAL }));
const signIn = s.request(
	"SignIn",
	"How a browser signs in: exactly one of the two.",
	{
		token: s.doc("A token, or the key of a guest link.", credential),
		code: s.doc("The code of a sign-in link.", credential),
	},
	{ minProperties: 1, maxProperties: 1 },
);
const signedIn = s.message("SignedIn", "The answer to a sign-in, in addition to the cookie.", {
	pageKey: s.doc("Pages send it with every request.", s.text),
	name: s.doc("The caller that the browser is signed in as.", s.text),
});

const linkRight = s.literals("view", "control");
const createLink = s.request("CreateLink", "A guest link to create.", {
	right: s.optional(s.doc("Watch the session, or also type into it; `view` if left out.", linkRight)),
	expiresInMs: s.optional(s.doc("An hour if left out, and never longer than its creator's token.", expiresInMs)),
	name: s.optional(s.displayName),
});
const link = {
	id: s.text,
	name: s.nullable(s.text),
	right: linkRight,
	createdAt,
	expiresAt,
	lastUsedAt,
	opened,
};
const createdLink = s.message("CreatedLink", "A new guest link. No other answer contains its key.", {
	...link,
	url: s.doc("The key is in the fragment, which browsers do not send.", s.text),
});
const linkList = s.message("LinkList", "Guest links, oldest first.", {
	links: s.list(s.message("LinkMessage", "A guest link: a token for one session.", link)),
});

const proofRequest = s.request("ProofRequest", "Asks a server to prove that it knows a token.", {
	token: s.doc("The id of the token, or `admin` for the operator's.", s.string({ minLength: 1, maxLength: 64 })),
	nonce: s.doc("A value that was never used before.", s.string({ minLength: 16, maxLength: 128 })),
});
const proofMessage = s.message("ProofMessage", "Proof that the server knows a token.", {
	proof: s.doc("HMAC-SHA256 of `proofText` in hex. Its key is the SHA-256 of the token's secret.", s.text),
});

export const accessOperations: OperationTable = {
	createToken: {
		summary: "Create a token with fewer rights",
		route: "POST /v1/tokens",
		right: "read",
		body: createToken,
		answer: createdToken,
		status: 201,
		answerHeaders: ["location"],
	},
	listTokens: { summary: "List tokens", route: "GET /v1/tokens", right: "read", answer: tokenList },
	revokeToken: {
		summary: "Revoke a token",
		route: "DELETE /v1/tokens/:id",
		right: "read",
		otherAnswers: { 202: notDurable },
	},
	createTicket: {
		summary: "Create a ticket for a WebSocket",
		route: "POST /v1/tickets",
		right: "read",
		body: createTicket,
		answer: createdTicket,
		status: 201,
	},
	proveToken: {
		summary: "Prove that this server knows a token",
		route: "POST /v1/proof",
		right: "public",
		body: proofRequest,
		answer: proofMessage,
	},
	createSignInLink: {
		summary: "Create a sign-in link",
		route: "POST /v1/signin-links",
		right: "read",
		answer: signInLink,
		status: 201,
	},
	showSignIn: {
		summary: "The page of a sign-in link",
		route: "GET /signin",
		right: "public",
		content: ["text/html"],
		otherAnswers: { 401: "text/html" },
	},
	signIn: {
		summary: "Sign this browser in, from the page of a sign-in link",
		route: "POST /signin",
		right: "public",
		content: ["text/html"],
		otherAnswers: { 401: "text/html" },
	},
	signInBrowser: {
		summary: "Sign this browser in by a token or a link",
		route: "POST /v1/signin",
		right: "public",
		body: signIn,
		answer: signedIn,
	},
	signOut: {
		summary: "Sign this browser out",
		route: "POST /v1/signout",
		right: "public",
		otherAnswers: { 202: notDurable },
	},
	shareSession: {
		summary: "Create a guest link for a session",
		route: "POST /v1/sessions/:id/links",
		right: "read",
		body: createLink,
		answer: createdLink,
		status: 201,
	},
	listLinks: {
		summary: "List the guest links of a session",
		route: "GET /v1/sessions/:id/links",
		right: "read",
		answer: linkList,
	},
	revokeLink: {
		summary: "Revoke a guest link",
		route: "DELETE /v1/sessions/:id/links/:link",
		right: "read",
		otherAnswers: { 202: notDurable },
	},
};
