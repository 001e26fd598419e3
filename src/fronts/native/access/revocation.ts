/** The answer after a token or a sign-in was revoked. It says whether the revocation is stored on disk. */

import type { FastifyReply } from "fastify";
import type { Durability } from "../../../core/policy/access.ts";

export function answerRevoked(reply: FastifyReply, { isDurable }: Durability): FastifyReply {
	if (isDurable) return reply.code(204).send();
	return reply.code(202).send({
		durable: false,
		message: "revoked, but not stored on disk yet; the server keeps trying, and retries when you repeat the request",
	});
}
