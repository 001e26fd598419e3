/** A webhook belongs to the token that created it, and stops with it. */

import { expect, it } from "vitest";
import { type Client, type CreatedWebhook, connect } from "../../../src/client/index.ts";
import { webhookLimits } from "../../../src/services/webhooks/stored-webhooks.ts";
import { type Started, start } from "../../support/server.ts";
import { WebhookReceiver } from "../../support/webhook-receiver.ts";

const operatorOf = (server: Started) => connect({ url: server.url, token: server.adminToken });

type Here = {
	readonly server: Started;
	readonly operator: Client;
	/** The token that created the webhook. */
	readonly maker: Client;
	readonly token: { readonly id: string; readonly token: string };
	readonly receiver: WebhookReceiver;
	readonly webhook: CreatedWebhook;
};

async function startHere(request: Partial<Parameters<Client["tokens"]["create"]>[0]> = {}): Promise<Here> {
	const server = await start();
	const operator = operatorOf(server);
	const token = await operator.tokens.create({ scopes: ["workspace:default:manage"], ...request });
	const maker = connect({ url: server.url, token: token.token });
	const receiver = await WebhookReceiver.start();
	const webhook = await maker.webhooks.create({ url: receiver.url, workspace: "default", events: ["exited"] });
	return { server, operator, maker, token, receiver, webhook };
}

/** The id of a session that has ended. */
async function ended(client: Client): Promise<string> {
	const session = await client.sessions.create({ argv: ["true"], mode: "pipe", durable: false });
	await expect.poll(async () => (await session.info()).state).toBe("closed");
	return session.id;
}

const isAbout = (id: string) => (received: WebhookReceiver["received"][number]) => received.notice.session?.id === id;
const told = (receiver: WebhookReceiver) => receiver.received.map(({ notice }) => notice.session?.id);
const only = async (client: Client) => (await client.webhooks.list())[0];

async function audited(operator: Client, action: string) {
	return (await operator.audit({ action, limit: 100 })).entries;
}

it("a webhook stops when its token is revoked, and continues when the operator adopts it", async () => {
	const { operator, token, receiver, webhook } = await startHere();
	expect(webhook).toMatchObject({ owner: token.id, stoppedAt: null });
	const first = await ended(operator);
	await receiver.until("the first", isAbout(first));
	await operator.tokens.revoke(token.id);
	const stopped = await only(operator);
	expect(stopped).toMatchObject({ id: webhook.id, owner: token.id, stoppedAt: expect.any(Number) });
	const second = await ended(operator);
	const gone = {
		code: "conflict",
		message: "the webhook has stopped because its owner's token was revoked or has expired",
	};
	await expect(operator.webhooks.test(webhook.id)).rejects.toMatchObject(gone);
	await expect(operator.webhooks.retry(webhook.id)).rejects.toMatchObject(gone);
	expect(told(receiver)).toEqual([first]);

	expect(await operator.webhooks.adopt(webhook.id)).toMatchObject({ owner: "admin", stoppedAt: null });
	const third = await ended(operator);
	await receiver.until("the third", isAbout(third));
	expect(told(receiver)).toEqual([first, second, third]);
	expect(await audited(operator, "webhook-stopped")).toMatchObject([
		{ by: null, webhook: webhook.id, owner: token.id, workspace: "default" },
	]);
	expect(await audited(operator, "webhook-adopted")).toMatchObject([
		{ by: { id: "admin" }, webhook: webhook.id, owner: token.id, workspace: "default" },
	]);
});

it("a webhook stops when its token expires, or when its token's parent expires", async () => {
	const { operator, maker, token } = await startHere({ expiresInMs: 1_500 });
	await expect.poll(async () => (await only(operator))?.stoppedAt).toEqual(expect.any(Number));
	await expect(maker.webhooks.list()).rejects.toMatchObject({ code: "unauthenticated" });
	expect((await operator.tokens.list()).map(({ id }) => id)).not.toContain(token.id);

	const { operator: other, maker: parent, token: made, server } = await startHere();
	const child = await parent.tokens.create({ scopes: ["workspace:default:manage"] });
	const client = connect({ url: server.url, token: child.token });
	await client.webhooks.create({ url: "http://127.0.0.1:9/", workspace: "default" });
	await other.tokens.revoke(made.id);
	expect((await other.webhooks.list()).map(({ stoppedAt }) => typeof stoppedAt)).toEqual(["number", "number"]);
});

