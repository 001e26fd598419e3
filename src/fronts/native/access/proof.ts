/** The server proves that it knows a token, to somebody who would not show it to a stranger on our port. */

import type { Access } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import { proofText } from "../../../protocol/proof.ts";
import { localAddressOf } from "../../local-address.ts";
import type { NativeApp } from "../options.ts";
import { proofAnswer, proofRequest } from "./messages.ts";

export function addProof(app: NativeApp, access: Access): void {
	app.post(
		"/v1/proof",
		{
			config: { policy: "public", operation: "proveToken", summary: "Prove that this server knows a token" },
			schema: { body: proofRequest, response: { 200: proofAnswer } },
		},
		async (request, reply) => {
			const { token, nonce } = request.body;
			const address = localAddressOf(request.raw.socket);
			if (!address) throw new SessionError("unsupported", "a connection without an address needs no proof");
			const text = proofText(nonce, `${address.host}:${address.port}`);
			return reply.header("cache-control", "no-store").send({ proof: access.prove(token, text) });
		},
	);
}
