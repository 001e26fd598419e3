/**
 * Browser sign-in: a link that works once is exchanged for a cookie that scripts can't read, and a key for the server's
 * pages.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { pageKeyItem } from "../../../api/page-key.ts";
import { SessionError } from "../../../core/errors.ts";
import { type Access, grantorOf, type SignedIn } from "../../../core/policy/access.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { Serve } from "../serve.ts";
import { escaped, pageScript, sendPage } from "./page.ts";
import { answerRevoked } from "./revocation.ts";

/** Stores the page key, then opens the web UI. Pages of other ports receive the cookie but can't read local storage. */
const STORE_KEY = pageScript(
	`localStorage.setItem("${pageKeyItem}",document.querySelector("main").dataset.key);location.replace("./")`,
);

export type SignInOptions = {
	readonly access: Access;
	/** Path prefix of the server for browsers, without a trailing slash. */
	readonly basePath: string;
	/** Base URL of the server in the caller's browser. */
	readonly homeOf: (request: FastifyRequest) => string;
};

/** Sign-in forms have no fields; the URL contains everything. */
export function acceptForms(app: FastifyInstance): void {
	app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, _body, done) =>
		done(null, undefined),
	);
}

export function addSignIn(serve: Serve, { access, basePath, homeOf }: SignInOptions, hosting: ServerContext): void {
	serve("createSignInLink", async ({ request, reply, caller, witness }) => {
		const { code, expiresAt } = access.createSignInCode(grantorOf(caller));
		witness.record({ action: "sign-in-link" });
		reply.header("cache-control", "no-store");
		return { url: `${homeOf(request)}${signInPath(code)}`, expiresAt };
	});

	// GET must not use up the link: chats and mail programs open every link they see.
	serve("showSignIn", async ({ request, reply }) => {
		const owner = access.signInOwner(codeOf(request));
		if (!owner) return sendExpired(reply);
		const server = escaped(`${request.headers.host}${basePath}`);
		return sendPage(reply, {
			title: "Sign in to Hawser",
			body:
				`<p>On the server at <b>${server}</b>, this browser will be able to do all that ` +
				`<b>${escaped(owner.name)}</b> may.</p>` +
				// Without an action, a form is posted to its page's URL, so the code appears only once.
				'<form method="post"><button type="submit" autofocus>Sign in on this browser</button></form>',
		});
	});

	serve("signIn", async ({ request, reply, witness }) => {
		const as = await access.signIn(codeOf(request));
		if (!as) {
			witness.record({ action: "refused", code: "unauthenticated", route: "POST /signin" });
			return sendExpired(reply);
		}
		witness.as(as.owner).record({ action: "sign-in" });
		return sendPage(reply.header("set-cookie", as.cookie), {
			title: "Signed in",
			body: "<noscript>This browser must run scripts to stay signed in.</noscript>",
			script: STORE_KEY,
			key: as.pageKey,
		});
	});

	// For the server's own pages: with a token entered by the user, or with the code of a link.
	serve("signInBrowser", async ({ request, reply, body: { token, code = "" }, witness }) => {
		const as = token === undefined ? await access.signIn(code) : await signInBy(token, request);
		if (!as) throw new SessionError("token_ended", "the link was used, or is more than five minutes old");
		witness.as(as.owner).record({ action: "sign-in" });
		reply.header("cache-control", "no-store").header("set-cookie", as.cookie);
		return { pageKey: as.pageKey, name: as.owner.name };
	});

	/** Checks a token as the door does, which counts failed attempts. */
	const signInBy = async (token: string, request: FastifyRequest): Promise<SignedIn> => {
		try {
			return await access.signInAs(grantorOf(await hosting.identify(request, token)));
		} catch (error) {
			const isUnknown = error instanceof SessionError && error.code === "unauthenticated";
			if (!isUnknown || !access.wasGood(token)) throw error;
			throw new SessionError("token_ended", "the token was revoked or has expired", {
				hint: "ask its issuer for a new one",
			});
		}
	};

	// Public, so that it can be repeated until it is stored: the holder of a cookie may always end it.
	serve("signOut", async ({ request, reply, witness }) => {
		const { cookie, isDurable, owner } = await access.signOut(request.headers.cookie);
		if (owner) witness.as(owner).record({ action: "sign-out" });
		return answerRevoked(reply.header("set-cookie", cookie), { isDurable });
	});
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

/** A mistyped or truncated link may have any query. */
function codeOf({ query }: FastifyRequest): string {
	const { code } = query as { code?: unknown };
	return typeof code === "string" ? code : "";
}
