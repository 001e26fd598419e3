/** What the native API says about webhooks, and the schemas that check it. */

import Type, { type TUnsafe } from "typebox";
import type { ApprovalMessage } from "../../../protocol/asking.ts";
import {
	type CreatedWebhook,
	type CreateWebhook,
	type FailedList,
	type FailedNotice,
	type RetriedWebhook,
	type RetryWebhook,
	type WebhookEvent,
	type WebhookList,
	type WebhookMessage,
	type WebhookNotice,
	type WebhookTest,
	webhookEvents,
	webhookLimits,
} from "../../../protocol/webhooks.ts";
import { closed, exit, id, milliseconds, nullable, schemaOf } from "../schemas.ts";

const event: TUnsafe<WebhookEvent> = Type.Unsafe<WebhookEvent>(
	Type.Union(webhookEvents.map((name) => Type.Literal(name))),
);
const count = Type.Integer({ minimum: 0 });

export const createWebhook: TUnsafe<CreateWebhook> = schemaOf<CreateWebhook>()(
	Type.Object(
		{
			url: Type.String({ minLength: 1, maxLength: webhookLimits.urlLength }),
			events: Type.Optional(Type.Array(event, { minItems: 1, maxItems: webhookEvents.length })),
			workspace: Type.Optional(id),
			labels: Type.Optional(
				Type.Array(Type.String({ minLength: 1, maxLength: webhookLimits.labelLength }), {
					maxItems: webhookLimits.labels,
				}),
			),
			allowHttp: Type.Optional(Type.Boolean()),
		},
		{
			...closed,
			title: "CreateWebhook",
			examples: [{ url: "https://example.org/hawser", events: ["waiting", "failed"], workspace: "ci" }],
		},
	),
);

const members = {
	id: Type.String(),
	url: Type.String(),
	events: Type.Array(event),
	workspace: nullable(Type.String()),
	labels: Type.Array(Type.String()),
	allowHttp: Type.Boolean(),
	createdAt: milliseconds,
	waiting: count,
	failed: count,
	dropped: count,
	problem: nullable(Type.String()),
};

const webhook: TUnsafe<WebhookMessage> = schemaOf<WebhookMessage>()(Type.Object(members, { title: "Webhook" }));

export const createdWebhook: TUnsafe<CreatedWebhook> = schemaOf<CreatedWebhook>()(
	Type.Object({ ...members, secret: Type.String() }, { title: "CreatedWebhook" }),
);

export const webhookList: TUnsafe<WebhookList> = schemaOf<WebhookList>()(
	Type.Object({ webhooks: Type.Array(webhook) }, { title: "WebhookList" }),
);

export const webhookTest: TUnsafe<WebhookTest> = schemaOf<WebhookTest>()(
	Type.Object(
		{ delivered: Type.Boolean(), status: nullable(Type.Integer()), reason: nullable(Type.String()) },
		{ title: "WebhookTest" },
	),
);

const approvalKind = Type.Unsafe<ApprovalMessage["kind"]>(Type.String());

const notice: TUnsafe<WebhookNotice> = schemaOf<WebhookNotice>()(
	Type.Object(
		{
			type: Type.Union([event, Type.Literal("test"), Type.Literal("missed")]),
			time: milliseconds,
			webhook: Type.String(),
			session: Type.Optional(
				Type.Object({
					id: Type.String(),
					name: nullable(Type.String()),
					workspace: Type.String(),
					labels: Type.Record(Type.String(), Type.String()),
					url: Type.Optional(Type.String()),
				}),
			),
			question: Type.Optional(
				Type.Object({
					kind: Type.String(),
					prompt: Type.String(),
					choices: Type.Optional(Type.Array(Type.String())),
					program: Type.Optional(Type.String()),
				}),
			),
			approval: Type.Optional(
				Type.Object({
					id: Type.String(),
					by: Type.String(),
					kind: approvalKind,
					preview: Type.String(),
					expiresAt: milliseconds,
				}),
			),
			secret: Type.Optional(Type.Object({ id: Type.String(), name: nullable(Type.String()) })),
			exit: Type.Optional(exit),
			quietMs: Type.Optional(milliseconds),
		},
		{ title: "WebhookNotice" },
	),
);

const failedNotice: TUnsafe<FailedNotice> = schemaOf<FailedNotice>()(
	Type.Object(
		{ id: Type.String(), attempts: count, reason: nullable(Type.String()), notice },
		{ title: "FailedNotice" },
	),
);

export const failedList: TUnsafe<FailedList> = schemaOf<FailedList>()(
	Type.Object({ failed: Type.Array(failedNotice), dropped: count }, { title: "FailedList" }),
);

export const retryWebhook: TUnsafe<RetryWebhook> = schemaOf<RetryWebhook>()(
	Type.Object({ id: Type.Optional(Type.String({ maxLength: 64 })) }, { ...closed, title: "RetryWebhook" }),
);

export const retriedWebhook: TUnsafe<RetriedWebhook> = schemaOf<RetriedWebhook>()(
	Type.Object({ retried: count, left: count }, { title: "RetriedWebhook" }),
);

export type WebhookParams = { webhook: string };
export const webhookParams: TUnsafe<WebhookParams> = schemaOf<WebhookParams>()(Type.Object({ webhook: Type.String() }));
