/** Links to one session for guests: each is a token for that session alone, in an address that its browser does not send. */

import type { FastifyRequest } from "fastify";
import type { Access, TokenInfo } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Sessions } from "../../../core/sessions.ts";
import type { LinkMessage } from "../../../protocol/access.ts";
import { checkCreation, witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import { idParams } from "../session-messages.ts";
import { answerEnded } from "./ended.ts";
import { createdLink, createLink, linkList, linkParams, notDurable } from "./messages.ts";

/** How long a link is good, unless it says otherwise: to show somebody something now. */
const LINK_MS = 3_600_000;

export type LinkOptions = {
	readonly access: Access;
	readonly sessions: Sessions;
	/** Where the caller's browser finds us. */
	readonly homeOf: (request: FastifyRequest) => string;
};

/** Who may see a session may share it, for no more than it may itself: `Access` sees to that. */
export function addLinks(app: NativeApp, { access, sessions, homeOf }: LinkOptions): void {
	app.post(
		"/v1/sessions/:id/links",
		{
			config: { policy: "read", operation: "shareSession", summary: "Make a link for guests of a session" },
			schema: { params: idParams, body: createLink, response: { 201: createdLink } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const principal = principalOf(request);
			const { right = "view", expiresInMs = LINK_MS, name } = request.body;
			checkCreation(principal.countCreation());
			const scopes = [`session:${session.id}:${right}`];
			const { secret, token } = await access.createToken(principal, { scopes, expiresInMs, name });
			witnessOf(request).record({ action: "token-made", token: token.id, scopes }, placeOf(session));
			const url = `${homeOf(request)}/s/${session.id}#${secret}`;
			return reply
				.code(201)
				.header("cache-control", "no-store")
				.send({ ...linkMessage(token, right), url });
		},
	);

	app.get(
		"/v1/sessions/:id/links",
		{
			config: { policy: "read", operation: "listLinks", summary: "List the links for guests of a session" },
			schema: { params: idParams, response: { 200: linkList } },
		},
		async (request) => {
			const { id } = findSession(sessions, request);
			return { links: linksOf(access.listTokens(principalOf(request)), id) };
		},
	);

	app.delete(
		"/v1/sessions/:id/links/:link",
		{
			config: { policy: "read", operation: "revokeLink", summary: "End a link for guests", answers: { 204: "" } },
			schema: { params: linkParams, response: { 202: notDurable } },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const principal = principalOf(request);
			const { link } = request.params;
			if (!linksOf(access.listTokens(principal), session.id).some(({ id }) => id === link)) {
				throw new SessionError("not_found", `there is no link ${JSON.stringify(link.slice(0, 64))}`);
			}
			const ended = await access.revokeToken(principal, link);
			witnessOf(request).record({ action: "token-revoked", token: link }, placeOf(session));
			return answerEnded(reply, ended);
		},
	);
}

/** Whatever made them: a token for one session and nothing else is a link, whoever was given it in which way. */
function linksOf(tokens: readonly TokenInfo[], session: string): LinkMessage[] {
	return tokens.flatMap((token) => {
		if (token.scopes.length !== 1) return [];
		if (token.scopes[0] === `session:${session}:view`) return [linkMessage(token, "view")];
		return token.scopes[0] === `session:${session}:control` ? [linkMessage(token, "control")] : [];
	});
}

function linkMessage(token: TokenInfo, right: LinkMessage["right"]): LinkMessage {
	const { id, name, createdAt, expiresAt, lastUsedAt, opened } = token;
	return { id, name, right, createdAt, expiresAt, lastUsedAt, opened };
}
