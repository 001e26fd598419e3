/** Identifies a client without a cookie by its first frame. */

import type { FastifyRequest } from "fastify";
import type { Principal } from "../../../core/policy/access.ts";
import { auditedCallerOf } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import { TerminalError } from "./errors.ts";
import type { ClientFrame } from "./messages.ts";
import type { Wire } from "./wire.ts";

/**
 * Limits what a client can send before it is authenticated, so that it can't fill our memory.
 * @limit what a client sends before it has signed in | `too_large`
 */
const LOGIN_BYTES = 16 * 1024;

type LoginOptions = {
	readonly wire: Wire;
	readonly request: FastifyRequest;
	readonly hosting: ServerContext;
	/** The first frame; undefined if its type is unknown. */
	readonly first: Promise<ClientFrame | undefined>;
	readonly loginMs: number;
};

/** Rejects with the error for the client. */
export async function login({ wire, request, hosting, first, loginMs }: LoginOptions): Promise<Principal> {
	const frame = await withinLimits(request, wire, first, loginMs);
	if (frame?.type !== "auth") throw new TerminalError("unauthorized", "the first frame must be auth, with a token");
	return recognise(request, await hosting.identify(request, frame.token));
}

/** The request's further actions are performed and audited as this caller. */
export function recognise(request: FastifyRequest, principal: Principal): Principal {
	request.principal = principal;
	request.witness = auditedCallerOf(request).as(principal);
	return principal;
}

async function withinLimits<T>(request: FastifyRequest, wire: Wire, first: Promise<T>, loginMs: number): Promise<T> {
	const connection = request.raw.socket;
	let refuse = (_: TerminalError) => {};
	const refused = new Promise<never>((_, reject) => {
		refuse = reject;
	});
	let bytes = 0;
	const count = (chunk: Buffer) => {
		bytes += chunk.byteLength;
		if (bytes > LOGIN_BYTES)
			refuse(new TerminalError("too_large", `login message too large (limit ${LOGIN_BYTES} bytes)`));
	};
	const onEnd = () => refuse(new TerminalError("unauthorized", "the client disconnected"));
	const timer = setTimeout(
		() => refuse(new TerminalError("unauthorized", `no auth frame within ${loginMs} ms`)),
		loginMs,
	);
	connection.on("data", count);
	wire.ended.addEventListener("abort", onEnd, { once: true });
	if (wire.ended.aborted) onEnd();
	try {
		return await Promise.race([first, refused]);
	} finally {
		clearTimeout(timer);
		connection.removeListener("data", count);
		wire.ended.removeEventListener("abort", onEnd);
	}
}
