/** Webhooks of a running server with real receivers. */

import { readFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Client, type CreatedWebhook, connect } from "../../../src/client/index.ts";
import { call, refusalOf } from "../../support/calling.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { type Started, start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { type Received, refused, silent, taken, WebhookReceiver } from "../../support/webhook-receiver.ts";
import { randomOf } from "../torture/support/echo-stream.ts";

/** Short, but only after an answer, however late that is. The real delays are tested with the courier. */
const patient = { backoffMs: [20, 20, 20], timeoutMs: 60_000 };

type Here = {
	readonly server: Started;
	readonly client: Client;
	readonly receiver: WebhookReceiver;
	readonly webhook: CreatedWebhook;
};

async function startHere(
	request: Partial<Parameters<Client["webhooks"]["create"]>[0]> = {},
	flags: Parameters<typeof start>[0] = {},
	webhookTimes = patient,
): Promise<Here> {
	const server = await start(flags, { webhookTimes });
	const client = connect({ url: server.url, token: server.adminToken });
	const receiver = await WebhookReceiver.start();
	const webhook = await client.webhooks.create({ url: receiver.url, ...request });
	return { server, client, receiver, webhook };
}

const about = (session: { readonly id: string }, type: string) => (received: Received) =>
	received.notice.session?.id === session.id && received.notice.type === type;

/** Ends at once with this code. */
const ending = (code: number, name: string) =>
	({ command: `exit ${code}`, mode: "pipe", name, durable: false }) as const;

