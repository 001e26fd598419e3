/** The native HTTP API under `/v1`; `docs/protocol.md` says what it promises. */

import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { SessionError } from "../../core/errors.ts";
import { limits } from "../../protocol/messages.ts";
import { answerErrors } from "../errors.ts";
import { bearer, type Front, type Hosting } from "../front.ts";
import { hasTooManyValues } from "../json-scan.ts";
import { compileValidator } from "../validation.ts";
import { addActs } from "./acts.ts";
import { addApprovals } from "./approvals.ts";
import { addAudit } from "./audit.ts";
import { addEvents } from "./events.ts";
import { Feed } from "./feed.ts";
import { FeedLog } from "./feed-log.ts";
import { addInput } from "./input.ts";
import { addLease } from "./lease.ts";
import { addMe } from "./me.ts";
import { createTraffic } from "./metrics.ts";
import { describeRoutes } from "./openapi.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { addOutput } from "./output.ts";
import { addActivity } from "./recording/activity.ts";
import { addImport } from "./recording/import.ts";
import { addRecording } from "./recording/routes.ts";
import { addScreen } from "./screen/routes.ts";
import { addScreens } from "./screens/routes.ts";
import { awaitedExpressions } from "./search/awaited.ts";
import { addSearch } from "./search/routes.ts";
import { addSecret } from "./secret.ts";
import { addSecretRequests, messageOf } from "./secret-requests.ts";
import { addSend } from "./send.ts";
import { Sends } from "./sending.ts";
import { addSessions } from "./sessions.ts";
import { addShell } from "./shell.ts";
import { Attachments } from "./socket/attachments.ts";
import { addSocket } from "./socket/socket.ts";
import { addState } from "./state.ts";
import { addSystem } from "./system.ts";
import { FeedNotices } from "./webhooks/notices.ts";
import { addWebhooks } from "./webhooks/routes.ts";
import { addWorkspaces } from "./workspaces.ts";

export function createNativeFront(options: NativeOptions): Front {
	return {
		name: "native",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			const traffic = createTraffic();
			answerErrors(app, hosting);
			describeRoutes(app);
			app.setValidatorCompiler(compileValidator);
			limitValues(app);
			// The schemas describe answers; shaping them is the job of the code that the compiler checks.
			app.setSerializerCompiler(() => (value) => JSON.stringify(value));
			const typed: NativeApp = app.withTypeProvider<TypeBoxTypeProvider>();
			// Who names a session that is being started, as its own program may, waits for it; other things' ids are no session's.
			app.addHook("preHandler", async ({ params }) => options.sessions.settled((params as { id?: string }).id ?? ""));
			const attachments = new Attachments();
			const report = (problem: unknown) => hosting.report(problem, "feed");
			const now = () => options.clock.now();
			const { sessions, changeMs, approvals, feedLog: log = new FeedLog({ report }) } = options;
			const feed = new Feed(sessions, { log, now, report, attachments, approvals, changeMs }, hosting.closing);
			addSystem(typed, options, hosting, traffic);
			addMe(typed, options);
			addSessions(typed, options, attachments, feed.overviews);
			addWorkspaces(typed, options);
			addInput(typed, options, hosting, traffic);
			addActs(typed, options, hosting, traffic);
			addSecret(typed, options, hosting);
			addSecretRequests(typed, options, hosting);
			options.secretRequests.watch(({ request, status, by }) => {
				const { id, name, offset, prompt, program } = messageOf(request);
				const question = { offset, prompt, ...(program === null ? {} : { program }) };
				feed.announce("secret", request.session, { ...question, secret: { id, status, name, by } });
			});
			const expressions = awaitedExpressions();
			const sends = new Sends({ screens: options.screens, expressions, traffic });
			addSend(typed, options, hosting, sends);
			addLease(typed, options, hosting);
			addState(typed, options, hosting);
			addOutput(typed, options, hosting, traffic);
			addRecording(typed, options, hosting, traffic);
			addImport(typed, options);
			addActivity(typed, options, hosting);
			addScreen(typed, options, hosting, expressions);
			addScreens(typed, options, hosting, traffic);
			addSearch(typed, options, hosting);
			addShell(typed, options, hosting, traffic);
			addEvents(typed, feed, hosting, traffic);
			addWebhooks(typed, options.webhooks);
			options.webhooks?.serve(new FeedNotices({ feed, pageOf: options.pageOf ?? (() => undefined), now }));
			if (approvals) addApprovals(typed, approvals);
			addAudit(typed, options);
			addSocket(typed, options, hosting, traffic, attachments, sends);
		},
	};
}

/** Large bodies are for long arguments, not for many values; and no object gets its methods from a body. */
function limitValues(app: FastifyInstance): void {
	const parse = app.getDefaultJsonParser("error", "error");
	app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
		const text = String(body);
		if (text.length <= limits.bodyBytes || !hasTooManyValues(text)) {
			return parse(request, text, (error, value) => done(error && isJson(text) ? forbiddenName() : error, value));
		}
		return done(new SessionError("limit_exceeded", "the body has more values than any program can be started with"));
	});
}

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function forbiddenName(): SessionError {
	return new SessionError("invalid_argument", "nothing may be called __proto__, or constructor with a prototype in it");
}
