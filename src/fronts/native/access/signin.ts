/** Sign-in for browsers: a link that is good once becomes a cookie that no script can read, and a key that only pages of ours can. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Access, SignedIn } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import { pageKeyItem } from "../../../protocol/page-key.ts";
import { type Hosting, witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import { answerEnded } from "./ended.ts";
import { notDurable, type SignInQuery, signedIn, signIn, signInLink, signInQuery } from "./messages.ts";
import { escaped, pageScript, sendPage } from "./page.ts";

/** Puts the key where no page of another port can read it, though the cookie is sent there as well; then goes to where we are, which may be below a path. */
const STORE_KEY = pageScript(
	`localStorage.setItem("${pageKeyItem}",document.querySelector("main").dataset.key);location.replace("./")`,
);

export type SignInOptions = {
	readonly access: Access;
	/** The path below which browsers find us, without a slash at its end. */
	readonly basePath: string;
	/** Where the caller's browser finds us. */
	readonly homeOf: (request: FastifyRequest) => string;
};

export function addSignIn(app: NativeApp, { access, basePath, homeOf }: SignInOptions, hosting: Hosting): void {
	// What a form sends. Everything is in the address already, so there is nothing to read in it.
	app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, _body, done) =>
		done(null, undefined),
	);

	app.post(
		"/v1/signin-links",
		{
			config: { policy: "read", operation: "createSignInLink", summary: "Make a sign-in link" },
			schema: { response: { 201: signInLink } },
		},
		async (request, reply) => {
			const { code, expiresAt } = access.createSignInCode(principalOf(request));
			witnessOf(request).record({ action: "sign-in-link" });
			const url = `${homeOf(request)}${signInPath(code)}`;
			return reply.code(201).header("cache-control", "no-store").send({ url, expiresAt });
		},
	);

	// Looking at a link must not use it up: chats and mail programs look at every link they see.
	app.get(
		"/signin",
		{
			config: {
				policy: "public",
				operation: "showSignIn",
				summary: "The page of a sign-in link",
				answers: { 200: "text/html", 401: "text/html" },
			},
			schema: { querystring: signInQuery },
		},
		async (request, reply) => {
			const owner = access.signInOwner(codeOf(request.query));
			if (!owner) return sendExpired(reply);
			const server = escaped(`${request.headers.host}${basePath}`);
			return sendPage(reply, {
				title: "Sign in to Hawser",
				body:
					`<p>On the server at <b>${server}</b>, this browser will be able to do all that ` +
					`<b>${escaped(owner.name)}</b> may.</p>` +
					// Without an action a form goes to the address it came from, so the code needs no second copy in the page.
					'<form method="post"><button type="submit" autofocus>Sign in on this browser</button></form>',
			});
		},
	);

	app.post(
		"/signin",
		{
			config: {
				policy: "public",
				operation: "signIn",
				summary: "Sign this browser in",
				answers: { 200: "text/html", 401: "text/html" },
			},
			schema: { querystring: signInQuery },
		},
		async (request, reply) => {
			const as = await access.signIn(codeOf(request.query));
			if (as) {
				witnessOf(request).as(as.owner).record({ action: "sign-in" });
				return sendPage(reply.header("set-cookie", as.cookie), {
					title: "Signed in",
					body: "<noscript>This browser must run scripts to stay signed in.</noscript>",
					script: STORE_KEY,
					key: as.pageKey,
				});
			}
			witnessOf(request).record({ action: "refused", code: "unauthenticated", route: "POST /signin" });
			return sendExpired(reply);
		},
	);

	// What a page of ours does that has asked for a token, or was opened by a link with one.
	app.post(
		"/v1/signin",
		{
			config: { policy: "public", operation: "signInBrowser", summary: "Sign this browser in by a token or a link" },
			schema: { body: signIn, response: { 200: signedIn } },
		},
		async (request, reply) => {
			const { token, code = "" } = request.body;
			const as = token === undefined ? await access.signIn(code) : await signInBy(token, request);
			if (!as) throw new SessionError("token_ended", "the link was used, or is more than five minutes old");
			witnessOf(request).as(as.owner).record({ action: "sign-in" });
			return reply
				.header("cache-control", "no-store")
				.header("set-cookie", as.cookie)
				.send({ pageKey: as.pageKey, name: as.owner.name });
		},
	);

	/** Judged as at the door, where attempts are counted. */
	const signInBy = async (token: string, request: FastifyRequest): Promise<SignedIn> => {
		try {
			return await access.signInAs(await hosting.identify(request, token));
		} catch (error) {
			const isUnknown = error instanceof SessionError && error.code === "unauthenticated";
			if (!isUnknown || !access.wasGood(token)) throw error;
			throw new SessionError("token_ended", "the token was revoked or has expired", {
				hint: "ask whoever gave it to you for a new one",
			});
		}
	};

	app.post(
		"/v1/signout",
		// Open to all, so that it can be asked again while it is not on disk: who has a cookie may always end it.
		{
			config: { policy: "public", operation: "signOut", summary: "Sign this browser out", answers: { 204: "" } },
			schema: { response: { 202: notDurable } },
		},
		async (request, reply) => {
			const { cookie, isDurable, owner } = await access.signOut(request.headers.cookie);
			if (owner) witnessOf(request).as(owner).record({ action: "sign-out" });
			return answerEnded(reply.header("set-cookie", cookie), { isDurable });
		},
	);
}

export function signInPath(code: string): string {
	return `/signin?code=${code}`;
}

function sendExpired(reply: FastifyReply): FastifyReply {
	return sendPage(reply.code(401), {
		title: "This link is no longer valid",
		body: "<p>A link signs in one browser, once and within five minutes. <code>hawser signin-link</code> prints a new one.</p>",
	});
}

function codeOf({ code }: SignInQuery): string {
	return typeof code === "string" ? code : "";
}
