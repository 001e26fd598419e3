/** Proves that the server knows a token to a client that must not send it to another program on this port. */

import { proofText } from "../../../api/token-proof.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Access } from "../../../core/policy/access.ts";
import { localAddressOf } from "../../../http/local-address.ts";
import type { Serve } from "../serve.ts";

export function addProof(serve: Serve, access: Access): void {
	serve("proveToken", async ({ request, reply, body: { token, nonce } }) => {
		const address = localAddressOf(request.raw.socket);
		if (!address) throw new SessionError("unsupported", "a connection over a Unix socket needs no proof");
		reply.header("cache-control", "no-store");
		return { proof: access.prove(token, proofText(nonce, `${address.host}:${address.port}`)) };
	});
}
