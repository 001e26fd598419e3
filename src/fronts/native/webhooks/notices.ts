/** What webhooks are told: the feed of all sessions, as each of them wants it, in words for whoever gets them. */

import type { Notice, Notices, Webhook } from "../../../core/webhooks.ts";
import type { FeedEvent } from "../../../protocol/feed.ts";
import { limits } from "../../../protocol/messages.ts";
import { isQuestion } from "../../../protocol/needs.ts";
import { type WebhookEvent, type WebhookNotice, webhookEvents } from "../../../protocol/webhooks.ts";
import { choicesOf } from "../../choices.ts";
import { redacted } from "../../redaction.ts";
import type { Feed } from "../feed.ts";
import { tellsFailure } from "../feed-filter.ts";
import { asKept } from "../feed-log.ts";
import { hasLabels } from "../labels.ts";

type FeedNoticesOptions = {
	readonly feed: Feed;
	/** Where browsers find the page of a session; undefined where that is not known. */
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

	/** Undefined for what the webhook does not want to be told. */
	#about(webhook: Webhook, event: FeedEvent, isPrivate: boolean): Notice | undefined {
		const { id, name, workspace, labels = {} } = event.session;
		const type = namesOf(event).find((one) => webhook.events.includes(one));
		if (type === undefined || (webhook.workspace !== null && webhook.workspace !== workspace)) return undefined;
		if (!hasLabels(labels, webhook.labels)) return undefined;
		const url = this.#options.pageOf(id);
		const told = (of: FeedEvent): WebhookNotice => ({
			type,
			time: of.time,
			webhook: webhook.id,
			session: { id, name, workspace, labels, ...(url === undefined ? {} : { url }) },
			...questionOf(of),
			...requestOf(of),
			...(of.exit ? { exit: of.exit } : {}),
			...(of.quietMs === undefined ? {} : { quietMs: of.quietMs }),
		});
		return { session: id, body: JSON.stringify(told(event)), kept: JSON.stringify(told(asKept(event, isPrivate))) };
	}

	#aboutNone({ id }: Webhook, type: "test" | "missed"): Notice {
		const told: WebhookNotice = { type, time: this.#options.now(), webhook: id };
		const body = JSON.stringify(told);
		return { session: null, body, kept: body };
	}
}

/** The questions for secrets so far: each is told once, when its program asks it or when an agent asks people for it. */
class SecretQuestions {
	/** The last of each session: where its output ended, and whether it is known from the program. */
	readonly #last = new Map<string, { readonly offset: number; readonly isAsked: boolean }>();

	isKnown({ type, kind, secret, offset, session: { id } }: FeedEvent): boolean {
		if (type === "removed") this.#last.delete(id);
		const isAsked = type === "waiting" && kind === "secret";
		if (offset === undefined || !(isAsked || secret?.status === "asked")) return false;
		const last = this.#last.get(id);
		const isSame = last?.offset === offset;
		this.#last.set(id, { offset, isAsked: isAsked || (isSame && last.isAsked) });
		// A program that reads one secret after the other without a word asks each of them at the same place.
		return isSame && !(isAsked && last.isAsked);
	}
}

/** What an event is told as, the narrower name first. */
function namesOf(event: FeedEvent): WebhookEvent[] {
	const { type, kind, prompt, approval, secret } = event;
	// What has been decided needs nobody any more.
	if ((approval && approval.state !== "asked") || (secret && secret.status !== "asked")) return [];
	// What webhooks have no name for they are not told.
	const own = webhookEvents.filter((name) => name === type);
	if (tellsFailure(event)) return ["failed", ...own];
	if (type !== "waiting") return own;
	// What was asked and not kept may have been a question.
	if (prompt !== undefined && !isQuestion({ kind: kind ?? "line", prompt, ...choicesIn(prompt) })) return [];
	return kind === "secret" ? ["secret", ...own] : own;
}

/** What an agent asks people for. */
function requestOf({ approval, secret }: FeedEvent): Pick<WebhookNotice, "approval" | "secret"> {
	if (secret) return { secret: { id: secret.id, name: secret.name } };
	if (!approval) return {};
	const { id, by, kind, preview, expiresAt } = approval;
	return { approval: { id, by: by.name, kind, preview: redacted(preview), expiresAt } };
}

function questionOf({ type, kind, prompt, program }: FeedEvent): Pick<WebhookNotice, "question"> {
	if (prompt === undefined) return {};
	const told = redacted(prompt);
	return {
		question: {
			kind: kind ?? (type === "ready" ? "prompt" : "line"),
			prompt: told,
			...choicesIn(told),
			...(program === undefined ? {} : { program }),
		},
	};
}

function choicesIn(prompt: string): { readonly choices?: string[] } {
	const choices = choicesOf(prompt);
	return choices ? { choices } : {};
}
