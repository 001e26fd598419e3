/** What the files of the native front share. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RawServerDefault } from "fastify";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { Hosting, Prepare, Right } from "../front.ts";
import type { Metric } from "../metric.ts";
import type { SocketLimits } from "./socket/limits.ts";

export type NativeParts = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** What `/healthz` says we are. */
	readonly version: string;
	/** Instead of the usual ones, for tests that do not want to wait. */
	readonly socketLimits?: Partial<SocketLimits>;
	/** Numbers of other parts of the server, for `/metrics`. */
	readonly metrics?: () => Promise<readonly Metric[]>;
};

export type NativeApp = FastifyInstance<
	RawServerDefault,
	IncomingMessage,
	ServerResponse,
	FastifyBaseLogger,
	TypeBoxTypeProvider
>;

/** The session that a request names, if its caller has the right that the route asks for. One that may not be seen is not there. */
export function findSession(sessions: Sessions, request: FastifyRequest<{ Params: { id: string } }>): Session {
	const { id } = request.params;
	const session = sessions.get(id);
	const may = (right: Right) =>
		session !== undefined && request.principal?.may(right, { workspace: session.spec.workspace, session: id }) === true;
	if (!session || !may("read")) {
		throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
	}
	const { policy } = request.routeOptions.config;
	if (policy === "operate" || policy === "manage") checkRight(may(policy), policy, `session "${id}"`);
	return session;
}

export function checkRight(isGranted: boolean, right: Right, what: string): void {
	if (isGranted) return;
	throw new SessionError("permission_denied", `this token may not ${right} ${what}`, {
		hint: "ask whoever made the token for one with this right",
	});
}

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
