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
import { writeOptions } from "./input/write-options.ts";
import type { Serve } from "./serve.ts";

type AgentRoutes = { readonly sessions: Sessions; readonly agents: Agents; readonly queue: PromptQueue };

export function addAgents(serve: Serve, { sessions, agents, queue }: AgentRoutes): void {
	const typingFor = async (audited: Session, request: FastifyRequest, signal: AbortSignal): Promise<AgentTyping> => {
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
		});
	};

	serve("answerAgent", async ({ session, request, body, signal }) => {
		const typing = await typingFor(session, request, signal);
		await agents.inTurn(typing.session, () => answerAgent(typing, body));
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
		await agents.inTurn(typing.session, () => promptAgent(typing, text));
		return { submitted: true, queued: null };
	});

	serve("listPrompts", async ({ session }) => ({ prompts: await queue.list(session) }));

	serve("cancelPrompt", async ({ session, params }) => queue.cancel(session, params.prompt));
}

/** Without an agent there is nothing to wait for. */
async function mustWait({ session, view }: AgentTyping, queue: PromptQueue): Promise<boolean> {
	const agent = await view.state();
	if (!agent) return false;
	return (agent.state !== "idle" && agent.state !== "done") || (await queue.list(session)).length > 0;
}
