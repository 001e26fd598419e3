/** Sign-in for browsers: a link that is good once becomes a cookie that no script can read, and a key that only pages of ours can. */

import type { FastifyReply } from "fastify";
import type { Access } from "../../../core/access.ts";
import { pageKeyItem } from "../../../protocol/page-key.ts";
import { witnessOf } from "../../front.ts";
import { localAddressOf } from "../../local-address.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import { answerEnded } from "./ended.ts";
import { notDurable, type SignInQuery, signInLink, signInQuery } from "./messages.ts";
import { escaped, pageScript, sendPage } from "./page.ts";

/** Puts the key where no page of another port can read it, though the cookie is sent there as well; then goes to where we are, which may be below a path. */
const STORE_KEY = pageScript(
	`localStorage.setItem("${pageKeyItem}",document.querySelector("main").dataset.key);location.replace("./")`,
	{ mayConnect: false },
);

export type SignInOptions = {
	readonly access: Access;
	/** The path below which browsers find us, without a slash at its end. */
	readonly basePath: string;
	/** Where browsers find us, for somebody who came without an address. */
	readonly publicUrl: () => string;
};

export function addSignIn(app: NativeApp, { access, basePath, publicUrl }: SignInOptions): void {
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
			// The host was checked: it is one of ours, and the one under which a caller from the network knows us.
			const isLocal = localAddressOf(request.raw.socket) === undefined;
			const origin = isLocal ? publicUrl() : `${access.isSecure ? "https" : "http"}://${request.headers.host}`;
			const url = `${origin}${basePath}${signInPath(code)}`;
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
			const signedIn = await access.signIn(codeOf(request.query));
			if (signedIn) {
				witnessOf(request).as(signedIn.owner).record({ action: "sign-in" });
				return sendPage(reply.header("set-cookie", signedIn.cookie), {
					title: "Signed in",
					body: "<noscript>This browser must run scripts to stay signed in.</noscript>",
					script: STORE_KEY,
					key: signedIn.pageKey,
				});
			}
			witnessOf(request).record({ action: "refused", code: "unauthenticated", route: "POST /signin" });
			return sendExpired(reply);
		},
	);

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
