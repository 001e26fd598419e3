/** Webhooks. */

import { webhookEvents, webhookLimits } from "../webhooks.ts";
import { agent } from "./agent.ts";
import { approvalKind } from "./approvals.ts";
import {
	boolean,
	count,
	doc,
	id,
	list,
	literals,
	message,
	milliseconds,
	named,
	nullable,
	number,
	object,
	optional,
	record,
	request,
	string,
	text,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { exit } from "./states.ts";

const event = named(
	"WebhookEvent",
	"An event that a webhook can report. `waiting` is a program that asks a question; `secret` one that reads a secret (also `waiting`), or a request for one; `failed` a program that failed or was lost (also `exited` or `lost`); `agent` a change of a coding agent's state, of which one that waits for an answer is also `waiting`. A webhook for both reports the narrower one.",
	literals(...webhookEvents),
);

const createWebhook = request(
	"CreateWebhook",
	"A webhook to create.",
	{
		url: doc(
			"The receiver: `https`, or `http` on this machine.",
			string({ minLength: 1, maxLength: webhookLimits.urlLength }),
		),
		events: optional(
			doc(
				"By default `waiting`, `secret`, `approval` and `failed`.",
				list(event, { minItems: 1, maxItems: webhookEvents.length }),
			),
		),
		workspace: optional(
			doc("Only sessions of this workspace. All workspaces if left out, which takes the operator.", id),
		),
		labels: optional(
			doc(
				"Only sessions with these labels: `key` or `key=value`. All must match.",
				list(string({ minLength: 1, maxLength: webhookLimits.labelLength }), { maxItems: webhookLimits.labels }),
			),
		),
		allowHttp: optional(doc("Allow a receiver without TLS anywhere.", boolean)),
	},
	{ examples: [{ url: "https://example.org/hawser", events: ["waiting", "failed"], workspace: "ci" }] },
);

const members = {
	id: text,
	url: text,
	events: list(event),
	workspace: nullable(text),
	labels: list(text),
	allowHttp: boolean,
	owner: doc(
		"The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers.",
		nullable(text),
	),
	createdAt: milliseconds,
	stoppedAt: doc(
		"When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active.",
		nullable(milliseconds),
	),
	waiting: doc("Number of notices that are being sent.", count),
	failed: doc("Number of failed notices that can be sent again.", count),
	dropped: doc("Number of older failed notices that were dropped.", count),
	problem: doc(
		"Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private address.",
		nullable(text),
	),
};
const webhook = message("WebhookMessage", "A webhook.", members);

const notice = message("WebhookNotice", "The body that a receiver gets.", {
	type: named(
		"NoticeType",
		"The event; `test` for a test, `missed` for an unknown number of lost notices.",
		literals(...webhookEvents, "test", "missed"),
	),
	time: doc("Milliseconds since the epoch.", milliseconds),
	webhook: doc("The id of the webhook.", text),
	session: optional(
		doc(
			"Not with `test` and `missed`.",
			object({
				id: text,
				name: nullable(text),
				workspace: text,
				labels: record(text),
				url: optional(doc("Its page, if the server has a name for browsers.", text)),
			}),
		),
	),
	question: optional(
		doc(
			"The program's question, without keys and tokens.",
			object({
				kind: doc("`line`, `secret`, `key`, `tui`, or `prompt` of a shell.", text),
				prompt: text,
				choices: optional(list(text)),
				program: optional(text),
			}),
		),
	),
	approval: optional(
		doc(
			"With `approval`: the action, without keys and tokens.",
			object({ id: text, by: text, kind: approvalKind, preview: text, expiresAt: milliseconds }),
		),
	),
	secret: optional(doc("With `secret`, if it was requested.", object({ id: text, name: nullable(text) }))),
	exit: optional(doc("How the program ended.", exit)),
	quietMs: optional(doc("With `quiet`: the time without output.", milliseconds)),
	agent: optional(doc("The coding agent that the event is about, without keys and tokens.", agent)),
});

const path = "/v1/webhooks/:webhook";

export const webhookOperations: OperationTable = {
	createWebhook: {
		summary: "Add a webhook",
		route: "POST /v1/webhooks",
		right: "manage",
		body: createWebhook,
		answer: message("CreatedWebhook", "A new webhook. No other answer contains its secret.", {
			...members,
			secret: doc("Signs the notices.", text),
		}),
		status: 201,
	},
	listWebhooks: {
		summary: "List webhooks",
		route: "GET /v1/webhooks",
		right: "read",
		answer: message("WebhookList", "The webhooks that the caller may manage, oldest first.", {
			webhooks: list(webhook),
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
		answer: message("WebhookTest", "The result of a test notice.", {
			delivered: doc("Null if the address is private and the caller is not the operator.", nullable(boolean)),
			status: doc("The status of the receiver's answer; null without one.", nullable(number)),
			reason: doc("Why it failed, or why the result is not reported.", nullable(text)),
		}),
	},
	listFailedNotices: {
		summary: "List failed notices",
		route: `GET ${path}/failed`,
		right: "manage",
		answer: message("FailedList", "Failed notices, oldest first.", {
			failed: list(
				message("FailedNotice", "A notice that the server has stopped sending.", {
					id: doc("The `webhook-id` that the receiver gets.", text),
					attempts: count,
					reason: doc("Why the last attempt failed.", nullable(text)),
					notice,
				}),
			),
			dropped: count,
		}),
	},
	retryNotices: {
		summary: "Send failed notices again, and waiting ones at once",
		route: `POST ${path}/failed/retry`,
		right: "manage",
		body: request("RetryWebhook", "The failed notice to send again; all if left out.", {
			id: optional(string({ maxLength: 64 })),
		}),
		answer: message("RetriedWebhook", "The result of a retry.", {
			retried: doc("Number of notices that are sent again.", count),
			left: doc("Number of notices for which there was no room.", count),
		}),
	},
};
