/** What a front is: the translation between one wire protocol and the core. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Place, Principal, Right } from "../core/access.ts";
import { invariant, SessionError } from "../core/errors.ts";
import type { Size } from "../core/event.ts";
import type { RequestedStart } from "../core/planned-start.ts";
import type { SandboxPolicy } from "../core/sandbox.ts";
import type { FollowOptions, Retention, Session, SessionSpec, SizePolicy, TerminalColors } from "../core/session.ts";
import type { Witness } from "../core/witness.ts";
import { ticketPrefix } from "../protocol/socket.ts";
import type { Backlog } from "./backlog.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { LoopShare } from "./loop-share.ts";
import type { Readers, ReadPlace } from "./readers.ts";

/**
 * What a route asks of its caller: nothing, to be the operator, to see the server's numbers, or a right. Every route declares one; the
 * server does not start otherwise. A right asks for any valid credential at the door; whether it is good
 * for the session or workspace in question is asked where that is known (`findSession`).
 */
export type Policy = "public" | "admin" | "metrics" | Right;

export const policies: readonly Policy[] = ["public", "admin", "metrics", "read", "operate", "manage"];

/** The token of an `Authorization: Bearer` header. */
export function bearer({ headers }: FastifyRequest): string | undefined {
	return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** The ticket offered among the subprotocols of an upgrade. It must never be the one that is answered. */
export function ticketOf(request: FastifyRequest): string | undefined {
	const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	return offered.find((name) => name.startsWith(ticketPrefix))?.slice(ticketPrefix.length);
}

/** Who asks, and what tells the audit of it: a request, or what stands for it. */
export type Asking = Pick<FastifyRequest, "principal" | "witness">;

/** Whether a caller has a right that it needs for what it asked; that it has not is recorded. */
export function may(asking: Asking, right: Right, place: Place): boolean {
	const isAllowed = asking.principal?.may(right, place) === true;
	if (!isAllowed) witnessOf(asking).record({ action: "refused", code: "permission_denied", right }, place);
	return isAllowed;
}

/** By whom everything that a request does to sessions is done, so that it is recorded. */
export function witnessOf({ witness }: Pick<Asking, "witness">): Witness {
	invariant(witness, "a request that nobody looked at");
	return witness;
}

/** For something that may be seen. What may not be seen is not there; each front says that in its own words. */
export function checkRight(asking: Asking, right: Right, place: Place): void {
	if (may(asking, right, place)) return;
	throw lacksRight(right, place);
}

export function lacksRight(right: Right, { workspace, session }: Place): SessionError {
	const what = session === undefined ? `workspace "${workspace}"` : `session "${session}"`;
	return new SessionError("permission_denied", `this token may not ${right} ${what}`, {
		hint: "ask the person who made the token for one with this right",
	});
}

/**
 * How a caller may follow a session. Only who may operate it may keep its program waiting: for others, to read
 * without loss means to read what memory and the journal still have, with a gap for what they have not.
 */
export function flowFor(
	principal: Principal | null,
	{ id, spec }: Session,
	wanted: "lossless" | "live",
): Pick<FollowOptions, "flow"> {
	const mayHold = principal?.may("operate", { workspace: spec.workspace, session: id }) === true;
	return wanted === "live" || mayHold ? { flow: wanted } : {};
}

/** Acts when the signal aborts, or has, unless `until` does so first; leaves nothing on a signal that lives longer. */
export function onAbort(signal: AbortSignal, until: AbortSignal, act: () => void): void {
	if (signal.aborted) act();
	signal.addEventListener("abort", act, { once: true });
	until.addEventListener("abort", () => signal.removeEventListener("abort", act), { once: true });
}

/** Refuses what was made too soon after other things: give it what `countCreation` says. */
export function checkCreation(waitMs: number): void {
	if (waitMs === 0) return;
	throw new SessionError("limit_exceeded", `too much was made in a short time; the next may come in ${waitMs} ms`);
}

/** A place among those who follow a session, or who read what there is of it; the returned function gives it back. */
export function takeReader(
	asking: Asking,
	place: ReadPlace,
	{ readers }: Pick<Hosting, "readers">,
	how: "attach" | "read",
): () => void {
	const { principal } = asking;
	if (!principal) throw new SessionError("unauthenticated", "a token is required");
	const leave = readers.take(principal, place);
	const witness = witnessOf(asking);
	witness.record({ action: how }, place);
	let isThere = true;
	return () => {
		leave();
		if (isThere && how === "attach") witness.record({ action: "detach" }, place);
		isThere = false;
	};
}

/** Acts once nothing more is sent of an answer: all of it is, or its client has gone. */
export function whenOver({ raw }: FastifyReply, act: () => void): void {
	if (raw.destroyed) act();
	else raw.once("close", act);
}

/** What the server hosting a front gives to it. */
export type Hosting = {
	/** Aborted when the server closes: whoever waits answers at once. */
	readonly closing: AbortSignal;
	/** For what went wrong on our side; its text is never sent. */
	readonly report: (problem: unknown, where: string) => void;
	/** Whoever follows a session has a place there. */
	readonly readers: Readers;
	/** What answers hold of sessions' output until they are sent. */
	readonly answers: ByteBudget;
	/** What the connections of JSON-RPC keep of messages. */
	readonly backlog: Backlog;
	/** When each of their messages has its turn. */
	readonly share: LoopShare;
	/**
	 * Who shows a credential where the door did not look for it, such as in the first message of a socket whose route is
	 * `public`. Rejects as the door does.
	 */
	readonly identify: (request: FastifyRequest, credential: string) => Promise<Principal>;
};

export interface Front {
	readonly name: string;
	/** Where this protocol carries its credential. */
	credential(request: FastifyRequest): string | undefined;
	/** Adds the routes, each with `config: { policy }`, and an error handler that speaks the protocol. */
	register(app: FastifyInstance, hosting: Hosting): void;
}

/** What a terminal has been since before there were windows. */
export const defaultSize: Size = { cols: 80, rows: 24 };

/** What a front asks to be started; undefined leaves it to the server's settings. */
export type StartRequest = {
	readonly argv: readonly string[];
	readonly arg0?: string | undefined;
	readonly cwd?: string | undefined;
	/** Added to the child's environment; null takes a variable away. */
	readonly env?: Readonly<Record<string, string | null>> | undefined;
	/** What `env` is added to, where a protocol promises something else than the server gives to every child. */
	readonly base?: Readonly<Record<string, string>> | undefined;
	/** The environment to the letter, without even the mark by which stray processes are found. */
	readonly exactEnv?: Readonly<Record<string, string>> | undefined;
	readonly mode?: "pty" | "pipe" | undefined;
	readonly size?: Partial<Size> | undefined;
	readonly sizePolicy?: SizePolicy | undefined;
	readonly stdin?: "open" | "closed" | undefined;
	readonly stderr?: "apart" | "merged" | undefined;
	readonly uid?: number | undefined;
	readonly gid?: number | undefined;
	readonly groups?: readonly number[] | undefined;
	/** What it may reach; what can't be enforced here is refused when it is started. */
	readonly sandbox?: SandboxPolicy | undefined;
	readonly name?: string | undefined;
	readonly labels?: Readonly<Record<string, string>> | undefined;
	readonly workspace?: string | undefined;
	/** Of the workspace: whose directory and variables it gets where it names none itself. */
	readonly task?: string | undefined;
	readonly durable?: boolean | undefined;
	readonly retention?: { readonly [K in keyof Retention]?: Retention[K] | undefined } | undefined;
	readonly timeoutMs?: number | undefined;
	/** How long it may take to end then; zero ends it at once. */
	readonly timeoutGraceMs?: number | undefined;
	readonly idleTimeoutMs?: number | undefined;
	readonly idleExemptJobs?: boolean | undefined;
	/** Whether all output waits for its first reader. */
	readonly holdOutput?: boolean | undefined;
	/** Whether the session answers what its program asks the terminal, while no attached terminal says that it does. */
	readonly answersQueries?: boolean | undefined;
	/** What it says then of its colours. */
	readonly colors?: TerminalColors | undefined;
	/** A terminal is about to attach that does. */
	readonly awaitsTerminal?: boolean | undefined;
	/** Whether a shell is made to mark its prompts and commands. */
	readonly shellHooks?: boolean | undefined;
	/** How long `closed` may wait for others that hold the terminal or the pipes; null waits for them. */
	readonly drainMs?: number | null | undefined;
	/** By what a repeat of this is recognised. */
	readonly request?: SessionSpec["request"] | undefined;
};

/** Completes a request into something that can be started: its id, its environment, the defaults. */
export type Prepare = (request: StartRequest) => RequestedStart;

declare module "fastify" {
	interface FastifyContextConfig {
		policy?: Policy;
		/** Whether it starts a program, of which a caller may only start so many in a time. */
		makes?: boolean;
		/** Whether this is for upgrades. */
		isSocket?: boolean;
		/** The content type of a body that has no schema; others are JSON. */
		takes?: string;
	}
	interface FastifyRequest {
		/** Who is calling, on every route whose policy is not `public`. */
		principal: Principal | null;
		/** Tells the audit what is done by this request; there from the first hook on. */
		witness: Witness | null;
	}
}
