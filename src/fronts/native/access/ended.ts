/** The answer when a credential was ended: at once, and whether it stays so if the server should crash now. */

import type { FastifyReply } from "fastify";
import type { Durability } from "../../../core/access.ts";

export function answerEnded(reply: FastifyReply, { isDurable }: Durability): FastifyReply {
	if (isDurable) return reply.code(204).send();
	return reply.code(202).send({
		durable: false,
		message: "it is over, but the disk did not take that yet; it is tried again until it does, and when you ask again",
	});
}
