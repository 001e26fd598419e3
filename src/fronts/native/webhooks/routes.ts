/** Webhooks over HTTP: add, list, try and remove them, and send again what was given up. */

import type { FastifyRequest } from "fastify";
import { SessionError } from "../../../core/errors.ts";
import type { Delivery, Webhook, WebhookStatus, Webhooks } from "../../../core/webhooks.ts";
import {
	type FailedNotice,
	usualWebhookEvents,
	type WebhookEvent,
	type WebhookMessage,
	type WebhookNotice,
} from "../../../protocol/webhooks.ts";
import { checkCreation, checkRight, witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import {
	createdWebhook,
	createWebhook,
	failedList,
	retriedWebhook,
	retryWebhook,
	webhookList,
	webhookParams,
	webhookTest,
} from "./messages.ts";

export function addWebhooks(app: NativeApp, kept: Webhooks | undefined): void {
	const all = (): Webhooks => {
		if (kept) return kept;
		throw new SessionError("unsupported", "this server keeps no webhooks");
	};

	app.post(
		"/v1/webhooks",
		{
			config: { policy: "manage", operation: "createWebhook", summary: "Have an address told what happens" },
			schema: { body: createWebhook, response: { 201: createdWebhook } },
		},
		async (request, reply) => {
			const { url, events = usualWebhookEvents, workspace = null, labels = [], allowHttp = false } = request.body;
			checkManages(request, { workspace });
			checkCreation(principalOf(request).countCreation());
			const { webhook, secret } = await all().add({ url, events, workspace, labels, allowsHttp: allowHttp });
			// The rest of an address may be a secret.
			const { host } = new URL(url);
			witnessOf(request).record({ action: "webhook-added", webhook: webhook.id, host }, placeOf(webhook));
			return reply
				.code(201)
				.header("cache-control", "no-store")
				.send({ ...webhookMessage(webhook), secret });
		},
	);

	app.get(
		"/v1/webhooks",
		{
			config: { policy: "read", operation: "listWebhooks", summary: "List webhooks" },
			schema: { response: { 200: webhookList } },
		},
		async (request) => ({
			webhooks: all()
				.list()
				.filter((one) => manages(request, one))
				.map(webhookMessage),
		}),
	);

	app.delete(
		"/v1/webhooks/:webhook",
		{
			config: { policy: "manage", operation: "deleteWebhook", summary: "Remove a webhook", answers: { 204: "" } },
			schema: { params: webhookParams },
		},
		async (request, reply) => {
			const webhook = find(all(), request);
			await all().remove(webhook.id);
			witnessOf(request).record({ action: "webhook-removed", webhook: webhook.id }, placeOf(webhook));
			return reply.code(204).send();
		},
	);

	app.post(
		"/v1/webhooks/:webhook/test",
		{
			config: { policy: "manage", operation: "testWebhook", summary: "Send a notice to try a webhook" },
			schema: { params: webhookParams, response: { 200: webhookTest } },
		},
		async (request) => {
			const webhook = find(all(), request);
			witnessOf(request).record({ action: "webhook-tested", webhook: webhook.id }, placeOf(webhook));
			const { isTaken, status, reason } = await all().test(webhook.id);
			return { delivered: isTaken, status, reason };
		},
	);

	app.get(
		"/v1/webhooks/:webhook/failed",
		{
			config: { policy: "manage", operation: "listFailedNotices", summary: "List notices that were given up" },
			schema: { params: webhookParams, response: { 200: failedList } },
		},
		async (request) => {
			const { id, dropped } = find(all(), request);
			return { failed: (await all().failed(id)).map(failedNotice), dropped };
		},
	);

	app.post(
		"/v1/webhooks/:webhook/failed/retry",
		{
			config: {
				policy: "manage",
				operation: "retryNotices",
				summary: "Send notices again that were given up, and those that wait at once",
			},
			schema: { params: webhookParams, body: retryWebhook, response: { 200: retriedWebhook } },
		},
		async (request) => {
			const webhook = find(all(), request);
			const answer = await all().retry(webhook.id, request.body.id);
			const { retried } = answer;
			witnessOf(request).record({ action: "webhook-retried", webhook: webhook.id, retried }, placeOf(webhook));
			return answer;
		},
	);
}

type Owned = Pick<Webhook, "workspace">;

function placeOf({ workspace }: Owned): { readonly workspace?: string } {
	return workspace === null ? {} : { workspace };
}

/** One for all workspaces is the operator's. */
function manages(request: FastifyRequest, { workspace }: Owned): boolean {
	const principal = principalOf(request);
	return workspace === null ? principal.isAdmin : principal.may("manage", { workspace });
}

function checkManages(request: FastifyRequest, { workspace }: Owned): void {
	if (workspace !== null) checkRight(request, "manage", { workspace });
	else if (!principalOf(request).isAdmin) {
		throw new SessionError("permission_denied", "a webhook for all workspaces takes a token with the scope admin", {
			hint: "name the workspace",
		});
	}
}

/** The webhook that a request names; one that its caller may not manage is not there. */
function find(webhooks: Webhooks, request: FastifyRequest<{ Params: { webhook: string } }>): WebhookStatus {
	const { webhook: id } = request.params;
	const found = webhooks.get(id);
	if (found && manages(request, found)) return found;
	throw new SessionError("not_found", `there is no webhook ${JSON.stringify(id.slice(0, 64))}`);
}

function webhookMessage({ allowsHttp, events, labels, ...rest }: WebhookStatus): WebhookMessage {
	// Each was one when it was asked for.
	return { ...rest, events: [...events] as WebhookEvent[], labels: [...labels], allowHttp: allowsHttp };
}

function failedNotice({ id, attempts, reason, body }: Delivery): FailedNotice {
	return { id, attempts, reason, notice: JSON.parse(body) as WebhookNotice };
}
