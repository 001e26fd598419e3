/** What a front is: the translation between one wire protocol and the core. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Size } from "../core/event.ts";
import type { Retention, SessionStart } from "../core/session.ts";

/** What somebody may do with sessions: look at them, act on them, or make and end them. */
export type Right = "read" | "operate" | "manage";

/** What a right is about: a workspace, or one session in it. */
export type Place = { readonly workspace: string; readonly session?: string };

/** Who is calling, and what they may do. */
export type Principal = {
	readonly name: string;
	/** May do everything, everywhere. */
	readonly isAdmin: boolean;
	may(right: Right, place: Place): boolean;
};

/**
 * What a route asks of its caller: nothing, to be the operator, or a right. Every route declares one; the
 * server does not start otherwise. A right asks for any valid credential at the door; whether it is good
 * for the session or workspace in question is asked where that is known (`findSession`).
 */
export type Policy = "public" | "admin" | Right;

/** What a credential is worth on a route: the caller, or a SessionError with `unauthenticated` or `permission_denied`. */
export type Authorize = (credential: string | undefined, policy: Policy) => Principal;

/** What the server hosting a front gives to it. */
export type Hosting = {
	/** Aborted when the server closes: whoever waits answers at once. */
	readonly closing: AbortSignal;
	/** For what went wrong on our side; its text is never sent. */
	readonly report: (problem: unknown, where: string) => void;
};

export interface Front {
	readonly name: string;
	/** Where this protocol carries its credential. */
	credential(request: FastifyRequest): string | undefined;
	/** Adds the routes, each with `config: { policy }`, and an error handler that speaks the protocol. */
	register(app: FastifyInstance, hosting: Hosting): void;
}

/** What a front asks to be started; undefined leaves it to the server's settings. */
export type StartRequest = {
	readonly argv: readonly string[];
	readonly arg0?: string | undefined;
	readonly cwd?: string | undefined;
	/** Added to the child's environment; null takes a variable away. */
	readonly env?: Readonly<Record<string, string | null>> | undefined;
	readonly mode?: "pty" | "pipe" | undefined;
	readonly size?: Partial<Size> | undefined;
	readonly stdin?: "open" | "closed" | undefined;
	readonly name?: string | undefined;
	readonly labels?: Readonly<Record<string, string>> | undefined;
	readonly workspace?: string | undefined;
	readonly durable?: boolean | undefined;
	readonly retention?: { readonly [K in keyof Retention]?: Retention[K] | undefined } | undefined;
	readonly timeoutMs?: number | undefined;
	readonly idleTimeoutMs?: number | undefined;
	readonly drainMs?: number | undefined;
};

/** Completes a request into something that can be started: its id, its environment, the defaults. */
export type Prepare = (request: StartRequest) => SessionStart;

declare module "fastify" {
	interface FastifyContextConfig {
		policy?: Policy;
	}
	interface FastifyRequest {
		/** Who is calling, on every route whose policy is not `public`. */
		principal: Principal | null;
	}
}
