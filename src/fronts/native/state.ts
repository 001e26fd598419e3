/** The state of a session's program over HTTP. */

import { limits } from "../../api/messages.ts";
import type { AgentExplanation } from "../../api/types.ts";
import type { Session } from "../../core/session/session.ts";
import type { AgentReport } from "../../services/agents/agent-state.ts";
import type { Agents } from "../../services/agents/agents.ts";
import { programState } from "../../services/attention/program-state.ts";
import type { Serve } from "./serve.ts";

export function addState(serve: Serve, agents: Agents): void {
	serve("inspectSession", async (call) => {
		const { session, query, signal } = call;
		call.startReading();
		if (query.agent) {
			const timeoutMs = Math.min(query.wait ?? 0, limits.maxWaitMs);
			await agents.untilIn(session, new Set(query.agent), { timeoutMs, signal });
		}
		const state = await programState(session, signal, agents);
		return query.explain === "1" ? { ...state, explanation: await explanation(session, agents, signal) } : state;
	});
}

async function explanation(session: Session, agents: Agents, signal: AbortSignal): Promise<AgentExplanation> {
	const { decisive, others, rules } = await agents.explain(session, signal);
	return { decisive: decisive && signalState(decisive), others: others.map(signalState), rules };
}

function signalState({ signal, state, source, offset, since }: AgentReport): AgentExplanation["others"][number] {
	return { signal, state, source, offset, since };
}
