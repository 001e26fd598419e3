/** The front contract. A front translates one wire protocol to the core. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Budget } from "../core/async/budget.ts";
import type { Principal } from "../core/policy/access.ts";
import type { AuditedCaller } from "../core/policy/audited-caller.ts";
import type { Right } from "../words/rights.ts";
import type { Backlog } from "./limits/backlog.ts";
import type { FairScheduler } from "./limits/fair-share.ts";
import type { ReaderLimit } from "./limits/readers.ts";

/**
 * The requirement of a route on its caller: nothing (`public`), the operator (`admin`), the scope `metrics`, or a right. A
 * route without a policy keeps the server from starting. For a right, admission only requires a valid credential; the
 * route checks it for the session or workspace in question (`findSession`).
 */
export type RoutePolicy = "public" | "admin" | "metrics" | Right;

export const policies: readonly RoutePolicy[] = ["public", "admin", "metrics", "read", "operate", "manage"];

/** The parts of the server that every front uses. */
export type ServerContext = {
	/** Aborted when the server closes. Requests that wait must answer at once. */
	readonly closing: AbortSignal;
	/** Logs an error on our side. Its text is never sent to a client. */
	readonly report: (problem: unknown, where: string) => void;
	/** Limits the readers of each session. */
	readonly readers: ReaderLimit;
	/** Limits the output held in answers that are not sent yet. */
	readonly answers: Budget;
	/** Limits the unprocessed messages of all JSON-RPC connections. */
	readonly backlog: Backlog;
	/** Decides which connection's JSON body or JSON-RPC message is served next. */
	readonly share: FairScheduler;
	/**
	 * Authenticates a credential that admission could not see, such as one in the first message of a socket whose route
	 * is `public`. Rejects with the same errors as admission.
	 */
	readonly identify: (request: FastifyRequest, credential: string) => Promise<Principal>;
};

export interface Front {
	readonly name: string;
	/** Reads the credential from where this protocol carries it. */
	credential(request: FastifyRequest): string | undefined;
	/** Adds the routes, each with `config: { policy }`, and an error handler that answers in the protocol. */
	register(app: FastifyInstance, hosting: ServerContext): void;
}

declare module "fastify" {
	interface FastifyContextConfig {
		policy?: RoutePolicy;
		/** Whether it starts a program. Starts are rate-limited per caller. */
		makes?: boolean;
		/** Whether this route is for upgrades. */
		isSocket?: boolean;
		/** The content type of a body that has no schema; others are JSON. */
		takes?: string;
	}
	interface FastifyRequest {
		/** The caller. Set on every route whose policy is not `public`. */
		principal: Principal | null;
		/** Audits what this request does. Set by the first hook. */
		witness: AuditedCaller | null;
	}
}
