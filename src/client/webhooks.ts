/** Webhooks, as a program sees them. */

import type {
	CreatedWebhook,
	CreateWebhook,
	FailedList,
	RetriedWebhook,
	WebhookList,
	WebhookMessage,
	WebhookTest,
} from "../protocol/webhooks.ts";
import type { ActOptions } from "./attachment.ts";
import type { Call, Transport } from "./transport.ts";

export interface WebhooksClient {
	/** Has an address told what happens from now on; the secret with which notices are signed is told only now. */
	create(request: CreateWebhook, options?: ActOptions): Promise<CreatedWebhook>;
	/** Those that you may manage, oldest first. */
	list(options?: ActOptions): Promise<WebhookMessage[]>;
	/** With all that it was still to be told. */
	remove(id: string, options?: ActOptions): Promise<void>;
	/** Sends a notice, once. */
	test(id: string, options?: ActOptions): Promise<WebhookTest>;
	/** The notices that were given up, oldest first. */
	failed(id: string, options?: ActOptions): Promise<FailedList>;
	/** Sends those again, or the one of this id; without one also what waits, at once. */
	retry(id: string, options?: ActOptions & { readonly notice?: string | undefined }): Promise<RetriedWebhook>;
}

export function webhooksAt(transport: Transport): WebhooksClient {
	const root = "/v1/webhooks";
	const at = (id: string) => `${root}/${encodeURIComponent(id)}`;
	const ask = async <Answer>(call: Call): Promise<Answer> => (await (await transport.request(call)).json()) as Answer;
	return {
		create: (request, { signal } = {}) => ask({ method: "POST", path: root, json: request, signal }),
		list: async ({ signal } = {}) => (await ask<WebhookList>({ path: root, signal })).webhooks,
		async remove(id, { signal } = {}) {
			await transport.request({ method: "DELETE", path: at(id), signal });
		},
		test: (id, { signal } = {}) => ask({ method: "POST", path: `${at(id)}/test`, signal }),
		failed: (id, { signal } = {}) => ask({ path: `${at(id)}/failed`, signal }),
		retry(id, { notice, signal } = {}) {
			const json = notice === undefined ? {} : { id: notice };
			return ask({ method: "POST", path: `${at(id)}/failed/retry`, json, signal });
		},
	};
}