it("a webhook adopted before its token ended continues", async () => {
	const { operator, token, receiver, webhook } = await startHere();
	await operator.webhooks.adopt(webhook.id);
	await operator.tokens.revoke(token.id);
	const session = await ended(operator);
	await receiver.until("the notice", isAbout(session));
	expect(await only(operator)).toMatchObject({ owner: "admin", stoppedAt: null });
	expect(await audited(operator, "webhook-stopped")).toEqual([]);
});

it("only the operator adopts webhooks", async () => {
	const { operator, maker, webhook } = await startHere();
	const message = "this requires a token with the scope admin";
	await expect(maker.webhooks.adopt(webhook.id)).rejects.toMatchObject({ code: "permission_denied", message });
	await expect(operator.webhooks.adopt("none")).rejects.toMatchObject({ code: "not_found" });
	expect((await only(operator))?.owner).toBe(webhook.owner);
});

it("the next server delivers webhooks of existing tokens, and stops the others once", async () => {
	const { server, operator, receiver, webhook, token } = await startHere();
	const expiring = await operator.tokens.create({ scopes: ["workspace:default:manage"], expiresInMs: 2_000 });
	const short = connect({ url: server.url, token: expiring.token });
	const other = await short.webhooks.create({ url: "http://127.0.0.1:9/", workspace: "default" });
	await server.close();
	const { expiresAt } = expiring;
	await expect.poll(() => Date.now() > Number(expiresAt)).toBe(true);
	for (let count = 0; count < 2; count++) {
		const next = await start({ stateDir: server.stateDir });
		const again = operatorOf(next);
		const listed = await again.webhooks.list();
		expect(listed.map(({ id, owner, stoppedAt }) => [id, owner, typeof stoppedAt])).toEqual([
			[webhook.id, token.id, "object"],
			[other.id, expiring.id, "number"],
		]);
		const session = await ended(again);
		await receiver.until("the notice", isAbout(session));
		expect(await audited(again, "webhook-stopped")).toHaveLength(1);
		await next.close();
	}
});

it("a token with a gate can't remove, test or retry webhooks that it did not create", async () => {
	const { server, operator, webhook, receiver } = await startHere();
	const gate = { match: ["forbidden"] };
	const made = await operator.tokens.create({ scopes: ["workspace:default:manage"], gate });
	const gated = connect({ url: server.url, token: made.token });
	const admin = await operator.tokens.create({ scopes: ["admin"], gate });
	const gatedAdmin = connect({ url: server.url, token: admin.token });
	const refused = {
		code: "permission_denied",
		message: "a token with a gate may not change a webhook that it did not make",
	};
	for (const client of [gated, gatedAdmin]) {
		await expect(client.webhooks.remove(webhook.id)).rejects.toMatchObject(refused);
		await expect(client.webhooks.test(webhook.id)).rejects.toMatchObject(refused);
		await expect(client.webhooks.retry(webhook.id)).rejects.toMatchObject(refused);
	}
	await expect(gatedAdmin.webhooks.adopt(webhook.id)).rejects.toMatchObject(refused);
	expect(receiver.received).toEqual([]);
	expect(await only(operator)).toMatchObject({ id: webhook.id, owner: webhook.owner });
	const own = await gated.webhooks.create({ url: receiver.url, workspace: "default" });
	await gated.webhooks.remove(own.id);
	expect((await operator.webhooks.list()).map(({ id }) => id)).toEqual([webhook.id]);
});

it("stopped webhooks do not count against the limit, and active ones do", async () => {
	const { operator, token, maker, webhook } = await startHere();
	const url = "http://127.0.0.1:9/";
	const add = (client: Client) => client.webhooks.create({ url, workspace: "default" });
	for (let count = 1; count < webhookLimits.ofWorkspace; count++) await add(maker);
	await expect(add(operator)).rejects.toMatchObject({ code: "limit_exceeded" });
	await operator.tokens.revoke(token.id);
	const made = await Promise.all(Array.from({ length: webhookLimits.ofWorkspace }, () => add(operator)));
	await expect(add(operator)).rejects.toMatchObject({
		code: "limit_exceeded",
		message: "too many webhooks (limit 20 per workspace, 100 in total)",
	});
	const left = await operator.webhooks.list();
	expect(left.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
	expect((await audited(operator, "webhook-removed")).map((entry) => entry.webhook)).toContain(webhook.id);
});