describe("a receiver", () => {
	it("a receiver gets signed events: which session asks what, where to answer, and that it failed", async () => {
		const labels = ["kind=deploy", "team"];
		const { client, receiver, webhook } = await startHere({ labels }, { allowedHosts: "hawser.test", basePath: "/at" });
		const token = `ghp_${"x".repeat(36)}`;
		const command = `read -p "Deploy with ${token}? [y/N] " answer; exit 3`;
		const argv = ["bash", "--norc", "-c", command];
		await client.sessions.create({ ...ending(1, "without labels"), labels: { kind: "deploy" } });
		const made = { kind: "deploy", team: "red" };
		const session = await client.sessions.create({ argv, name: "deploy", labels: made, durable: false });
		const asked = await receiver.until("the question", about(session, "waiting"));
		expect(asked.notice).toEqual({
			type: "waiting",
			time: expect.any(Number),
			webhook: webhook.id,
			session: {
				id: session.id,
				name: "deploy",
				workspace: "default",
				labels: made,
				url: expect.stringMatching(new RegExp(`^http://hawser\\.test:\\d+/at/s/${session.id}$`)),
			},
			question: {
				kind: "line",
				prompt: "Deploy with [redacted: github token]? [y/N]",
				choices: ["y", "N"],
				program: "bash",
			},
		});
		expect(asked.attempt).toBe(1);
		expect(asked.isSignedWith(webhook.secret)).toBe(true);
		expect(asked.isSignedWith(`whsec_${Buffer.alloc(32).toString("base64")}`)).toBe(false);
		await session.write("y\n");
		const failed = await receiver.until("the end", about(session, "failed"));
		expect(failed.notice.exit).toMatchObject({ code: 3 });
		expect(new Set(receiver.received.map(({ notice }) => notice.session?.name))).toEqual(new Set(["deploy"]));
	});

	it("a receiver gets each event once, under the most specific type it subscribed to", async () => {
		const { client, receiver } = await startHere({ events: ["waiting", "exited", "failed"] });
		const secret = ["bash", "--norc", "-c", "read -s -p 'Password: ' password; exit 0"];
		const session = await client.sessions.create({ argv: secret, durable: false });
		expect((await receiver.until("the question", about(session, "waiting"))).notice.question?.kind).toBe("secret");
		await session.write("x\n");
		await receiver.until("its end", about(session, "exited"));
		const other = await client.sessions.create(ending(4, "failing"));
		await receiver.until("the other's end", about(other, "failed"));
		expect(receiver.received.map(({ notice: { type } }) => type)).toEqual(["waiting", "exited", "failed"]);
	});

	it("a receiver gets requests for secrets once, from the program or an agent, and held actions, redacted", async () => {
		const { client, receiver, server } = await startHere();
		const argv = ["bash", "--norc", "-c", "read -s -p 'Password: ' password; exit 3"];
		const session = await client.sessions.create({ argv, durable: false });
		await receiver.until("the question", about(session, "secret"));
		const gate = { match: ["rm -rf"] };
		const made = await client.tokens.create({ scopes: ["workspace:default:operate"], name: "agent", gate });
		const agent = connect({ url: server.url, token: made.token }).sessions.at(session.id);
		await agent.requestSecret({ name: "registry" });
		const writing = agent.write(`rm -rf ghp_${"x".repeat(36)}\r`);
		writing.catch(() => {});
		const { notice } = await receiver.until("the held action", about(session, "approval"));
		expect(notice.approval).toEqual({
			id: expect.any(String),
			by: `token:${made.id}:agent`,
			kind: "input",
			preview: "rm -rf [redacted: github token]\n",
			expiresAt: expect.any(Number),
		});
		await client.approvals.decide(notice.approval?.id ?? "", { decision: "deny" });
		await expect(writing).rejects.toMatchObject({ code: "not_approved" });
		await session.write("x\r");
		await receiver.until("its end", about(session, "failed"));
		expect(receiver.received.map(({ notice: { type } }) => type)).toEqual(["secret", "approval", "failed"]);
		expect(server.problems).toEqual([]);
	});

	it("a receiver that fails and recovers gets each event once or marked as a repeat, in order per session, without delaying others", async () => {
		const { client, receiver, server } = await startHere({ events: ["created", "failed"] });
		const failures: Received[] = [];
		receiver.answer = (received, response) => {
			const isDown = received.notice.session?.name === "a" && failures.length < 3;
			if (isDown) failures.push(received);
			(isDown ? refused : taken)(received, response);
		};
		const a = await client.sessions.create(ending(1, "a"));
		const b = await client.sessions.create(ending(1, "b"));
		await receiver.until("the end of b", about(b, "failed"));
		await receiver.until("the end of a", about(a, "failed"));
		const told = receiver.received.filter(({ notice }) => notice.session?.id === a.id);
		expect(told.map(({ notice, attempt }) => [notice.type, attempt])).toEqual([
			["created", 1],
			["created", 2],
			["created", 3],
			["created", 4],
			["failed", 1],
		]);
		expect(new Set(told.map(({ id }) => id)).size).toBe(2);
		const repeated = receiver.received.filter(({ notice, attempt }) => notice.session?.id === b.id && attempt > 1);
		expect(repeated).toEqual([]);
		// The answer to the last delivery shows that it was accepted.
		const page = await eventually("all to be delivered", async () => {
			const metrics = await client.metrics();
			return metrics.includes('hawser_webhook_notices_total{result="delivered"} 4') && metrics;
		});
		expect(page).toContain("hawser_webhook_attempts_failed_total 3");
		expect(page).toContain("hawser_webhook_waiting 0");
		expect(server.problems).toEqual([]);
	});

	it("undelivered events are listed, and delivered when an operator retries them", async () => {
		const { client, receiver, webhook } = await startHere({ events: ["failed"] });
		receiver.answer = refused;
		const sessions = [await client.sessions.create(ending(5, "one")), await client.sessions.create(ending(6, "two"))];
		const given = await eventually("both to fail for good", async () => {
			const { failed } = await client.webhooks.failed(webhook.id);
			return failed.length === 2 && failed;
		});
		expect(given.map(({ notice }) => notice.session?.id).toSorted()).toEqual(sessions.map(({ id }) => id).toSorted());
		expect(given[0]).toMatchObject({ attempts: 4, reason: "the receiver answered 500" });
		expect(await client.webhooks.list()).toMatchObject([
			{ waiting: 0, failed: 2, problem: "the receiver answered 500" },
		]);
		await expect(client.webhooks.retry(webhook.id, { notice: "msg_x" })).rejects.toMatchObject({ code: "not_found" });

		receiver.answer = taken;
		const [first, second] = given;
		expect(await client.webhooks.retry(webhook.id, { notice: first?.id })).toEqual({ retried: 1, left: 0 });
		await receiver.until("the first", ({ id, attempt }) => id === first?.id && attempt === 5);
		expect((await client.webhooks.failed(webhook.id)).failed).toEqual([second]);
		expect(await client.webhooks.retry(webhook.id)).toEqual({ retried: 1, left: 0 });
		await receiver.until("the second", ({ id, attempt }) => id === second?.id && attempt === 5);
		const { entries } = await client.audit({ action: "webhook-retried" });
		expect(entries).toMatchObject([{ webhook: webhook.id, retried: 1, count: 2, by: { id: "admin" } }]);
	});
});

