/** What is said about webhooks, and to their receivers. */

import type { ApprovalMessage } from "./asking.ts";
import type { ExitMessage } from "./messages.ts";

/**
 * What a webhook can be told of. `waiting` is a program that asks something, not one that merely reads; `secret` is one
 * that waits for a secret and also `waiting`, or an agent that asks for one; `failed` is a program that did not end well
 * by itself or without anybody knowing how, and also `exited` or `lost`. Whoever asks for both is told once, by the
 * narrower name.
 */
export const webhookEvents = [
	"waiting",
	"secret",
	"approval",
	"failed",
	"ready",
	"quiet",
	"created",
	"exited",
	"closed",
	"lost",
	"removed",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** When somebody is needed. */
export const usualWebhookEvents: readonly WebhookEvent[] = ["waiting", "secret", "approval", "failed"];

export const webhookLimits = {
	/** Of an address, in UTF-16 units: as much as any server takes. */
	urlLength: 2_048,
	/** Conditions on labels: as many as a session has labels. */
	labels: 32,
	/** Of one condition, in UTF-16 units: the key and the value of a label. */
	labelLength: 513,
} as const;

export type CreateWebhook = {
	/** Where notices are sent to: `https`, or `http` on this machine. */
	url: string;
	/** Whoever is needed, if left out: `waiting`, `secret`, `approval` and `failed`. */
	events?: WebhookEvent[];
	/** Only sessions of this one; of all workspaces if left out, which takes the operator. */
	workspace?: string;
	/** Only sessions with these labels: each is `key` or `key=value`, and all must hold. */
	labels?: string[];
	/** Whether it may be sent to without TLS, wherever it is. */
	allowHttp?: boolean;
};

export type WebhookMessage = {
	id: string;
	url: string;
	events: WebhookEvent[];
	workspace: string | null;
	labels: string[];
	allowHttp: boolean;
	createdAt: number;
	/** Notices on their way. */
	waiting: number;
	/** Those that were given up and can be sent again, and how many older ones had to make room for them. */
	failed: number;
	dropped: number;
	/** Why the last attempt failed; null once one was taken, and before the first. */
	problem: string | null;
};

/** With what notices are signed; it is not shown again. */
export type CreatedWebhook = WebhookMessage & { secret: string };

/** All that the caller may manage, oldest first. */
export type WebhookList = { webhooks: WebhookMessage[] };

/** What became of a notice that was sent to try a webhook. */
export type WebhookTest = {
	delivered: boolean;
	/** What the receiver answered; null if it did not. */
	status: number | null;
	/** Why it was not taken. */
	reason: string | null;
};

/** What a receiver is sent. */
export type WebhookNotice = {
	/** What happened; `test` for one that was asked for, `missed` for an unknown number that nobody can tell any more. */
	type: WebhookEvent | "test" | "missed";
	/** When, in milliseconds since the epoch. */
	time: number;
	/** The id of the webhook. */
	webhook: string;
	/** Not with `test` and `missed`. */
	session?: {
		id: string;
		name: string | null;
		workspace: string;
		labels: Record<string, string>;
		/** Its page, where the server has a name by which browsers find it. */
		url?: string;
	};
	/** What it asks, with keys and tokens that may be in it redacted. */
	question?: {
		/** `line`, `secret`, `key`, `tui`, or `prompt` of a shell. */
		kind: string;
		prompt: string;
		choices?: string[];
		program?: string;
	};
	/** With `approval`: who wants what, with keys and tokens that may be in it redacted, and until when it is held. */
	approval?: { id: string; by: string; kind: ApprovalMessage["kind"]; preview: string; expiresAt: number };
	/** With `secret`, if an agent asks people for it. */
	secret?: { id: string; name: string | null };
	/** How its program ended. */
	exit?: ExitMessage;
	/** With `quiet`: nothing was written for so long. */
	quietMs?: number;
};

/** A notice that was given up. */
export type FailedNotice = {
	/** As the receiver knows it, in `webhook-id`. */
	id: string;
	attempts: number;
	/** Why the last attempt failed. */
	reason: string | null;
	notice: WebhookNotice;
};

export type FailedList = { failed: FailedNotice[]; dropped: number };

/** Which of those that were given up to send again; all, if left out. */
export type RetryWebhook = { id?: string };

/** How many are sent again, and for how many there was no room yet. */
export type RetriedWebhook = { retried: number; left: number };
