/**
 * The terminals: shells in the work directories of tasks, each controlled by at most one client.
 *
 * A terminal outlives its client by the grace time, in which the same user can return to it. Its owner is stored in the
 * session's labels, so that the next server knows it too. Starts, ends and connections in progress are awaited when the
 * server closes.
 */

import { withDeadline } from "../../../core/async/deadline.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import { isNotApproved } from "../../../core/policy/not-approved.ts";
import { checkStartRate } from "../../../core/policy/start-rate.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Task } from "../../../core/session/workspaces.ts";
import { checkRight } from "../../../http/caller.ts";
import type { StartRequest } from "../../../services/starts/request.ts";
import type { Size } from "../../../words/state.ts";
import { TerminalError } from "./errors.ts";
import { defaultTimes, type MulticaLimits } from "./limits.ts";
import type { MulticaOptions } from "./options.ts";

/** Every terminal has `user` or `caller`. */
const labels = { user: "multica.user", caller: "multica.caller", issue: "multica.issue" } as const;

/**
 * Owner of a terminal: a Multica user or a Hawser caller. The kind is part of the key because their names may collide.
 */
type Owner = { readonly label: (typeof labels)["user" | "caller"]; readonly id: string };

export function ownerOf(principal: Principal, user: string | undefined = principal.user): Owner {
	return user === undefined ? { label: labels.caller, id: principal.id } : { label: labels.user, id: user };
}

/** Exit reason of a terminal whose client did not return. */
const ABANDONED = "browser_disconnect";

/** A request for a terminal. */
type TerminalRequest = {
	readonly principal: Principal;
	/** Performs and audits the client's actions. */
	readonly witness: AuditedCaller;
	readonly task: Task;
	/** Only the owner gets the same terminal again. */
	readonly owner: Owner;
	readonly issue: string;
	/** Session of the agent that worked on the task before; may be empty. */
	readonly priorSession: string;
	readonly size: Size;
	/** Aborted when the client disconnects; a shell started meanwhile is ended again. */
	readonly signal: AbortSignal;
	/** Called when another client takes control. */
	readonly evict: () => void;
};

/** Control over a terminal. */
export type TerminalControl = {
	readonly session: Session;
	/** Whether the shell was started for this client. */
	readonly isNew: boolean;
	/** Keeps the terminal for a returning client. No effect after an eviction. */
	leave(): void;
	/** Ends the terminal, because no client knows it. */
	discard(): void;
};

export class Terminals {
	readonly #options: MulticaOptions;
	readonly #times: MulticaLimits;
	readonly #report: (problem: unknown) => void;
	readonly #holds = new Map<string, { readonly evict: () => void }>();
	/** Cancels the wait for a returning client, by session. */
	readonly #awaited = new Map<string, () => void>();
	/** Why a terminal is ended; the first reason counts. */
	readonly #reasons = new WeakMap<Session, string>();
	readonly #pending = new Set<Promise<unknown>>();
	readonly #closing = new AbortController();

	constructor(options: MulticaOptions, report: (problem: unknown) => void) {
		this.#options = options;
		this.#times = { ...defaultTimes, ...options.times };
		this.#report = report;
		// Terminals of the previous server: their clients may return to this one.
		for (const session of options.sessions.list()) this.#awaitReturn(session);
	}

	/** Takes the user's newest free terminal of this task, or starts one. */
	async open(request: TerminalRequest): Promise<TerminalControl> {
		this.#checkOpen();
		const waiting = this.#options.sessions.list().findLast((session) => this.#isFor(session, request));
		return waiting ? this.#hold(waiting, request.evict, false) : this.#start(request);
	}

	/** Takes control of an existing terminal, evicting its current client. */
	take(session: Session, evict: () => void): TerminalControl {
		this.#checkOpen();
		return this.#hold(session, evict, false);
	}

