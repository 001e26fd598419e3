/** Sign-in for browsers: a link that is good once becomes a cookie that no script can read, and a key that only pages of ours can. */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { Access } from "../../../core/access.ts";
import { pageKeyItem } from "../../../protocol/page-key.ts";
import { witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import { answerEnded } from "./ended.ts";
import { notDurable, type SignInQuery, signInLink, signInQuery } from "./messages.ts";

/** Puts the key where no page of another port can read it, though the cookie is sent there as well; then goes to where we are, which may be below a path. */
const STORE_KEY = `localStorage.setItem("${pageKeyItem}",document.querySelector("main").dataset.key);location.replace("./")`;
const STORE_KEY_HASH = createHash("sha256").update(STORE_KEY).digest("base64");

export function addSignIn(app: NativeApp, access: Access, basePath: string): void {
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
			// The host was checked: it is one of ours, and the one under which the caller knows us.
			const origin = `${access.isSecure ? "https" : "http"}://${request.headers.host}`;
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
				answers: { 200: "text/html" },
			},
			schema: { querystring: signInQuery },
		},
		async (_request, reply) =>
			page(reply, {
				title: "Sign in to Hawser",
				// Without an action a form goes to the address it came from, so the code needs no second copy in the page.
				body: '<form method="post"><button type="submit" autofocus>Sign in on this browser</button></form>',
			}),
	);

	app.post(
		"/signin",
		{
			config: { policy: "public", operation: "signIn", summary: "Sign this browser in", answers: { 200: "text/html" } },
			schema: { querystring: signInQuery },
		},
		async (request, reply) => {
			const signedIn = await access.signIn(codeOf(request.query));
			if (signedIn) {
				witnessOf(request).as(signedIn.owner).record({ action: "sign-in" });
				return page(reply.header("set-cookie", signedIn.cookie), {
					title: "Signed in",
					body: "<noscript>This browser must run scripts to stay signed in.</noscript>",
					pageKey: signedIn.pageKey,
				});
			}
			witnessOf(request).record({ action: "refused", code: "unauthenticated", route: "POST /signin" });
			return page(reply.code(401), {
				title: "This link is not good any more",
				body: "<p>A link signs in one browser, within five minutes. <code>hawser serve</code> prints a new one when it starts.</p>",
			});
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

function codeOf({ code }: SignInQuery): string {
	return typeof code === "string" ? code : "";
}

/** A page without scripts but for the one that stores a key. Nothing of a request is ever written into it. */
function page(
	reply: FastifyReply,
	{ title, body, pageKey }: { readonly title: string; readonly body: string; readonly pageKey?: string },
): FastifyReply {
	const scripts = pageKey === undefined ? "" : `script-src 'sha256-${STORE_KEY_HASH}'; `;
	const script = pageKey === undefined ? "" : `<script>${STORE_KEY}</script>`;
	const main = pageKey === undefined ? "<main>" : `<main data-key="${pageKey}">`;
	return (
		reply
			.type("text/html; charset=utf-8")
			.header("cache-control", "no-store")
			.header("content-security-policy", `default-src 'none'; ${scripts}form-action 'self'; frame-ancestors 'none'`)
			// With no-referrer the form would be sent with the origin "null", which is nobody's.
			.header("referrer-policy", "same-origin")
			.send(
				`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
					`<title>${title}</title></head><body>${main}<h1>${title}</h1>${body}</main>${script}</body></html>\n`,
			)
	);
}
