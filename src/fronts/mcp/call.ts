/** One tool call or resource read: its caller, workspace, deadline and memory budget. */

import type { FastifyReply } from "fastify";
import Type from "typebox";
import { Compile } from "typebox/compile";
import { environmentKey } from "../../api/mcp.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { Session } from "../../core/session/session.ts";
import { defaultWorkspace } from "../../core/session/workspaces.ts";
import { bytesOf, type HeldBytes, onAnswerClosed } from "../../http/answer.ts";
import { addReader, auditedCallerOf, checkRight } from "../../http/caller.ts";
import type { ServerContext } from "../../http/front.ts";
import { problemOf } from "../../http/validation.ts";
import type { Right } from "../../words/rights.ts";
import type { McpOptions } from "./options.ts";

/** Sent by `hawser mcp`: the environment of the conversation. */
type ConversationEnvironment = {
	/** Name of the shell that runs the conversation's commands. */
	shell?: string;
	cwd?: string;
	env?: Record<string, string>;
};

const environment: Type.TUnsafe<ConversationEnvironment> = Type.Unsafe(
	Type.Object({
		shell: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
		cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
		env: Type.Optional(Type.Record(Type.String(), Type.String())),
	}),
);

const environmentValidator = Compile(environment);

/**
 * The state of a call that asked for a secret. Unsigned, because the caller could name all of it in a call of its own.
 */
export type PendingSecret = {
	readonly request: { readonly id: string };
	readonly session: string;
	/** Offset of the output that the call was to report. */
	readonly from: number;
};

export type CallParts = {
	readonly reply: FastifyReply;
	readonly principal: Principal;
	readonly hosting: ServerContext;
	readonly options: McpOptions;
	/** Starts of shells in progress, by caller, workspace and name. */
	readonly shellStarts: Map<string, Promise<Session>>;
	/**
	 * Workspace of the call. Without one, all sessions are visible, and names and new sessions belong to the default
	 * workspace.
	 */
	readonly workspace: string | undefined;
	/** The call's `_meta`. */
	readonly meta: Readonly<Record<string, unknown>>;
	/** Aborted when the client no longer waits. Programs are not affected. */
	readonly signal: AbortSignal;
	/** Reports that the wait continues. */
	readonly onProgress: (progress: {
		readonly progress: number;
		readonly total: number;
		readonly message: string;
	}) => void;
};

export class Call {
	readonly #parts: CallParts;
	readonly environment: ConversationEnvironment;
	/** The secret request that this call made, if any. */
	asked: PendingSecret | undefined;
	readonly #held: HeldBytes;
	/** Sessions being read, with the function that releases each. */
	readonly #reading = new Map<string, () => void>();
	readonly #begunAt = performance.now();

	constructor(parts: CallParts) {
		this.#parts = parts;
		this.environment = environmentOf(parts.meta);
		this.#held = bytesOf(parts.principal, parts.reply, parts.hosting);
	}

	get options(): McpOptions {
		return this.#parts.options;
	}

	get shellStarts(): Map<string, Promise<Session>> {
		return this.#parts.shellStarts;
	}

	get principal(): Principal {
		return this.#parts.principal;
	}

	get signal(): AbortSignal {
		return this.#parts.signal;
	}

	/** Monotonic over all waits of the call, as progress must be. */
	elapsedMs(): number {
		return performance.now() - this.#begunAt;
	}

	get onProgress(): CallParts["onProgress"] {
		return this.#parts.onProgress;
	}

	/** Identifies the conversation to sessions. All conversations of the operator over HTTP count as one. */
	get conversation(): string {
		return `mcp ${this.principal.id} ${this.environment.shell ?? ""}`;
	}

	/** Workspace of new sessions and of names. */
	get workspace(): string {
		return this.#parts.workspace ?? defaultWorkspace;
	}

	get witness(): ReturnType<typeof auditedCallerOf> {
		return auditedCallerOf(this.#parts.reply.request);
	}

	/** Oldest first. */
	readable(): readonly Session[] {
		return this.#parts.options.sessions.list().filter((session) => this.#mayRead(session));
	}

	#mayRead({ id, spec }: Session): boolean {
		const { principal, workspace } = this.#parts;
		if (workspace !== undefined && spec.workspace !== workspace) return false;
		return principal.may("read", { workspace: spec.workspace, session: id });
	}

	/** Calls `listener` when a readable session is created, changes state or is removed. Returns a function to stop. */
	watch(listener: () => void): () => void {
		return this.#parts.options.sessions.watch(({ session }) => {
			if (this.#mayRead(session)) listener();
		});
	}

	/**
	 * Finds a session by id in any workspace, or by name in the call's workspace, because other workspaces may use the
	 * same name. The running session wins, then the newest. Sessions that the caller may not read count as absent.
	 */
	lookUp(wanted: string): Session | undefined {
		const known = this.readable();
		const named = known.filter((session) => this.isOwn(session) && session.spec.name === wanted);
		const meant = named.findLast(({ state }) => !isEnded(state)) ?? named.at(-1);
		return known.find(({ id }) => id === wanted) ?? meant;
	}

	/** Whether it can be addressed by name. */
	isOwn({ spec }: Session): boolean {
		return spec.workspace === this.workspace;
	}

	/** The only session of the call's workspace whose id or name starts with `wanted`, as in the CLI. */
	#lookUpBeginning(wanted: string): Session | undefined {
		const own = this.readable().filter((session) => this.isOwn(session));
		const beginning = own.flatMap((session) => {
			if (session.id.startsWith(wanted)) return session;
			return (session.spec.name?.startsWith(wanted) && this.lookUp(session.spec.name)) || [];
		});
		const [first, ...others] = new Set(beginning);
		if (others.length === 0) return first;
		const which = `whose id or name begins with ${JSON.stringify(wanted.slice(0, 64))}`;
		throw new SessionError("invalid_argument", `session: ambiguous; there are ${others.length + 1} ${which}`, {
			hint: "the tool sessions lists them",
		});
	}

	/** Like `lookUp`, but also by prefix, and checks a right. */
	find(wanted: string, right: Right): Session {
		const session = this.lookUp(wanted) ?? this.#lookUpBeginning(wanted);
		if (!session) {
			throw new SessionError("session_not_found", `there is no session ${JSON.stringify(wanted.slice(0, 64))}`, {
				hint: "the tool sessions lists all sessions",
			});
		}
		checkRight(this.#parts.reply.request, right, { workspace: session.spec.workspace, session: session.id });
		return this.witness.session(session);
	}

	checkMayStart(): void {
		checkRight(this.#parts.reply.request, "manage", { workspace: this.workspace });
	}

	/** Counts as a reader of the session until the answer is sent; once per session. */
	beginReading({ id, spec }: Session): void {
		if (this.#reading.has(id)) return;
		const { reply, hosting } = this.#parts;
		// One listener for all sessions, because there may be many.
		if (this.#reading.size === 0) onAnswerClosed(reply, () => this.#endReading());
		this.#reading.set(id, addReader(reply.request, { workspace: spec.workspace, session: id }, hosting, "read"));
		if (reply.raw.destroyed) this.#endReading();
	}

	#endReading(): void {
		for (const leave of this.#reading.values()) leave();
		this.#reading.clear();
	}

	/** Reserves memory for the answer. */
	reserve(bytes: number): void {
		this.#held.all(bytes);
	}
}

function environmentOf(meta: Readonly<Record<string, unknown>>): ConversationEnvironment {
	const said = meta[environmentKey] ?? {};
	if (environmentValidator.Check(said)) return said;
	throw problemOf(environment, said);
}
