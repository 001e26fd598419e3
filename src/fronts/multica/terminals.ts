/**
 * The terminals there are: shells in the work directories of tasks, each controlled by one client at most.
 *
 * A terminal outlives its client by the grace time, and whoever comes back to the same task finds it again. Whose it is
 * stands in its session's labels, so that the next server knows it as well. Everything that is under way here, starts
 * and ends and connections, is waited for when the server closes.
 */

import type { Principal } from "../../core/access.ts";
import type { Size } from "../../core/event.ts";
import type { Session } from "../../core/session.ts";
import { within } from "../../core/within.ts";
import type { Witness } from "../../core/witness.ts";
import type { Task } from "../../core/workspaces.ts";
import { checkCreation, checkRight, type StartRequest } from "../front.ts";
import { isNotApproved } from "../not-approved.ts";
import { TerminalError } from "./errors.ts";
import type { MulticaOptions } from "./options.ts";
import { defaultTimes, type Times } from "./times.ts";

/** Every terminal has one of the first two. */
const labels = { user: "multica.user", caller: "multica.caller", issue: "multica.issue" } as const;

/** Whose a terminal is: a user's of Multica, or else a caller's of ours, which may be called the same. */
type Owner = { readonly label: (typeof labels)["user" | "caller"]; readonly id: string };

export function ownerOf(principal: Principal, user: string | undefined = principal.user): Owner {
	return user === undefined ? { label: labels.caller, id: principal.id } : { label: labels.user, id: user };
}

/** The reason of an end that came because nobody came back. */
const ABANDONED = "browser_disconnect";

/** Who wants a terminal, and for what. */
type TerminalRequest = {
	readonly principal: Principal;
	/** Tells the audit what is done for them. */
	readonly witness: Witness;
	readonly task: Task;
	/** Whose it is: only they find it again. */
	readonly owner: Owner;
	readonly issue: string;
	/** Of the agent that worked on the task before; may be empty. */
	readonly priorSession: string;
	readonly size: Size;
	/** Aborted when the client has gone: what is started for it then is ended again. */
	readonly signal: AbortSignal;
	/** Called when somebody else takes control. */
	readonly evict: () => void;
};

/** Control over a terminal. */
export type Hold = {
	readonly session: Session;
	/** Whether the shell was started for this client. */
	readonly isNew: boolean;
	/** Leaves it to whoever comes back in time. Of no effect for who was evicted. */
	leave(): void;
	/** Ends it, because nobody has heard of it. */
	discard(): void;
};

export class Terminals {
	readonly #options: MulticaOptions;
	readonly #times: Times;
	readonly #report: (problem: unknown) => void;
	readonly #holds = new Map<string, { readonly evict: () => void }>();
	/** How to stop waiting for somebody to come back, by session. */
	readonly #waits = new Map<string, () => void>();
	/** Why those are ended that are: the first reason counts. */
	readonly #reasons = new WeakMap<Session, string>();
	readonly #underWay = new Set<Promise<unknown>>();
	readonly #closing = new AbortController();

	constructor(options: MulticaOptions, report: (problem: unknown) => void) {
		this.#options = options;
		this.#times = { ...defaultTimes, ...options.times };
		this.#report = report;
		// Those of the server before: its clients may come back to this one.
		for (const session of options.sessions.list()) this.#wait(session);
	}

	/** The newest of the user's terminals for this task that nobody controls, or a new one. */
	async open(request: TerminalRequest): Promise<Hold> {
		this.#checkOpen();
		const waiting = this.#options.sessions.list().findLast((session) => this.#isFor(session, request));
		return waiting ? this.#hold(waiting, request.evict, false) : this.#start(request);
	}

	/** Control over one that is there, taken from whoever has it. */
	take(session: Session, evict: () => void): Hold {
		this.#checkOpen();
		return this.#hold(session, evict, false);
	}

