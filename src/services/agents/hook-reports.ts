/**
 * Takes the reports of hooks. Only a process inside a session can report, and only for that session. The process also
 * decides which agent reports: some agents run the hooks of others.
 */

import { Serial } from "../../async/serial.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { HookReport } from "../../core/terminal/program-status.ts";
import { agentAbove } from "./agent-program.ts";
import { stateOfHook } from "./hook-events.ts";
import { type HookMessage, hookAnswer, readHookMessage } from "./hook-messages.ts";
import type { AgentRules } from "./screen-rules/format.ts";

/** @limit reports of hooks that wait in one session | the next one is refused */
const MAX_WAITING = 64;

/** The process that runs a hook and those above it in its session, nearest first. */
export type HookProcess = {
	readonly session: string;
	readonly processes: readonly { readonly pid: number; readonly group: number }[];
};

type HookReportsOptions = {
	readonly sessions: Pick<Sessions, "get">;
	readonly rules: readonly AgentRules[];
};

export class HookReports {
	readonly #options: HookReportsOptions;
	/** Reports of one session are taken in their order. */
	readonly #queues = new Map<string, { readonly serial: Serial; waiting: number }>();

	constructor(options: HookReportsOptions) {
		this.#options = options;
	}

	/** Takes one message and returns the answer. `from` is undefined for a process outside of sessions. */
	async take(line: string, from: HookProcess | undefined): Promise<string> {
		const message = readHookMessage(line);
		if ("refused" in message) return hookAnswer(message.id, message.refused);
		return hookAnswer(message.id, await this.#refusal(message, from));
	}

	async #refusal(message: HookMessage, from: HookProcess | undefined): Promise<string | undefined> {
		const session = from && this.#options.sessions.get(from.session);
		if (!session) return "only a program in a session of this server can report";
		if (message.session !== undefined && message.session !== session.id) return "the program is in another session";
		if (message.request.kind === "none") return undefined;
		return this.#inTurn(session, () => this.#report(message, session, from));
	}

	async #inTurn(session: Session, task: () => Promise<string | undefined>): Promise<string | undefined> {
		const queue = this.#queues.get(session.id) ?? { serial: new Serial(), waiting: 0 };
		if (queue.waiting >= MAX_WAITING) return "too many reports";
		this.#queues.set(session.id, queue);
		queue.waiting++;
		try {
			return await queue.serial.run(task);
		} finally {
			queue.waiting--;
			if (queue.waiting === 0) this.#queues.delete(session.id);
		}
	}

	async #report({ request, agent }: HookMessage, session: Session, from: HookProcess): Promise<string | undefined> {
		const found = await agentAbove(from.processes, this.#options.rules, agent);
		if (!found) return "the program that runs this hook has ended";
		const { app, isBelowAnother } = found;
		if (isBelowAnother) return `${app} was started by another agent`;
		try {
			const report = await this.#reportOf(request, app, session);
			if (!report || (await session.reportHook({ ...report, app }, found.process.group))) return undefined;
			return `${app} is not in the foreground of the session's terminal`;
		} catch (error) {
			// The session has ended, or has no terminal.
			if (error instanceof SessionError) return error.message;
			throw error;
		}
	}

	/** Null for a hook that says nothing about the state. */
	async #reportOf(
		request: HookMessage["request"],
		app: string,
		session: Session,
	): Promise<Omit<HookReport, "app"> | null> {
		if (request.kind === "event") return stateOfHook(request.event, request.payload, app);
		if (request.kind === "none") return null;
		const { state, message } = request;
		if (state !== "resting") return { state, kind: null, message };
		const { hook } = await session.signals();
		const hasWorked = hook?.app === app && hook.state !== "idle";
		return { state: hasWorked ? "done" : "idle", kind: null, message: null };
	}
}