describe("one delivery attempt", () => {
	it("an attempt ends at its timeout, whatever the receiver does, and follows no redirect", async () => {
		const triedAt = async ({ client, receiver, webhook }: Here, answer: WebhookReceiver["answer"]) => {
			receiver.answer = answer;
			return client.webhooks.test(webhook.id);
		};
		const hurried = () => startHere({}, {}, { ...patient, timeoutMs: 1_000 });
		const [nothing, begun] = await Promise.all([
			triedAt(await hurried(), silent),
			// The receiver accepts the request and then sends nothing more.
			triedAt(await hurried(), (_received, response) => response.writeHead(200).write(".")),
		]);
		expect(nothing).toEqual({ delivered: false, status: null, reason: "the receiver did not answer within 1 s" });
		expect(begun).toMatchObject({ delivered: true });
		const here = await startHere();
		const { receiver } = here;
		const tried = (answer: WebhookReceiver["answer"]) => triedAt(here, answer);
		expect(await tried(taken)).toEqual({ delivered: true, status: 204, reason: null });
		const endless = (status: number) =>
			tried((_received, response) => {
				response.writeHead(status);
				const write = (): void => void response.write("x".repeat(16 * 1024), (error) => error ?? write());
				write();
			});
		expect(await endless(200)).toEqual({ delivered: true, status: 200, reason: null });
		expect(await endless(503)).toEqual({ delivered: false, status: 503, reason: "the receiver answered 503" });
		const before = receiver.received.length;
		expect(await tried((_received, response) => response.writeHead(307, { location: "/elsewhere" }).end())).toEqual({
			delivered: false,
			status: 307,
			reason: "the receiver answered 307, and redirects are not followed",
		});
		expect(receiver.received.slice(before)).toMatchObject([{ path: "/hook", notice: { type: "test" } }]);
		expect(await tried((_received, response) => response.destroy())).toMatchObject({ delivered: false, status: null });
	});

	it("no attempt is made to an untrusted certificate or a closed port", async () => {
		const pem = (name: string) =>
			readFileSync(fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url)), "utf8");
		const receiver = await WebhookReceiver.start({ cert: pem("tls-cert.pem"), key: pem("tls-key.pem") });
		const { client } = await startHere();
		const made = await client.webhooks.create({ url: receiver.url });
		expect(await client.webhooks.test(made.id)).toMatchObject({
			delivered: false,
			reason: expect.stringContaining("self-signed certificate"),
		});
		expect(receiver.received).toEqual([]);
		const nowhere = await client.webhooks.create({ url: "http://127.0.0.1:1/" });
		expect(await client.webhooks.test(nowhere.id)).toMatchObject({ reason: expect.stringContaining("ECONNREFUSED") });
	});
});

it("an unencrypted address is refused unless the caller permits it", async () => {
	const { client } = await startHere();
	const code = (url: string) =>
		client.webhooks.create({ url }).then(
			() => "taken",
			({ code }: { code: string }) => code,
		);
	const refused = ["http://192.0.2.1/", "ftp://127.0.0.1/", "https://me:secret@example.org/", "nonsense"];
	for (const url of [...refused, "https://192.0.2.1/\r\nx"]) {
		expect([url, await code(url)]).toEqual([url, "invalid_argument"]);
	}
	for (const url of ["http://localhost:1/", "http://[::1]:1/", "https://192.0.2.1/"]) {
		expect([url, await code(url)]).toEqual([url, "taken"]);
	}
	expect(await client.webhooks.create({ url: " HTTPS://192.0.2.1" })).toMatchObject({ url: "https://192.0.2.1/" });
	expect(await client.webhooks.create({ url: "http://192.0.2.1/", allowHttp: true })).toMatchObject({
		allowHttp: true,
	});
});