	/** One that runs: the newest of the task, whoever's it is, or the one that is named in the task's workspace. */
	find({ task, id }: { readonly task: Task; readonly id: string | undefined }): Session {
		const isMeant = (session: Session) => (id === undefined ? session.spec.task === task.id : session.id === id);
		const found = this.#options.sessions
			.list()
			.findLast((session) => isMeant(session) && session.spec.workspace === task.workspace && this.#isThere(session));
		if (found) return found;
		throw new TerminalError("session_not_found", "there is no such terminal, or it has ended");
	}

	/** Ends a terminal, by whoever asked for that, if somebody did; the first reason counts. */
	end(session: Session, reason: string, by?: { readonly name: string; readonly witness: Witness }): void {
		if (this.#reasons.has(session)) return;
		this.#reasons.set(session, reason);
		this.#stopWaiting(session);
		const graceMs = this.#times.killMs;
		const witnessed = by?.witness.session(session) ?? session;
		const killing = witnessed.kill({ graceMs, reason: "killed", ...(by === undefined ? {} : { by: by.name }) });
		this.track(killing).catch((error: unknown) => {
			if (!isNotApproved(error)) return this.#report(error);
			// It goes on, and whoever comes may have it.
			this.#reasons.delete(session);
		});
	}

	/** Why it was ended here, if it was. */
	reasonOf(session: Session): string | undefined {
		return this.#reasons.get(session);
	}

	/** Is waited for before the server has closed. */
	track<T>(work: Promise<T>): Promise<T> {
		const settled = work.then(
			() => {},
			() => {},
		);
		this.#underWay.add(settled);
		void settled.then(() => this.#underWay.delete(settled));
		return work;
	}

	/** Opens nothing more; resolves, for everybody who calls, when nothing is under way any more. */
	async close(): Promise<void> {
		this.#closing.abort();
		for (const stopWaiting of this.#waits.values()) stopWaiting();
		this.#waits.clear();
		// The end of one thing may begin another: a connection that is over may end its terminal.
		while (this.#underWay.size > 0) await Promise.all(this.#underWay);
	}

	async #start(request: TerminalRequest): Promise<Hold> {
		const { principal, witness, task, signal, evict } = request;
		checkRight({ principal, witness }, "manage", { workspace: task.workspace });
		checkCreation(principal.countCreation());
		const { sessions, prepare } = this.#options;
		return within(this.#times.openMs, [signal, this.#closing.signal], (over) => {
			const starting = witness.create(sessions, prepare(this.#startOf(request))).then(async (session) => {
				// Held in the same turn, so that there is no moment in which it is nobody's.
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
			// One that ends with its client can't outlive the server either.
			durable: graceMs > 0,
			idleTimeoutMs: idleMs,
		};
	}

	#hold(session: Session, evict: () => void, isNew: boolean): Hold {
		const { id } = session;
		this.#stopWaiting(session);
		this.#holds.get(id)?.evict();
		const mine = { evict };
		this.#holds.set(id, mine);
		const letGo = () => this.#holds.get(id) === mine && this.#holds.delete(id);
		return {
			session,
			isNew,
			leave: () => void (letGo() && this.#wait(session)),
			discard: () => void (letGo() && this.track(this.#remove(session)).catch(this.#report)),
		};
	}

	/** For somebody to come back. */
	#wait(session: Session): void {
		const { clock, graceMs } = this.#options;
		if (!this.#isThere(session)) return;
		if (graceMs === 0) this.end(session, ABANDONED);
		// After the last moment of this server it is the next one that waits.
		else if (!this.#closing.signal.aborted) {
			this.#waits.set(
				session.id,
				clock.after(graceMs, () => this.end(session, ABANDONED)),
			);
		}
	}

	#stopWaiting({ id }: Session): void {
		this.#waits.get(id)?.();
		this.#waits.delete(id);
	}

	async #remove(session: Session): Promise<void> {
		await session.kill({ graceMs: this.#times.killMs, reason: "killed" });
		await this.#options.sessions.forget(session.id);
	}

	#isFor(session: Session, { principal, task, owner }: TerminalRequest): boolean {
		const { labels: given, workspace, task: startedFor } = session.spec;
		const isTheirs = startedFor === task.id && given[owner.label] === owner.id && workspace === task.workspace;
		const isFree = this.#isThere(session) && !this.#holds.has(session.id);
		return isTheirs && isFree && principal.may("operate", { workspace, session: session.id });
	}

	/** Whether it is a terminal that runs, and is not being ended. */
	#isThere(session: Session): boolean {
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

/** Only those that are not empty. */
function named(values: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}
