/** The native HTTP API under `/v1`; `docs/protocol.md` says what it promises. */

import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Front, Hosting } from "../front.ts";
import { answerErrors } from "./errors.ts";
import { addInput } from "./input.ts";
import { health } from "./messages.ts";
import { addOutput } from "./output.ts";
import type { NativeApp, NativeParts } from "./parts.ts";
import { addSessions } from "./sessions.ts";
import { compileValidator } from "./validation.ts";

export function createNativeFront(parts: NativeParts): Front {
	return {
		name: "native",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			answerErrors(app, hosting);
			app.setValidatorCompiler(compileValidator);
			// The schemas describe answers; shaping them is the job of the code that the compiler checks.
			app.setSerializerCompiler(() => (value) => JSON.stringify(value));
			const typed: NativeApp = app.withTypeProvider<TypeBoxTypeProvider>();
			typed.get(
				"/healthz",
				{ config: { policy: "public" }, exposeHeadRoute: true, schema: { response: { 200: health } } },
				async () => ({ status: "ok" as const, version: parts.version }),
			);
			addSessions(typed, parts);
			addInput(typed, parts, hosting);
			addOutput(typed, parts, hosting);
		},
	};
}

/** The token of an `Authorization: Bearer` header. */
function bearer(request: FastifyRequest): string | undefined {
	return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
}
