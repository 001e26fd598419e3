/** Waits for a state of a session's coding agent. */

import type { AgentState, ProgramState, SessionMessage } from "../../api/types.ts";
import { askRepeatedly, endOf, WAIT_MS } from "./long-poll.ts";
import type { AgentCondition, WaitOptions, WaitResult } from "./wait.ts";

type AgentSource = {
	inspect(options: {
		readonly agent: readonly AgentState[];
		readonly wait: number;
		readonly signal?: AbortSignal;
	}): Promise<ProgramState>;
	info(options: { readonly signal?: AbortSignal }): Promise<Pick<SessionMessage, "exit">>;
};

export async function waitForAgent(
	session: AgentSource,
	{ agent: wanted }: AgentCondition,
	{ timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<WaitResult> {
	signal?.throwIfAborted();
	const states: readonly AgentState[] = typeof wanted === "string" ? [wanted] : wanted;
	const began = performance.now();
	for (;;) {
		const left = Math.max(0, timeoutMs - (performance.now() - began));
		const query = { agent: states, wait: Math.ceil(Math.min(left, WAIT_MS)) };
		const state = await askRepeatedly((options) => session.inspect({ ...query, ...options }), {
			signal,
			reconnectTimeoutMs: left,
		});
		if (!state) throw signal?.reason;
		const { agent, offset } = state;
		if (agent && states.includes(agent.state)) return { kind: "agent", agent, offset };
		if (state.state === "ended") return endOf(session, offset, signal);
		if (left === 0) return { kind: "timeout", offset };
	}
}
