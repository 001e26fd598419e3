/** Guest links: tokens for one session, in the fragment of a URL, which browsers do not send. */

import type { FastifyRequest } from "fastify";
import type { LinkMessage } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import { type Access, grantorOf, type TokenInfo } from "../../../core/policy/access.ts";
import { checkStartRate } from "../../../core/policy/start-rate.ts";
import { resourceOf } from "../find-session.ts";
import type { Serve } from "../serve.ts";
import { answerRevoked } from "./revocation.ts";

/** Default lifetime of a link: long enough to show a session to a guest now. */
const LINK_MS = 3_600_000;

type LinkOptions = {
	readonly access: Access;
	/** Base URL of the server in the caller's browser. */
	readonly homeOf: (request: FastifyRequest) => string;
};

/** A caller may share every session that it may read. `Access` limits the link to the caller's own rights. */
export function addLinks(serve: Serve, { access, homeOf }: LinkOptions): void {
	serve("shareSession", async ({ session, body, caller, witness, request, reply }) => {
		const by = grantorOf(caller);
		const { right = "view", expiresInMs = LINK_MS, name } = body;
		checkStartRate(by.countCreation());
		const scopes = [`session:${session.id}:${right}`];
		const { secret, token } = await access.createToken(by, { scopes, expiresInMs, name });
		witness.record({ action: "token-made", token: token.id, scopes }, resourceOf(session));
		reply.header("cache-control", "no-store");
		return { ...linkMessage(token, right), url: `${homeOf(request)}/s/${session.id}#${secret}` };
	});

	serve("listLinks", async ({ session, caller }) => ({
		links: linksOf(access.listTokens(grantorOf(caller)), session.id),
	}));

	serve("revokeLink", async ({ session, params: { link }, caller, witness, reply }) => {
		const by = grantorOf(caller);
		if (!linksOf(access.listTokens(by), session.id).some(({ id }) => id === link)) {
			throw new SessionError("not_found", `there is no link ${JSON.stringify(link.slice(0, 64))}`);
		}
		const ended = await access.revokeToken(by, link);
		witness.record({ action: "token-revoked", token: link }, resourceOf(session));
		return answerRevoked(reply, ended);
	});
}

/** Every token with only the scope of one session is a link, however it was created. */
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
