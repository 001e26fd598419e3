/**
 * Operations for tokens, tickets, proofs, guest links and sign-in. A front of its own, named `access` in the audit log.
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { bearer } from "../../../http/caller.ts";
import { answerErrors } from "../../../http/errors.ts";
import type { Front, ServerContext } from "../../../http/front.ts";
import { localAddressOf } from "../../../http/local-address.ts";
import { createServe } from "../serve.ts";
import { addLinks } from "./links.ts";
import { addProof } from "./proof.ts";
import { acceptForms, addSignIn, type SignInOptions } from "./signin.ts";
import { addTickets } from "./tickets.ts";
import { addTokens } from "./tokens.ts";

type AccessFrontOptions = Pick<SignInOptions, "access" | "basePath"> & {
	readonly sessions: Sessions;
	/** Base URL for browsers when the request came over a Unix socket. */
	readonly publicUrl: () => string;
};

export function createAccessFront({ access, sessions, basePath, publicUrl }: AccessFrontOptions): Front {
	return {
		name: "access",
		credential: bearer,
		register(app: FastifyInstance, hosting: ServerContext): void {
			answerErrors(app, hosting);
			acceptForms(app);
			const serve = createServe(app, { sessions, hosting });
			const homeOf = ({ raw, headers }: FastifyRequest) => {
				// The door has checked the host, so the caller reaches this server under it.
				const isLocal = localAddressOf(raw.socket) === undefined;
				const origin = isLocal ? publicUrl() : `${access.isSecure ? "https" : "http"}://${headers.host}`;
				return `${origin}${basePath}`;
			};
			addTokens(serve, access);
			addTickets(serve, access, sessions);
			addProof(serve, access);
			addSignIn(serve, { access, basePath, homeOf }, hosting);
			addLinks(serve, { access, homeOf });
		},
	};
}