it("a manager of a workspace sees its webhooks and no others, and a viewer sees none", async () => {
	const { server, client, webhook } = await startHere();
	await client.workspaces.put("ci", { roots: [] });
	const manager = await server.token("workspace:ci:manage");
	const viewer = await server.token(`session:${await server.session("ci")}:view`);
	const asked = (token: string, method: string, path: string, body?: object) =>
		call(server, method, `/v1/webhooks${path}`, body, token);
	const url = "https://192.0.2.1/";
	for (const [token, body] of [
		[manager, { url }],
		[manager, { url, workspace: "default" }],
		[viewer, { url, workspace: "ci" }],
		[await server.token("workspace:ci:operate"), { url, workspace: "ci" }],
	] as const) {
		expect(refusalOf(await asked(token, "POST", "", body))).toEqual([403, "permission_denied"]);
	}
	const own = await asked(manager, "POST", "", { url, workspace: "ci" });
	expect(own.status).toBe(201);
	expect((await asked(manager, "GET", "")).body).toMatchObject({ webhooks: [{ id: own.body.id, workspace: "ci" }] });
	expect((await asked(viewer, "GET", "")).body).toEqual({ webhooks: [] });
	for (const [token, id] of [
		[manager, webhook.id],
		[viewer, own.body.id],
	]) {
		expect(refusalOf(await asked(String(token), "DELETE", `/${id}`))).toEqual([404, "not_found"]);
		expect(refusalOf(await asked(String(token), "POST", `/${id}/test`))).toEqual([404, "not_found"]);
		expect(refusalOf(await asked(String(token), "GET", `/${id}/failed`))).toEqual([404, "not_found"]);
		expect(refusalOf(await asked(String(token), "POST", `/${id}/failed/retry`, {}))).toEqual([404, "not_found"]);
	}
	// Deleting the workspace deletes its webhooks and their files.
	await client.workspaces.remove("ci", { force: true });
	expect((await client.webhooks.list()).map(({ id }) => id)).toEqual([webhook.id]);
	const files = () => readdir(join(server.stateDir, "webhooks"));
	// The other one may be just being written.
	expect((await files()).filter((name) => name.endsWith(".json"))).toEqual([`${webhook.id}.json`]);
	await client.webhooks.remove(webhook.id);
	expect(await files()).toEqual([]);
	const { entries } = await client.audit();
	const told = entries.flatMap(({ action, webhook: of }) => (/^webhook-/.test(action) ? [[action, of]] : []));
	expect(told).toEqual([
		["webhook-added", webhook.id],
		["webhook-added", own.body.id],
		// The workspace is deleted, and its token had no other rights.
		["webhook-stopped", own.body.id],
		["webhook-removed", own.body.id],
		["webhook-removed", webhook.id],
	]);
});

