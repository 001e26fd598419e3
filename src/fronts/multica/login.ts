/** Who a client is that has no cookie: it says so in its first frame, soon. */

import type { FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { type Hosting, witnessOf } from "../front.ts";
import { TerminalError } from "./errors.ts";
import type { ClientFrame } from "./frames.ts";
import type { Wire } from "./wire.ts";

/** Until then a client may say no more than this: a token, and not what fills our memory. */
const LOGIN_BYTES = 16 * 1024;

type LoginOptions = {
	readonly wire: Wire;
	readonly request: FastifyRequest;
	readonly hosting: Hosting;
	/** The first frame; undefined for one that nobody knows. */
	readonly first: Promise<ClientFrame | undefined>;
	readonly loginMs: number;
};

/** Rejects with what the client is to be told. */
export async function login({ wire, request, hosting, first, loginMs }: LoginOptions): Promise<Principal> {
	const frame = await withinLimits(request, wire, first, loginMs);
	if (frame?.type !== "auth") throw new TerminalError("unauthorized", "the first frame must be auth, with a token");
	return recognise(request, await hosting.identify(request, frame.token));
}

/** From here on what the request does is done by this caller. */
export function recognise(request: FastifyRequest, principal: Principal): Principal {
	request.principal = principal;
	request.witness = witnessOf(request).as(principal);
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
		if (bytes > LOGIN_BYTES) refuse(new TerminalError("too_large", `a login may have ${LOGIN_BYTES} bytes`));
	};
	const onEnd = () => refuse(new TerminalError("unauthorized", "the client has gone"));
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
