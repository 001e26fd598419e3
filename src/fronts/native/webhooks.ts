/** Webhooks over HTTP: add, list, test and remove them, and send failed notices again. */

import type { FastifyRequest } from "fastify";
import type { FailedNotice, WebhookEvent, WebhookMessage, WebhookNotice } from "../../api/types.ts";
import { usualWebhookEvents } from "../../api/webhooks.ts";
import { SessionError } from "../../core/errors.ts";
import { checkMayChange, grantorOf, type Principal } from "../../core/policy/access.ts";
import { checkStartRate } from "../../core/policy/start-rate.ts";
import { checkRight } from "../../http/caller.ts";
import type { Delivery, Webhook, WebhookOwner, WebhookStatus, Webhooks } from "../../services/webhooks/webhooks.ts";
import { principalOf } from "./find-session.ts";
import type { Call, Serve } from "./serve.ts";

export function addWebhooks(serve: Serve, kept: Webhooks | undefined): void {
	const all = (): Webhooks => {
		if (kept) return kept;
		throw new SessionError("unsupported", "this server keeps no webhooks");
	};

	serve("createWebhook", async (call) => {
		const { caller, body, witness, reply } = call;
		const { url, events = usualWebhookEvents, workspace = null, labels = [], allowHttp = false } = body;
		checkManages(call.request, { workspace });
		checkStartRate(caller.countCreation());
		const added = { url, events, workspace, labels, allowsHttp: allowHttp };
		const { webhook, secret } = await all().add(added, ownerOf(caller));
		// The rest of the URL may be a secret.
		const { host } = new URL(url);
		witness.record({ action: "webhook-added", webhook: webhook.id, host }, placeOf(webhook));
		reply.header("cache-control", "no-store");
		return { ...webhookMessage(webhook, caller), secret };
	});

	serve("listWebhooks", async ({ caller }) => ({
		webhooks: all()
			.list()
			.filter((one) => manages(caller, one))
			.map((one) => webhookMessage(one, caller)),
	}));

	serve("deleteWebhook", async (call) => {
		const webhook = find(all(), call);
		await all().remove(webhook.id);
		call.witness.record({ action: "webhook-removed", webhook: webhook.id }, placeOf(webhook));
	});

	serve("adoptWebhook", async (call) => {
		const { id, owner } = find(all(), call);
		const adopted = await all().adopt(id, ownerOf(call.caller));
		call.witness.record({ action: "webhook-adopted", webhook: id, owner }, placeOf(adopted));
		return webhookMessage(adopted, call.caller);
	});

	serve("testWebhook", async (call) => {
		const webhook = find(all(), call);
		call.witness.record({ action: "webhook-tested", webhook: webhook.id }, placeOf(webhook));
		const outcome = await all().test(webhook.id, !call.caller.isAdmin);
		if (outcome === "private") return { delivered: null, status: null, reason: PRIVATE };
		const { isTaken, status, reason } = outcome;
		return { delivered: isTaken, status, reason };
	});

	serve("listFailedNotices", async (call) => {
		const webhook = find(all(), call);
		const isHidden = hides(webhook, call.caller);
		const failed = (await all().failed(webhook.id)).map(failedNotice);
		return {
			failed: failed.map((one) => (isHidden ? { ...one, reason: PRIVATE } : one)),
			dropped: webhook.dropped,
		};
	});

	serve("retryNotices", async (call) => {
		const webhook = find(all(), call);
		const answer = await all().retry(webhook.id, call.body.id);
		const { retried } = answer;
		call.witness.record({ action: "webhook-retried", webhook: webhook.id, retried }, placeOf(webhook));
		return answer;
	});
}

type Owned = Pick<Webhook, "workspace">;
type WebhookCall = Pick<Call<"deleteWebhook">, "params" | "caller" | "request">;

function placeOf({ workspace }: Owned): { readonly workspace?: string } {
	return workspace === null ? {} : { workspace };
}

/** A webhook for all workspaces belongs to the operator. */
function manages(caller: Principal, { workspace }: Owned): boolean {
	return workspace === null ? caller.isAdmin : caller.may("manage", { workspace });
}

function checkManages(request: FastifyRequest, { workspace }: Owned): void {
	if (workspace !== null) checkRight(request, "manage", { workspace });
	else if (!principalOf(request).isAdmin) {
		throw new SessionError("permission_denied", "a webhook for all workspaces needs the scope admin", {
			hint: "name the workspace",
		});
	}
}

/** A webhook ends with the credential that created it. For a signed-in browser, that is the token it signed in with. */
function ownerOf(caller: Principal): WebhookOwner {
	const grantor = grantorOf(caller);
	return grantor.kind === "browser" ? grantor.credential : grantor;
}

/** Finds the webhook of a request. A caller that may not manage it gets the same error as for one that does not exist. */
function find(webhooks: Webhooks, { params: { webhook: id }, caller, request }: WebhookCall): WebhookStatus {
	const found = webhooks.get(id);
	if (found && manages(caller, found)) {
		if (request.method !== "GET") checkMayChange(caller, found.owner, "a webhook");
		return found;
	}
	throw new SessionError("not_found", `there is no webhook ${JSON.stringify(id.slice(0, 64))}`);
}

/** Callers other than the operator could use the result to find open ports on this machine and its networks. */
const PRIVATE = "the address is private; only the operator can see the result";

function hides({ wasPrivate }: WebhookStatus, caller: Principal): boolean {
	return wasPrivate && !caller.isAdmin;
}

function webhookMessage(webhook: WebhookStatus, caller: Principal): WebhookMessage {
	const { allowsHttp, wasPrivate: _, events, labels, problem, ...rest } = webhook;
	// Also before an attempt ends: a closed port would fail at once, and a silent one later.
	const shown = hides(webhook, caller) ? PRIVATE : problem;
	// Checked when the webhook was created.
	return { ...rest, problem: shown, events: events as readonly WebhookEvent[], labels, allowHttp: allowsHttp };
}

function failedNotice({ id, attempts, reason, body }: Delivery): FailedNotice {
	return { id, attempts, reason, notice: JSON.parse(body) as WebhookNotice };
}
