/** Webhook addresses: callers learn nothing about private ones, and webhooks do not reach link-local ones. */

import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { type Started, start } from "../../support/server.ts";
import { refused, silent, taken, WebhookReceiver } from "../../support/webhook-receiver.ts";

const hidden = "the address is private; only the operator can see the result";

/** Longer than a test, so that an answer that waits for the receiver would come too late. */
const webhookTimes = { backoffMs: [600_000], timeoutMs: 600_000 };

/** Ports of this machine: closed, silent, speaking another protocol, and receivers. */
async function ports(): Promise<Readonly<Record<string, string>>> {
	const closed = createServer();
	const other = createServer((socket) => void socket.end("SSH-2.0-x\r\n"));
	const mute = createServer();
	for (const server of [closed, other, mute]) {
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	}
	const url = (server: typeof closed) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	const urls = { closed: url(closed), other: url(other), mute: url(mute) };
	await new Promise((resolve) => closed.close(resolve));
	onTestFinished(() => {
		other.close();
		mute.close();
	});
	const receivers = { taken, refused, silent };
	const started = await Promise.all(
		Object.entries(receivers).map(async ([name, answer]) => {
			const receiver = await WebhookReceiver.start();
			receiver.answer = answer;
			return [name, receiver.url] as const;
		}),
	);
	return { ...urls, ...Object.fromEntries(started) };
}

async function manager(server: Started): Promise<Client> {
	const operator = connect({ url: server.url, token: server.adminToken });
	const { token } = await operator.tokens.create({ scopes: ["workspace:default:manage"] });
	return connect({ url: server.url, token });
}

it("testing a webhook gives the same answer for every private port at once, and the next test waits equally", async () => {
	const server = await start({}, { webhookTimes });
	const client = await manager(server);
	const answers: Record<string, unknown> = {};
	const urls = await ports();
	for (const [name, url] of Object.entries(urls)) {
		const { id } = await client.webhooks.create({ url, workspace: "default", events: ["lost"] });
		const first = await client.webhooks.test(id);
		// For ports that answer, the first outcome is known by then.
		const again = await client.webhooks.test(id).catch(({ code, message }) => ({ code, message }));
		const listed = (await client.webhooks.list()).find((one) => one.id === id);
		answers[name] = { first, again, problem: listed?.problem, waiting: listed?.waiting, failed: listed?.failed };
	}
	const answer = {
		first: { delivered: null, status: null, reason: hidden },
		again: { code: "limit_exceeded", message: "a test of this webhook is already in progress" },
		problem: hidden,
		waiting: 0,
		failed: 0,
	};
	expect(answers).toEqual(Object.fromEntries(Object.keys(urls).map((name) => [name, answer])));
});

it("the operator learns the outcome of a test at a private address", async () => {
	const server = await start();
	const operator = connect({ url: server.url, token: server.adminToken });
	const urls = await ports();
	const outcome = async (name: string) => {
		const { id } = await operator.webhooks.create({ url: String(urls[name]) });
		return operator.webhooks.test(id);
	};
	expect(await outcome("taken")).toEqual({ delivered: true, status: 204, reason: null });
	expect(await outcome("refused")).toEqual({ delivered: false, status: 500, reason: "the receiver answered 500" });
	expect((await outcome("closed")).reason).toMatch(/ECONNREFUSED/);
});

it("only the operator learns why a delivery to a private address failed", async () => {
	const server = await start({}, { webhookTimes: { backoffMs: [], timeoutMs: 60_000 } });
	const operator = connect({ url: server.url, token: server.adminToken });
	const client = await manager(server);
	const { closed, refused: refusing } = await ports();
	for (const url of [String(closed), String(refusing)]) {
		await client.webhooks.create({ url, workspace: "default", events: ["exited"] });
	}
	await operator.run({ command: "true" });
	await expect.poll(async () => (await operator.webhooks.list()).map(({ failed }) => failed)).toEqual([1, 1]);
	const problems = (await operator.webhooks.list()).map(({ problem }) => problem);
	expect(problems).toEqual([expect.stringMatching(/ECONNREFUSED/), "the receiver answered 500"]);
	expect((await client.webhooks.list()).map(({ problem }) => problem)).toEqual([hidden, hidden]);
	for (const [index, { id }] of (await client.webhooks.list()).entries()) {
		expect((await client.webhooks.failed(id)).failed.map(({ reason }) => reason)).toEqual([hidden]);
		expect((await operator.webhooks.failed(id)).failed.map(({ reason }) => reason)).toEqual([problems[index]]);
	}
});

it("the problem of a private address that does not accept notices is the same for every port, also during an attempt", async () => {
	const server = await start({}, { webhookTimes });
	const operator = connect({ url: server.url, token: server.adminToken });
	const client = await manager(server);
	const { taken: _, ...urls } = await ports();
	for (const url of Object.values(urls)) {
		await client.webhooks.create({ url, workspace: "default", events: ["exited"] });
	}
	await operator.run({ command: "true" });
	const shown = async () => (await client.webhooks.list()).map(({ problem, waiting }) => ({ problem, waiting }));
	await expect.poll(shown).toEqual(Object.keys(urls).map(() => ({ problem: hidden, waiting: 1 })));
	const problems = (await operator.webhooks.list()).map(({ problem }) => problem);
	expect(problems).toContain(null);
});

it("a webhook for a link-local address is refused unless the operator's setting allows it", async () => {
	const url = "https://169.254.169.254/latest";
	const operatorOf = ({ url: at, adminToken }: Started) => connect({ url: at, token: adminToken });
	const refusal = {
		code: "invalid_argument",
		message: "url: 169.254.169.254 is link-local or serves metadata of the machine",
	};
	await expect(operatorOf(await start()).webhooks.create({ url })).rejects.toMatchObject(refusal);
	const allowing = operatorOf(await start({ webhookLinkLocal: true }));
	expect((await allowing.webhooks.create({ url, events: ["lost"] })).url).toBe(url);
});
