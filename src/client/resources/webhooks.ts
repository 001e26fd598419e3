/** Webhooks of a server. */

import type {
	CreatedWebhook,
	CreateWebhook,
	FailedList,
	RetriedWebhook,
	WebhookMessage,
	WebhookTest,
} from "../../api/types.ts";
import type { RequestOptions } from "../attach/attachment.ts";
import type { Transport } from "../http/transport.ts";

export interface WebhooksClient {
	/** Adds a webhook. Only this answer has the secret that signs its notices. */
	create(request: CreateWebhook, options?: RequestOptions): Promise<CreatedWebhook>;
	/** The webhooks that the caller may manage, oldest first. */
	list(options?: RequestOptions): Promise<readonly WebhookMessage[]>;
	/** Removes a webhook and the notices that it has not sent. */
	remove(id: string, options?: RequestOptions): Promise<void>;
	/** Makes the operator the owner, and activates the webhook again if its token has ended. */
	adopt(id: string, options?: RequestOptions): Promise<WebhookMessage>;
	/** Sends a test notice, once. */
	test(id: string, options?: RequestOptions): Promise<WebhookTest>;
	/** Failed notices, oldest first. */
	failed(id: string, options?: RequestOptions): Promise<FailedList>;
	/** Sends one failed notice again; without `notice` all of them, and waiting ones at once. */
	retry(id: string, options?: RequestOptions & { readonly notice?: string | undefined }): Promise<RetriedWebhook>;
}

export function webhooks(transport: Transport): WebhooksClient {
	return {
		create: (body, options) => transport.call("createWebhook", { body, ...options }),
		list: async (options = {}) => (await transport.call("listWebhooks", options)).webhooks,
		async remove(webhook, options) {
			await transport.open("deleteWebhook", { params: { webhook }, ...options });
		},
		adopt: (webhook, options) => transport.call("adoptWebhook", { params: { webhook }, ...options }),
		test: (webhook, options) => transport.call("testWebhook", { params: { webhook }, ...options }),
		failed: (webhook, options) => transport.call("listFailedNotices", { params: { webhook }, ...options }),
		retry(webhook, { notice, signal } = {}) {
			const body = notice === undefined ? {} : { id: notice };
			return transport.call("retryNotices", { params: { webhook }, body, signal });
		},
	};
}
