/** The server proves that it knows a token, to somebody who would not show it to a stranger on our port. */

import { Socket } from "node:net";
import type { Access } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import { proofText } from "../../../protocol/proof.ts";
import type { NativeApp } from "../options.ts";
import { proofAnswer, proofRequest } from "./messages.ts";

export function addProof(app: NativeApp, access: Access): void {
	app.post(
		"/v1/proof",
		{
			config: { policy: "public", summary: "Prove that this server knows a token" },
			schema: { body: proofRequest, response: { 200: proofAnswer } },
		},
		async (request, reply) => {
			const { token, nonce } = request.body;
			const text = proofText(nonce, localAddress(request.raw.socket));
			return reply.header("cache-control", "no-store").send({ proof: access.prove(token, text) });
		},
	);
}

/** Where this connection really came in: a `Host` header can be written by anybody who passes questions on. */
function localAddress(connection: object): string {
	const { localAddress: address, localPort: port } = connection instanceof Socket ? connection : {};
	if (address === undefined || port === undefined) {
		throw new SessionError("unsupported", "a connection without an address needs no proof");
	}
	const ip = address.replace(/^::ffff:(?=\d+\.)/, "");
	return `${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}
