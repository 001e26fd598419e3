/** Converts feed events to notices for webhooks, according to the filters of each. */

import { isQuestion } from "../../api/attention.ts";
import { limits } from "../../api/messages.ts";
import type { AgentMessage, FeedEvent, WebhookEvent, WebhookNotice } from "../../api/types.ts";
import { webhookEvents } from "../../api/webhooks.ts";
import { matchesLabels } from "../../core/session/labels.ts";
import { choicesOf } from "../attention/choices.ts";
import type { Feed } from "../feed/feed.ts";
import { withoutPrivateText } from "../feed/feed-log.ts";
import { isFailureEvent } from "../feed/filter.ts";
import { redact } from "../reading/redaction.ts";
import type { Notice, Notices, Webhook } from "./webhooks.ts";

type FeedNoticesOptions = {
	readonly feed: Feed;
	/** URL of a session's page, if the server has a name for browsers. */
	readonly pageOf: (id: string) => string | undefined;
	readonly now: () => number;
};

export class FeedNotices implements Notices {
	readonly #options: FeedNoticesOptions;

	constructor(options: FeedNoticesOptions) {
		this.#options = options;
	}

	get end(): string {
		return this.#options.feed.end;
	}

	async *follow(
		webhook: Webhook,
		since: string,
		signal: AbortSignal,
	): AsyncGenerator<{ readonly cursor: string; readonly notice: Notice | undefined }, void, void> {
		const quietMs = webhook.events.includes("quiet") ? limits.quietMs : undefined;
		const how = { signal, withOverviews: false, quietMs };
		const questions = new SecretQuestions();
		for await (const { cursor, event, isPrivate = false } of this.#options.feed.follow(since, how)) {
			if (!event) yield { cursor, notice: this.#aboutNone(webhook, "missed") };
			else yield { cursor, notice: questions.isKnown(event) ? undefined : this.#about(webhook, event, isPrivate) };
		}
	}

	test(webhook: Webhook): Notice {
		return this.#aboutNone(webhook, "test");
	}

	/** Undefined if the webhook does not subscribe to this event. */
	#about(webhook: Webhook, event: FeedEvent, isPrivate: boolean): Notice | undefined {
		const { id, name, workspace, labels = {} } = event.session;
		const type = namesOf(event).find((one) => webhook.events.includes(one));
		if (type === undefined || (webhook.workspace !== null && webhook.workspace !== workspace)) return undefined;
		if (!matchesLabels(labels, webhook.labels)) return undefined;
		const url = this.#options.pageOf(id);
		const noticeOf = (of: FeedEvent): WebhookNotice => ({
			type,
			time: of.time,
			webhook: webhook.id,
			session: { id, name, workspace, labels, ...(url === undefined ? {} : { url }) },
			...questionOf(of),
			...requestOf(of),
			...(of.agent ? { agent: redactedAgent(of.agent) } : {}),
			...(of.exit ? { exit: of.exit } : {}),
			...(of.quietMs === undefined ? {} : { quietMs: of.quietMs }),
		});
		return {
			session: id,
			body: JSON.stringify(noticeOf(event)),
			kept: JSON.stringify(noticeOf(withoutPrivateText(event, isPrivate))),
		};
	}

	#aboutNone({ id }: Webhook, type: "test" | "missed"): Notice {
		const notice: WebhookNotice = { type, time: this.#options.now(), webhook: id };
		const body = JSON.stringify(notice);
		return { session: null, body, kept: body };
	}
}

/** Recognizes a prompt for a secret that was already reported, by the program or by an agent's request. */
class SecretQuestions {
	/** The last prompt of each session: its output offset, and whether the program itself asked. */
	readonly #last = new Map<string, { readonly offset: number; readonly isAsked: boolean }>();

	isKnown({ type, kind, secret, offset, session: { id } }: FeedEvent): boolean {
		if (type === "removed") this.#last.delete(id);
		const isAsked = type === "waiting" && kind === "secret";
		if (offset === undefined || !(isAsked || secret?.status === "asked")) return false;
		const last = this.#last.get(id);
		const isSame = last?.offset === offset;
		this.#last.set(id, { offset, isAsked: isAsked || (isSame && last.isAsked) });
		// A program that reads two secrets in a row without output asks twice at the same offset.
		return isSame && !(isAsked && last.isAsked);
	}
}

/** Names of an event for webhooks, the narrower one first. */
function namesOf(event: FeedEvent): WebhookEvent[] {
	const { type, kind, prompt, approval, secret, agent } = event;
	// A decided request needs no user.
	if ((approval && approval.state !== "asked") || (secret && secret.status !== "asked")) return [];
	// Event types that webhooks do not know are not reported.
	const own = webhookEvents.filter((name) => name === type);
	if (isFailureEvent(event)) return ["failed", ...own];
	if (agent?.state === "blocked") return ["waiting", ...own];
	if (type !== "waiting") return own;
	// A prompt that was not stored may have been a question.
	if (prompt !== undefined && !isQuestion({ kind: kind ?? "line", prompt, ...choicesIn(prompt) })) return [];
	return kind === "secret" ? ["secret", ...own] : own;
}

/** An agent's request for an approval or a secret. */
function requestOf({ approval, secret }: FeedEvent): Pick<WebhookNotice, "approval" | "secret"> {
	if (secret) return { secret: { id: secret.id, name: secret.name } };
	if (!approval) return {};
	const { id, by, kind, preview, expiresAt } = approval;
	return { approval: { id, by: by.name, kind, preview: redact(preview), expiresAt } };
}

function questionOf({ type, kind, prompt, program }: FeedEvent): Pick<WebhookNotice, "question"> {
	if (prompt === undefined) return {};
	const text = redact(prompt);
	return {
		question: {
			kind: kind ?? (type === "ready" ? "prompt" : "line"),
			prompt: text,
			...choicesIn(text),
			...(program === undefined ? {} : { program }),
		},
	};
}

/** Its texts come from the program as base64, in which the output's redaction finds nothing. */
function redactedAgent(agent: AgentMessage): AgentMessage {
	const hide = (text: string | null) => (text === null ? null : redact(text));
	const texts = { question: hide(agent.question), details: hide(agent.details), title: hide(agent.title) };
	const choices = agent.choices.map(({ id, label }) => ({ id, label: redact(label) }));
	const children = agent.children.map((child) => ({
		...child,
		title: hide(child.title),
		details: hide(child.details),
	}));
	return { ...agent, ...texts, choices, children };
}

function choicesIn(prompt: string): { readonly choices?: string[] } {
	const choices = choicesOf(prompt);
	return choices ? { choices } : {};
}
