/** What a front is: the translation between one wire protocol and the core. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Size } from "../core/event.ts";
import type { Retention, SessionStart } from "../core/session.ts";

/** Who is calling. */
export type Principal = { readonly name: string };

/** What a route asks of its caller. Every route declares one; the server does not start otherwise. */
export type Policy = "public" | "admin";

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