	/** A running terminal: the newest of the task, or the named one in the task's workspace. */
	find({ task, id }: { readonly task: Task; readonly id: string | undefined }): Session {
		const isMeant = (session: Session) => (id === undefined ? session.spec.task === task.id : session.id === id);
		const found = this.#options.sessions
			.list()
			.findLast((session) => isMeant(session) && session.spec.workspace === task.workspace && this.#isRunning(session));
		if (found) return found;
		throw new TerminalError("session_not_found", "there is no such terminal, or it has ended");
	}

	/** Ends a terminal, on behalf of a client if given. The first reason counts. */
	end(session: Session, reason: string, by?: { readonly name: string; readonly witness: AuditedCaller }): void {
		if (this.#reasons.has(session)) return;
		this.#reasons.set(session, reason);
		this.#stopWaiting(session);
		const graceMs = this.#times.killMs;
		const witnessed = by?.witness.session(session) ?? session;
		const killing = witnessed.kill({ graceMs, reason: "killed", ...(by === undefined ? {} : { by: by.name }) });
		this.track(killing).catch((error: unknown) => {
			if (!isNotApproved(error)) return this.#report(error);
			// The terminal continues, and clients may use it.
			this.#reasons.delete(session);
		});
	}

	/** Why this server ended it, if it did. */
	reasonOf(session: Session): string | undefined {
		return this.#reasons.get(session);
	}

	/** Registers work that `close` waits for. */
	track<T>(work: Promise<T>): Promise<T> {
		const settled = work.then(
			() => {},
			() => {},
		);
		this.#pending.add(settled);
		void settled.then(() => this.#pending.delete(settled));
		return work;
	}

	/** Refuses new terminals; resolves when no work is in progress. */
	async close(): Promise<void> {
		this.#closing.abort();
		for (const stopWaiting of this.#awaited.values()) stopWaiting();
		this.#awaited.clear();
		// One piece of work may start another: the end of a connection may end its terminal.
		while (this.#pending.size > 0) await Promise.all(this.#pending);
	}

	async #start(request: TerminalRequest): Promise<TerminalControl> {
		const { principal, witness, task, signal, evict } = request;
		checkRight({ principal, witness }, "manage", { workspace: task.workspace });
		checkStartRate(principal.countCreation());
		const { sessions, prepare } = this.#options;
		return withDeadline(this.#times.openMs, [signal, this.#closing.signal], (over) => {
			const starting = witness.create(sessions, prepare(this.#startOf(request))).then(async (session) => {
				// Held in the same turn, so that no other client can take it in between.
				if (!over.aborted) return this.#hold(session, evict, true);
				await this.#remove(session);
				throw tooLate;
			});
			return Promise.race([this.track(starting), failed(over)]);
		});
	}

	#startOf({ task, owner, issue, priorSession, size }: TerminalRequest): StartRequest {
		const { graceMs, idleMs } = this.#options;
		return {
			argv: ["bash", "-l"],
			workspace: task.workspace,
			task: task.id,
			env: {
				MULTICA_WORKSPACE_ID: task.workspace,
				MULTICA_TASK_ID: task.id,
				...named({ MULTICA_ISSUE_ID: issue, MULTICA_USER_ID: owner.id, CLAUDE_SESSION_ID: priorSession }),
			},
			size,
			labels: { [owner.label]: owner.id, ...named({ [labels.issue]: issue }) },
			// Without a grace time the terminal ends with its client, so it need not outlive the server.
			durable: graceMs > 0,
			idleTimeoutMs: idleMs,
		};
	}

	#hold(session: Session, evict: () => void, isNew: boolean): TerminalControl {
		const { id } = session;
		this.#stopWaiting(session);
		this.#holds.get(id)?.evict();
		const mine = { evict };
		this.#holds.set(id, mine);
		const release = () => this.#holds.get(id) === mine && this.#holds.delete(id);
		return {
			session,
			isNew,
			leave: () => void (release() && this.#awaitReturn(session)),
			discard: () => void (release() && this.track(this.#remove(session)).catch(this.#report)),
		};
	}

	/** Waits for the owner to return. */
	#awaitReturn(session: Session): void {
		const { clock, graceMs } = this.#options;
		if (!this.#isRunning(session)) return;
		if (graceMs === 0) this.end(session, ABANDONED);
		// Once this server is closing, the next one waits.
		else if (!this.#closing.signal.aborted) {
			this.#awaited.set(
				session.id,
				clock.after(graceMs, () => this.end(session, ABANDONED)),
			);
		}
	}

	#stopWaiting({ id }: Session): void {
		this.#awaited.get(id)?.();
		this.#awaited.delete(id);
	}

	async #remove(session: Session): Promise<void> {
		await session.kill({ graceMs: this.#times.killMs, reason: "killed" });
		await this.#options.sessions.forget(session.id);
	}

	#isFor(session: Session, { principal, task, owner }: TerminalRequest): boolean {
		const { labels: given, workspace, task: startedFor } = session.spec;
		const isTheirs = startedFor === task.id && given[owner.label] === owner.id && workspace === task.workspace;
		const isFree = this.#isRunning(session) && !this.#holds.has(session.id);
		return isTheirs && isFree && principal.may("operate", { workspace, session: session.id });
	}

	/** Whether the session is a running terminal that is not being ended. */
	#isRunning(session: Session): boolean {
		const isTerminal = [labels.user, labels.caller].some((label) => Object.hasOwn(session.spec.labels, label));
		return isTerminal && session.state.status === "running" && !this.#reasons.has(session);
	}

	#checkOpen(): void {
		if (this.#closing.signal.aborted) throw new TerminalError("internal", "the server is shutting down");
	}
}

const tooLate = new TerminalError("open_timeout", "the shell was not started in time");

function failed(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) => {
		if (signal.aborted) reject(tooLate);
		signal.addEventListener("abort", () => reject(tooLate), { once: true });
	});
}

/** Removes empty values. */
function named(values: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}
