/** Webhooks. */

import { webhookEvents, webhookLimits } from "../webhooks.ts";
import { agent } from "./agent.ts";
import { approvalKind } from "./approvals.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { exit } from "./states.ts";

const event = s.named(
	"WebhookEvent",
	"An event that a webhook can report. `waiting` is a program that asks a question; `secret` one that reads a secret (also `waiting`), or a request for one; `failed` a program that failed or was lost (also `exited` or `lost`); `agent` a change of a coding agent's state, of which one that waits for an answer is also `waiting`. A webhook for both reports the narrower one.",
	s.literals(...webhookEvents),
);

const createWebhook = s.request(
	"CreateWebhook",
	"A webhook to create.",
	{
		url: s.doc(
			"The receiver: `https`, or `http` on this machine.",
			s.string({ minLength: 1, maxLength: webhookLimits.urlLength }),
		),
		events: s.optional(
			s.doc(
				"By default `waiting`, `secret`, `approval` and `failed`.",
				s.list(event, { minItems: 1, maxItems: webhookEvents.length }),
			),
		),
		workspace: s.optional(
			s.doc("Only sessions of this workspace. All workspaces if left out, which takes the operator.", s.id),
		),
		labels: s.optional(
			s.doc(
				"Only sessions with these labels: `key` or `key=value`. All must match.",
				s.list(s.string({ minLength: 1, maxLength: webhookLimits.labelLength }), { maxItems: webhookLimits.labels }),
			),
		),
		allowHttp: s.optional(s.doc("Allow a receiver without TLS anywhere.", s.boolean)),
	},
	{ examples: [{ url: "https://example.org/hawser", events: ["waiting", "failed"], workspace: "ci" }] },
);

const members = {
	id: s.text,
	url: s.text,
	events: s.list(event),
	workspace: s.nullable(s.text),
	labels: s.list(s.text),
	allowHttp: s.boolean,
	owner: s.doc(
		"The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers.",
		s.nullable(s.text),
	),
	createdAt: s.milliseconds,
	stoppedAt: s.doc(
		"When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active.",
		s.nullable(s.milliseconds),
	),
	waiting: s.doc("Number of notices that are being sent.", s.count),
	failed: s.doc("Number of failed notices that can be sent again.", s.count),
	dropped: s.doc("Number of older failed notices that were dropped.", s.count),
	problem: s.doc(
		"Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private address.",
		s.nullable(s.text),
	),
};
const webhook = s.message("WebhookMessage", "A webhook.", members);

const notice = s.message("WebhookNotice", "The body that a receiver gets.", {
	type: s.named(
		"NoticeType",
		"The event; `test` for a test, `missed` for an unknown number of lost notices.",
		s.literals(...webhookEvents, "test", "missed"),
	),
	time: s.doc("Milliseconds since the epoch.", s.milliseconds),
	webhook: s.doc("The id of the webhook.", s.text),
	session: s.optional(
		s.doc(
			"Not with `test` and `missed`.",
			s.object({
				id: s.text,
				name: s.nullable(s.text),
				workspace: s.text,
				labels: s.record(s.text),
				url: s.optional(s.doc("Its page, if the server has a name for browsers.", s.text)),
			}),
		),
	),
	question: s.optional(
		s.doc(
			"The program's question, without keys and tokens.",
			s.object({
				kind: s.doc("`line`, `secret`, `key`, `tui`, or `prompt` of a shell.", s.text),
				prompt: s.text,
				choices: s.optional(s.list(s.text)),
				program: s.optional(s.text),
			}),
		),
	),
	approval: s.optional(
		s.doc(
			"With `approval`: the action, without keys and tokens.",
			s.object({ id: s.text, by: s.text, kind: approvalKind, preview: s.text, expiresAt: s.milliseconds }),
		),
	),
	secret: s.optional(s.doc("With `secret`, if it was requested.", s.object({ id: s.text, name: s.nullable(s.text) }))),
	exit: s.optional(s.doc("How the program ended.", exit)),
	quietMs: s.optional(s.doc("With `quiet`: the time without output.", s.milliseconds)),
	agent: s.optional(s.doc("The coding agent that the event is about, without keys and tokens.", agent)),
});

const path = "/v1/webhooks/:webhook";

export const webhookOperations: OperationTable = {
	createWebhook: {
		summary: "Add a webhook",
		route: "POST /v1/webhooks",
		right: "manage",
		body: createWebhook,
		answer: s.message("CreatedWebhook", "A new webhook. No other answer contains its secret.", {
			...members,
			secret: s.doc("Signs the notices.", s.text),
		}),
		status: 201,
	},
	listWebhooks: {
		summary: "List webhooks",
		route: "GET /v1/webhooks",
		right: "read",
		answer: s.message("WebhookList", "The webhooks that the caller may manage, oldest first.", {
			webhooks: s.list(webhook),
		}),
	},
	deleteWebhook: { summary: "Remove a webhook", route: `DELETE ${path}`, right: "manage" },
	adoptWebhook: {
		summary: "Make the operator the owner of a webhook, and activate it again",
		route: `POST ${path}/adopt`,
		right: "admin",
		answer: webhook,
	},
	testWebhook: {
		summary: "Send a test notice",
		route: `POST ${path}/test`,
		right: "manage",
		answer: s.message("WebhookTest", "The result of a test notice.", {
			delivered: s.doc("Null if the address is private and the caller is not the operator.", s.nullable(s.boolean)),
			status: s.doc("The status of the receiver's answer; null without one.", s.nullable(s.number)),
			reason: s.doc("Why it failed, or why the result is not reported.", s.nullable(s.text)),
		}),
	},
	listFailedNotices: {
		summary: "List failed notices",
		route: `GET ${path}/failed`,
		right: "manage",
		answer: s.message("FailedList", "Failed notices, oldest first.", {
			failed: s.list(
				s.message("FailedNotice", "A notice that the server has stopped sending.", {
					id: s.doc("The `webhook-id` that the receiver gets.", s.text),
					attempts: s.count,
					reason: s.doc("Why the last attempt failed.", s.nullable(s.text)),
					notice,
				}),
			),
			dropped: s.count,
		}),
	},
	retryNotices: {
		summary: "Send failed notices again, and waiting ones at once",
		route: `POST ${path}/failed/retry`,
		right: "manage",
		body: s.request("RetryWebhook", "The failed notice to send again; all if left out.", {
			id: s.optional(s.string({ maxLength: 64 })),
		}),
		answer: s.message("RetriedWebhook", "The result of a retry.", {
			retried: s.doc("Number of notices that are sent again.", s.count),
			left: s.doc("Number of notices for which there was no room.", s.count),
		}),
	},
};
