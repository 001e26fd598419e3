/** Answers to the dialogs of coding agents, and prompts for them, over HTTP. */

import type { FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { auditedCallerOf } from "../../http/caller.ts";
import { AgentTyping } from "../../services/agents/agent-typing.ts";
import type { Agents } from "../../services/agents/agents.ts";
import { answerAgent } from "../../services/agents/answer.ts";
import { promptAgent } from "../../services/agents/prompt.ts";
import type { PromptQueue } from "../../services/agents/prompt-queue.ts";
import type { Turn } from "../../services/agents/turn.ts";
import { writeOptions } from "./input/write-options.ts";
import type { Serve } from "./serve.ts";

type AgentRoutes = { readonly sessions: Sessions; readonly agents: Agents; readonly queue: PromptQueue };

export function addAgents(serve: Serve, { sessions, agents, queue }: AgentRoutes): void {
	const typingFor = async (
		audited: Session,
		request: FastifyRequest,
		signal: AbortSignal,
		turn?: Turn,
	): Promise<AgentTyping> => {
		const session = sessions.get(audited.id);
		if (!session) throw new SessionError("session_not_found", `there is no session ${JSON.stringify(audited.id)}`);
		const { fence } = await writeOptions(audited, request);
		const caller = auditedCallerOf(request);
		return new AgentTyping({
			session,
			view: agents.view(session),
			audited: (one) => caller.session(one),
			fence,
			signal,
			turn,
		});
	};

	/** Calls back when nobody else types into the agent. A caller with a gate gets its turn after each approval. */
	const type = async <Result>(
		{ session, request, signal }: { session: Session; request: FastifyRequest; signal: AbortSignal },
		task: (typing: AgentTyping) => Promise<Result>,
	): Promise<Result> => {
		if (!session.isGated) {
			const typing = await typingFor(session, request, signal);
			return agents.inTurn(typing.session, () => task(typing));
		}
		const turn = agents.turn(session);
		try {
			return await task(await typingFor(session, request, signal, turn));
		} finally {
			turn.leave();
		}
	};

	serve("answerAgent", async ({ session, request, body, signal }) => {
		await type({ session, request, signal }, (typing) => answerAgent(typing, body));
		return { accepted: true as const };
	});

	serve("promptAgent", async ({ session, request, body: { text, whenIdle = false }, caller, signal }) => {
		const typing = await typingFor(session, request, signal);
		if (whenIdle && (await mustWait(typing, queue))) {
			if (session.isGated) {
				throw new SessionError("permission_denied", "a token with a gate can't queue prompts", {
					hint: "send the prompt when the agent is idle",
				});
			}
			return { submitted: false, queued: await queue.add(typing.session, text, caller) };
		}
		await type({ session, request, signal }, (own) => promptAgent(own, text));
		return { submitted: true, queued: null };
	});

	serve("listPrompts", async ({ session }) => ({ prompts: await queue.list(session) }));

	serve("cancelPrompt", async ({ session, params }) => queue.cancel(session, params.prompt));
}

/** Without an agent there is nothing to wait for. The state of an agent that starts is not known yet. */
async function mustWait({ session, view, signal }: AgentTyping, queue: PromptQueue): Promise<boolean> {
	const agent = await view.state();
	if (!agent) return (await view.screen(signal)) !== null;
	return (agent.state !== "idle" && agent.state !== "done") || (await queue.list(session)).length > 0;
}