it("a server killed during a delivery repeats it marked as a repeat, and keeps undelivered events", async () => {
	const stateDir = await temporaryDirectory();
	const server = new CrashingServer(stateDir, {}, { webhookTimes: { backoffMs: [20], timeoutMs: 60_000 } });
	onTestFinished(() => server.killAll());
	await server.start();
	const clientNow = async () => connect({ url: server.url, token: await server.token() });
	const receiver = await WebhookReceiver.start();
	receiver.answer = refused;
	const { id, secret } = await (await clientNow()).webhooks.create({ url: receiver.url });
	await (await clientNow()).sessions.create(ending(1, "given up"));
	const given = await eventually("the first to fail for good", async () => {
		const { failed } = await (await clientNow()).webhooks.failed(id);
		return failed.length === 1 && failed;
	});
	receiver.answer = silent;
	const session = await (await clientNow()).sessions.create(ending(2, "under way"));
	const first = await receiver.until("the second", about(session, "failed"));
	await server.kill();

	receiver.answer = taken;
	await server.start();
	const again = await receiver.until("its repeat", (one) => one.id === first.id && one.attempt > 1);
	expect(again).toMatchObject({ attempt: 2, notice: first.notice });
	expect(again.isSignedWith(secret)).toBe(true);
	const client = await clientNow();
	expect((await client.webhooks.failed(id)).failed).toEqual(given);
	expect(await client.webhooks.retry(id)).toMatchObject({ retried: 1 });
	await receiver.until("the undelivered event", (one) => one.id === given[0]?.id && one.attempt === 3);
	await eventually("all deliveries", async () => (await client.webhooks.list())[0]?.waiting === 0);

	// Files on disk are private, and secrets are not sent again.
	const file = join(stateDir, "webhooks", `${id}.json`);
	expect((await stat(file)).mode & 0o777).toBe(0o600);
	expect(await readFile(file, "utf8")).toContain(secret);
	expect(JSON.stringify(await client.webhooks.list())).not.toContain(secret);
});

it("events during a crash of the server and a failure of the receiver are delivered once, or as a repeat", {
	timeout: 60_000,
}, async () => {
	const server = new CrashingServer(
		await temporaryDirectory(),
		{},
		{
			// Nothing is given up here.
			webhookTimes: { backoffMs: Array.from({ length: 100 }, () => 20), timeoutMs: 100 },
		},
	);
	onTestFinished(() => server.killAll());
	await server.start();
	const receiver = await WebhookReceiver.start();
	const random = randomOf(19);
	receiver.answer = (...received) => ([refused, silent, taken][random(3)] ?? taken)(...received);
	const token = await server.token();
	const { id } = await connect({ url: server.url, token }).webhooks.create({ url: receiver.url, events: ["failed"] });
	const sessions: string[] = [];
	for (let round = 0; round < 3; round++) {
		const { sessions: here } = connect({ url: server.url, token });
		// Some end before the server does, and some while none runs.
		const scripts = ["exit 1", "sleep 0.05; exit 1", "sleep 0.2; exit 1"];
		const made = await Promise.all(scripts.map((command) => here.create({ command, mode: "pipe" })));
		sessions.push(...made.map((session) => session.id));
		await server.kill();
		await server.start();
	}
	await eventually("all deliveries", async () => {
		const told = new Set(receiver.received.map(({ notice }) => notice.session?.id));
		const [webhook] = await connect({ url: server.url, token }).webhooks.list();
		return told.size === sessions.length && webhook?.waiting === 0;
	});
	expect((await connect({ url: server.url, token }).webhooks.failed(id)).failed).toEqual([]);
	const ids = [...new Set(receiver.received.map((received) => received.id))];
	const byNotice = ids.map((one) => receiver.received.filter((received) => received.id === one));
	// Each event has one delivery, and later ones are marked as repeats.
	expect(byNotice.map(([first]) => first?.notice.session?.id).toSorted()).toEqual(sessions.toSorted());
	for (const received of byNotice) {
		const attempts = received.map(({ attempt }) => attempt);
		expect(attempts).toEqual([...new Set(attempts)].toSorted((a, b) => a - b));
	}
});

it("a stopping server does not wait for a receiver, and the next one continues", async () => {
	const stateDir = await temporaryDirectory();
	const receiver = await WebhookReceiver.start();
	receiver.answer = silent;
	const times = { webhookTimes: { backoffMs: [20], timeoutMs: 60_000 } };
	const server = await start({ stateDir }, times);
	const client = connect({ url: server.url, token: server.adminToken });
	await client.webhooks.create({ url: receiver.url, events: ["failed"] });
	const session = await client.sessions.create(ending(1, "under way"));
	const first = await receiver.until("the notice", about(session, "failed"));
	await server.close();
	receiver.answer = taken;
	await start({ stateDir }, times);
	await receiver.until("its repeat", (one) => one.id === first.id && one.attempt === 2);
	expect(server.problems).toEqual([]);
});
