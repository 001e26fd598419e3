/** The part of the native API that is about access: tokens, tickets, proofs and sign-in. */

import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Sessions } from "../../../core/sessions.ts";
import { answerErrors } from "../../errors.ts";
import { bearer, type Front, type Hosting } from "../../front.ts";
import { localAddressOf } from "../../local-address.ts";
import { compileValidator } from "../../validation.ts";
import { describeRoutes } from "../openapi.ts";
import type { NativeApp } from "../options.ts";
import { addLinks } from "./links.ts";
import { addProof } from "./proof.ts";
import { addSignIn, type SignInOptions } from "./signin.ts";
import { addTickets } from "./tickets.ts";
import { addTokens } from "./tokens.ts";

type AccessFrontOptions = Pick<SignInOptions, "access" | "basePath"> & {
	readonly sessions: Sessions;
	/** Where browsers find us, for somebody who came without an address. */
	readonly publicUrl: () => string;
};

export function createAccessFront({ access, sessions, basePath, publicUrl }: AccessFrontOptions): Front {
	return {
		name: "access",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			answerErrors(app, hosting);
			describeRoutes(app);
			app.setValidatorCompiler(compileValidator);
			app.setSerializerCompiler(() => (value) => JSON.stringify(value));
			const typed: NativeApp = app.withTypeProvider<TypeBoxTypeProvider>();
			const homeOf = ({ raw, headers }: FastifyRequest) => {
				// The host was checked: it is one of ours, and the one under which a caller from the network knows us.
				const isLocal = localAddressOf(raw.socket) === undefined;
				const origin = isLocal ? publicUrl() : `${access.isSecure ? "https" : "http"}://${headers.host}`;
				return `${origin}${basePath}`;
			};
			addTokens(typed, access);
			addTickets(typed, access, sessions);
			addProof(typed, access);
			addSignIn(typed, { access, basePath, homeOf }, hosting);
			addLinks(typed, { access, sessions, homeOf });
		},
	};
}
