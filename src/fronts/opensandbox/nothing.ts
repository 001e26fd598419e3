/** The answer that says nothing but that all went well. */

import type { FastifyReply } from "fastify";

/** A success without data. With an empty body in chunks the SDK would fail to read it as JSON. */
export function sendNothing(reply: FastifyReply): FastifyReply {
	return reply.code(200).header("content-length", 0).send();
}
