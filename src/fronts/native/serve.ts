/** Serves the operations of `api/schema`: checks each request and gives its handler what the operation declares. */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { operations as routes } from "../../api/operations.ts";
import { operations } from "../../api/schema/api.ts";
import { closed, object, type Schema } from "../../api/schema/fields.ts";
import type { Operation } from "../../api/schema/operation.ts";
import type { Operations } from "../../api/types.ts";
import { invariant, SessionError } from "../../core/errors.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { AuditedCaller } from "../../core/policy/audited-caller.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { bytesOf, type HeldBytes, onAnswerClosed, requestSignal } from "../../http/answer.ts";
import { addReader, auditedCallerOf } from "../../http/caller.ts";
import type { ServerContext } from "../../http/front.ts";
import { compileValidator } from "../../http/validation.ts";
import { findSession, principalOf, resourceOf } from "./find-session.ts";

type OperationName = keyof Operations;

/** A call of an operation. Below `/v1/sessions/:id` it has the session, and the caller has the right to it. */
export type Call<Name extends OperationName> = RequestCall<Name> &
	((typeof routes)[Name] extends `${string} /v1/sessions/:id${string}` ? { readonly session: Session } : unknown);

type Result<Answer> = [undefined] extends [Answer]
	? Promise<void> | Promise<FastifyReply>
	: Promise<Answer | FastifyReply>;

/** Returns the answer, or the reply if something else than the declared JSON was sent. */
type Handler<Name extends OperationName> = (call: Call<Name>) => Result<Operations[Name]["answer"]>;

export type Serve = <Name extends OperationName>(
	name: Name,
	handler: Handler<Name>,
	options?: Partial<Pick<RouteOptions, "bodyLimit" | "exposeHeadRoute" | "onSend" | "preParsing">>,
) => void;

type ServeOptions = { readonly sessions: Sessions; readonly hosting: ServerContext };

export function createServe(app: FastifyInstance, { sessions, hosting }: ServeOptions): Serve {
	app.setValidatorCompiler(compileValidator);
	// Schemas document answers; TypeScript checks that handlers return them.
	app.setSerializerCompiler(() => (value) => JSON.stringify(value));
	return (name, handler, options) => {
		const operation = operations[name];
		invariant(operation, `no operation is called ${name}`);
		const [method = "", url = ""] = operation.route.split(" ");
		const isOfSession = /^\/v1\/sessions\/:id(\/|$)/.test(url);
		const { right, startsProgram = false, isSocket = false, takes, answer, content } = operation;
		const hasBody = answer !== undefined || content !== undefined;
		const status = operation.status ?? (hasBody ? 200 : 204);
		app.route({
			...options,
			method,
			url,
			config: { policy: right, makes: startsProgram, isSocket, ...(takes ? { takes } : {}) },
			schema: requestSchema(operation),
			handler: async (request, reply) => {
				const session = isOfSession ? findSession(sessions, request, right) : undefined;
				const call = new RequestCall(request, reply, { session, takes, hosting });
				reply.code(status);
				const result = await handler(call as unknown as Parameters<typeof handler>[0]);
				// A handler that has sent its reply also returns undefined.
				return hasBody || reply.sent ? result : reply.send();
			},
		});
	};
}

/** Parameters without a check are not validated, nor is the query of an operation that declares none. */
function requestSchema({ params, query, body }: Operation): { params?: Schema; querystring?: Schema; body?: Schema } {
	return {
		...(params ? { params: object(params) } : {}),
		...(query ? { querystring: closed(query) } : {}),
		...(body ? { body } : {}),
	};
}

type CallParts = {
	readonly session: Session | undefined;
	readonly takes: string | undefined;
	readonly hosting: ServerContext;
};

class RequestCall<Name extends OperationName> {
	readonly request: FastifyRequest;
	readonly reply: FastifyReply;
	readonly session: Session | undefined;
	readonly #takes: string | undefined;
	readonly #hosting: ServerContext;

	constructor(request: FastifyRequest, reply: FastifyReply, { session, takes, hosting }: CallParts) {
		this.request = request;
		this.reply = reply;
		this.session = session;
		this.#takes = takes;
		this.#hosting = hosting;
	}

	get params(): Operations[Name]["params"] {
		return this.request.params as Operations[Name]["params"];
	}

	get query(): Operations[Name]["query"] {
		return this.request.query as Operations[Name]["query"];
	}

	get body(): Operations[Name]["body"] {
		const { body } = this.request;
		if (this.#takes !== undefined && !(body instanceof Uint8Array)) {
			// A request without content type and body writes nothing.
			if ((body ?? undefined) === undefined && this.#takes === BYTES)
				return new Uint8Array() as Operations[Name]["body"];
			throw new SessionError("invalid_argument", `the body must have the content type ${this.#takes}`);
		}
		return (body ?? undefined) as Operations[Name]["body"];
	}

	/** The caller of an operation that is not public. */
	get caller(): Principal {
		return principalOf(this.request);
	}

	/** Performs and audits the caller's actions. */
	get witness(): AuditedCaller {
		return auditedCallerOf(this.request);
	}

	/** Aborted when the reply is closed, the caller's token is revoked or the server closes. */
	get signal(): AbortSignal {
		return requestSignal(this.reply, this.#hosting);
	}

	/** Counts the caller as a reader of the session until the reply is closed, and audits it. */
	startReading(how: "read" | "attach" = "read"): void {
		invariant(this.session, "only operations of a session read one");
		onAnswerClosed(this.reply, addReader(this.request, resourceOf(this.session), this.#hosting, how));
	}

	/** Reserves memory for the answer until the reply is closed. */
	holdBytes(): HeldBytes {
		return bytesOf(this.caller, this.reply, this.#hosting);
	}
}

const BYTES = "application/octet-stream";
