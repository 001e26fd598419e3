/** The answer when a credential was ended: at once, and whether it stays so if the server should crash now. */

import type { FastifyReply } from "fastify";
import type { Durability } from "../../../core/access.ts";

export function answerEnded(reply: FastifyReply, { isDurable }: Durability): FastifyReply {
	if (isDurable) return reply.code(204).send();
	return reply.code(202).send({
		durable: false,
		message: "it has ended, but that is not on disk yet; the server keeps trying, and tries again when you ask again",
	});
}
