/** One call of a tool, or one resource that is read: who wants it, where, for how long, and what it may take. */

import type { FastifyReply } from "fastify";
import Type from "typebox";
import { Compile } from "typebox/compile";
import type { Principal, Right } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import { surroundingsKey } from "../../protocol/mcp.ts";
import { bytesOf, crowded } from "../answer-bytes.ts";
import { checkRight, type Hosting, takeReader, whenOver, witnessOf } from "../front.ts";
import type { Places } from "../places.ts";
import { problemOf } from "../validation.ts";
import type { McpOptions } from "./options.ts";

/** What whoever brings a conversation to us over its own pipes says about where that takes place. */
export type Surroundings = {
	/** What the shell is called in which the conversation runs commands. */
	shell?: string;
	cwd?: string;
	env?: Record<string, string>;
};

const surroundings: Type.TUnsafe<Surroundings> = Type.Unsafe(
	Type.Object({
		shell: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
		cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
		env: Type.Optional(Type.Record(Type.String(), Type.String())),
	}),
);

const surroundingsValidator = Compile(surroundings);

/** What a call was about when it asked for a secret: nothing that its caller could not name in a call of its own, so that it is not signed. */
export type Asked = {
	readonly request: { readonly id: string };
	readonly session: string;
	/** Where the output begins that the call was to tell. */
	readonly from: number;
};

export type CallParts = {
	readonly reply: FastifyReply;
	readonly principal: Principal;
	readonly hosting: Hosting;
	readonly options: McpOptions;
	readonly past: Places;
	/** Whose sessions are meant; those of all, and names and new ones in the default one, if left out. */
	readonly workspace: string | undefined;
	/** What came with the call besides its arguments. */
	readonly meta: Readonly<Record<string, unknown>>;
	/** Aborted when nobody waits for the answer any more. Programs know nothing of that. */
	readonly signal: AbortSignal;
	/** Says that the wait goes on. */
	readonly onProgress: (progress: {
		readonly progress: number;
		readonly total: number;
		readonly message: string;
	}) => void;
};

export class Call {
	readonly #parts: CallParts;
	readonly surroundings: Surroundings;
	/** The secret that a person was asked for by what this call told. */
	asked: Asked | undefined;
	readonly #hold: (wanted: number) => number;
	/** The sessions that are read, and how each is left. */
	readonly #reading = new Map<string, () => void>();
	readonly #begunAt = performance.now();

	constructor(parts: CallParts) {
		this.#parts = parts;
		this.surroundings = surroundingsOf(parts.meta);
		this.#hold = bytesOf(parts.principal, parts.reply, parts.hosting);
	}

	get options(): McpOptions {
		return this.#parts.options;
	}

	get principal(): Principal {
		return this.#parts.principal;
	}

	get signal(): AbortSignal {
		return this.#parts.signal;
	}

	/** What a client is told of progress never goes back, whatever is waited for. */
	elapsedMs(): number {
		return performance.now() - this.#begunAt;
	}

	get onProgress(): CallParts["onProgress"] {
		return this.#parts.onProgress;
	}

	/** By which its calls are known to sessions; the operator's conversations over HTTP are one. */
	get conversation(): string {
		return `mcp ${this.principal.id} ${this.surroundings.shell ?? ""}`;
	}

	/** Where new sessions belong, and where names are looked for. */
	get workspace(): string {
		return this.#parts.workspace ?? defaultWorkspace;
	}

	get witness(): ReturnType<typeof witnessOf> {
		return witnessOf(this.#parts.reply.request);
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

	/** Calls back when one of them comes, changes its state or goes, until the returned function is called. */
	watch(listener: () => void): () => void {
		return this.#parts.options.sessions.watch(({ session }) => {
			if (this.#mayRead(session)) listener();
		});
	}

	/**
	 * By its id, wherever it is, or by its name in the workspace of the call: in another anybody may have used the same
	 * name, and would get what is meant for ours. Of several the one that runs, else the newest. What may not be seen is
	 * not there.
	 */
	lookUp(wanted: string): Session | undefined {
		const known = this.readable();
		const named = known.filter((session) => this.isOwn(session) && session.spec.name === wanted);
		const meant = named.findLast(({ state }) => !isEnded(state)) ?? named.at(-1);
		return known.find(({ id }) => id === wanted) ?? meant;
	}

	/** Whether it can be called by its name. */
	isOwn({ spec }: Session): boolean {
		return spec.workspace === this.workspace;
	}

	/** The only one of the call's own workspace whose id or name begins so, as the command line has it. */
	#lookUpBeginning(wanted: string): Session | undefined {
		const own = this.readable().filter((session) => this.isOwn(session));
		const beginning = own.flatMap((session) => {
			if (session.id.startsWith(wanted)) return session;
			return (session.spec.name?.startsWith(wanted) && this.lookUp(session.spec.name)) || [];
		});
		const [first, ...others] = new Set(beginning);
		if (others.length === 0) return first;
		const which = `whose id or name begins with ${JSON.stringify(wanted.slice(0, 64))}`;
		throw new SessionError("invalid_argument", `session: there are ${others.length + 1} ${which}`, {
			hint: "the tool sessions lists them",
		});
	}

	/** The same as this caller has it, or by its beginning, for something that takes a right. */
	find(wanted: string, right: Right): Session {
		const session = this.lookUp(wanted) ?? this.#lookUpBeginning(wanted);
		if (!session) {
			throw new SessionError("session_not_found", `there is no session ${JSON.stringify(wanted.slice(0, 64))}`, {
				hint: "the tool sessions lists those there are",
			});
		}
		checkRight(this.#parts.reply.request, right, { workspace: session.spec.workspace, session: session.id });
		return this.witness.session(session);
	}

	checkMayStart(): void {
		checkRight(this.#parts.reply.request, "manage", { workspace: this.workspace });
	}

	/** Takes a place among those who read a session, until the answer is sent; one, however often it is asked for. */
	beginReading({ id, spec }: Session): void {
		if (this.#reading.has(id)) return;
		const { reply, hosting } = this.#parts;
		// All are left by one listener, for there may be many.
		if (this.#reading.size === 0) whenOver(reply, () => this.#endReading());
		this.#reading.set(id, takeReader(reply.request, { workspace: spec.workspace, session: id }, hosting, "read"));
		if (reply.raw.destroyed) this.#endReading();
	}

	#endReading(): void {
		for (const leave of this.#reading.values()) leave();
		this.#reading.clear();
	}

	/** Takes a place among those who look at an earlier screen; it is to be given back. */
	beginLookingBack(): () => void {
		const { past, principal } = this.#parts;
		return past.take(principal);
	}

	/** Makes room for what the answer will hold. */
	reserve(bytes: number): void {
		if (this.#hold(bytes) < bytes) throw crowded();
	}
}

function surroundingsOf(meta: Readonly<Record<string, unknown>>): Surroundings {
	const said = meta[surroundingsKey] ?? {};
	if (surroundingsValidator.Check(said)) return said;
	throw problemOf(surroundings, surroundingsValidator.Errors(said), said);
}
