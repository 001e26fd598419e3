/** How long a request is worth answering. */

import type { FastifyReply } from "fastify";
import type { Hosting } from "./front.ts";

/** Aborted when the client of this request is gone, when its token is revoked, or when the server closes; to be disposed of by who waits on it. */
export type Patience = { readonly signal: AbortSignal; end(): void };

export function patienceOf(reply: FastifyReply, hosting: Hosting): Patience {
	const controller = new AbortController();
	const reasons = [hosting.closing, reply.request.principal?.revoked];
	const end = () => {
		for (const signal of reasons) signal?.removeEventListener("abort", end);
		reply.raw.removeListener("close", end);
		controller.abort();
	};
	for (const signal of reasons) signal?.addEventListener("abort", end, { once: true });
	// The response is closed when it is sent, too: by then nobody waits any more.
	reply.raw.once("close", end);
	if (reply.raw.destroyed || reasons.some((signal) => signal?.aborted)) end();
	return { signal: controller.signal, end };
}
