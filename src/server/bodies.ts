/** What the bodies of all requests may take together, from before they are read until they are answered. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { SessionError } from "../core/errors.ts";
import type { ByteBudget } from "../fronts/byte-budget.ts";
import { whenOver } from "../fronts/front.ts";

const TOO_LARGE = 413;

/** Refuses those for which there is no room, before anything of them is read. */
export function limitBodies(app: FastifyInstance, budget: ByteBudget): void {
	// After the door, so that it is known who calls.
	app.addHook("preParsing", async (request, reply) => {
		const { principal } = request;
		const bytes = bodyBytes(request);
		const taken = budget.take(principal, bytes);
		if (taken < bytes) {
			budget.giveBack(principal, taken);
			throw new SessionError("limit_exceeded", "the bodies of requests that wait take all the room there is for them", {
				hint: "send fewer at a time, and try again",
			});
		}
		whenOver(reply, () => budget.giveBack(principal, taken));
	});
	// Who reads only once all is sent must hear why it was refused. Fastify would close the connection, and what is
	// under way would then take the answer with it; so the rest is read and dropped, within the time for any request.
	app.addHook("onSend", async ({ raw }, reply) => {
		if (reply.statusCode !== TOO_LARGE) return;
		reply.removeHeader("connection");
		raw.resume();
	});
}

/** What a body takes at most; nothing if none is read. */
function bodyBytes({ headers, method, routeOptions }: FastifyRequest): number {
	if (method === "GET" || method === "HEAD") return 0;
	const most = routeOptions.bodyLimit ?? 0;
	// One whose length is not known beforehand may be as long as any.
	if (headers["transfer-encoding"] !== undefined) return most;
	const bytes = Number(headers["content-length"] ?? 0);
	// One that is too long is refused without being read.
	return bytes <= most ? bytes : 0;
}
