/** The events that webhooks report, and their limits. */

import type { WebhookEvent } from "./types.ts";

export const webhookEvents = [
	"waiting",
	"secret",
	"approval",
	"failed",
	"ready",
	"quiet",
	"agent",
	"created",
	"exited",
	"closed",
	"lost",
	"removed",
] as const;

/** The events of a webhook that names none: a user is needed. */
export const usualWebhookEvents: readonly WebhookEvent[] = ["waiting", "secret", "approval", "failed"];

export const webhookLimits = {
	/** Length of an address, in UTF-16 units. Servers accept no longer ones. */
	urlLength: 2_048,
	/** Conditions on labels: as many as a session can have labels. */
	labels: 32,
	/** Length of one condition, in UTF-16 units: the key and the value of a label. */
	labelLength: 513,
} as const;
