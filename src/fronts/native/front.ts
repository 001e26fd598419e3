/** The native HTTP API under `/v1`; see `docs/protocol`. */

import type { FastifyInstance } from "fastify";
import { noAudit } from "../../core/policy/audit.ts";
import { bearer } from "../../http/caller.ts";
import { answerErrors } from "../../http/errors.ts";
import type { Front, ServerContext } from "../../http/front.ts";
import { Agents } from "../../services/agents/agents.ts";
import { PromptQueue } from "../../services/agents/prompt-queue.ts";
import { Attachments } from "../../services/attachments/attachments.ts";
import { Feed } from "../../services/feed/feed.ts";
import { FeedLog } from "../../services/feed/feed-log.ts";
import { Sender } from "../../services/input/send.ts";
import { createTrafficCounters } from "../../services/metrics/traffic.ts";
import { expressionSlots } from "../../services/waits/expression.ts";
import { FeedNotices } from "../../services/webhooks/notices.ts";
import { addAgents } from "./agents.ts";
import { addApprovals } from "./approvals.ts";
import { addSocket } from "./attach/routes.ts";
import { addAudit } from "./audit.ts";
import { addEvents } from "./feed.ts";
import { addLease } from "./input/lease.ts";
import { acceptBytes, addInput } from "./input/routes.ts";
import { addMe } from "./me.ts";
import type { NativeOptions } from "./options.ts";
import { addOutput } from "./output/routes.ts";
import { addActivity } from "./recordings/activity.ts";
import { acceptRecordings, addImport } from "./recordings/import.ts";
import { addRecording } from "./recordings/routes.ts";
import { addScreen } from "./screen/routes.ts";
import { addScreens } from "./screen/stream.ts";
import { addSearch } from "./search.ts";
import { addSecret } from "./secrets/enter.ts";
import { addSecretRequests, messageOf } from "./secrets/routes.ts";
import { createServe } from "./serve.ts";
import { addSessions } from "./sessions/routes.ts";
import { addShell } from "./shell.ts";
import { addState } from "./state.ts";
import { addSystem } from "./system.ts";
import { addWebhooks } from "./webhooks.ts";
import { addWorkspaces } from "./workspaces.ts";

export function createNativeFront(options: NativeOptions): Front {
	return {
		name: "native",
		credential: bearer,
		register(app: FastifyInstance, hosting: ServerContext): void {
			const traffic = createTrafficCounters();
			answerErrors(app, hosting);
			// A request for a session that is starting waits for the start, because the session's own program may send one.
			// Ids of other resources match no session.
			app.addHook("preHandler", async ({ params }) => {
				const { id } = params as { id?: string };
				if (id !== undefined) await options.sessions.settled((spec) => spec.id === id);
			});
			const { attachments = new Attachments() } = options;
			const report = (problem: unknown) => hosting.report(problem, "feed");
			const now = () => options.clock.now();
			const { sessions, changeMs, approvals, feedLog: log = new FeedLog({ report }) } = options;
			const { agents = new Agents({ sessions, attachments, screens: options.screens, now, report }) } = options;
			hosting.closing.addEventListener("abort", () => agents.close(), { once: true });
			const prompts =
				options.prompts ??
				new PromptQueue({
					sessions,
					agents,
					directory: undefined,
					audit: noAudit,
					now,
					isRevoked: () => false,
					report,
				});
			hosting.closing.addEventListener("abort", () => prompts.close(), { once: true });
			const feedOptions = { log, now, report, attachments, agents, prompts, approvals, changeMs };
			const feed = new Feed(sessions, feedOptions, hosting.closing);
			const serve = createServe(app, { sessions, hosting });
			acceptBytes(app);
			acceptRecordings(app);
			const { screens, secretRequests } = options;
			const expressions = expressionSlots();
			const sends = new Sender({ screens, agents, expressions, traffic });
			addSystem(serve, options, hosting.closing, traffic);
			addMe(serve, options);
			addSessions(serve, options, attachments, feed.overviews);
			addWorkspaces(serve, options);
			addInput(serve, sends, traffic);
			addLease(serve, hosting.closing);
			addSecret(serve, secretRequests, hosting);
			addSecretRequests(serve, secretRequests);
			secretRequests.watch(({ request, status, by }) => {
				const { id, name, offset, prompt, program } = messageOf(request);
				const question = { offset, prompt, ...(program === null ? {} : { program }) };
				feed.announce("secret", request.session, { ...question, secret: { id, status, name, by } });
			});
			addState(serve, agents);
			addAgents(serve, { sessions, agents, queue: prompts });
			addOutput(serve, screens, traffic);
			addRecording(serve, screens, traffic);
			addImport(serve, options);
			addActivity(serve, options);
			addScreen(serve, screens, expressions);
			addScreens(serve, options, hosting, traffic);
			addSearch(serve);
			addShell(serve, traffic);
			addEvents(serve, feed, traffic);
			addWebhooks(serve, options.webhooks);
			options.webhooks?.serve(new FeedNotices({ feed, pageOf: options.pageOf ?? (() => undefined), now }));
			if (approvals) addApprovals(serve, approvals, options);
			addAudit(serve, options);
			addSocket(serve, { options, hosting, traffic, attachments, sends });
		},
	};
}
