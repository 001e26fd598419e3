/** The SDK covers everything that HTTP offers. */

import { spawn } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Client, connect, type FeedItem, type SearchMatch, type Session } from "../../../src/client/index.ts";
import { connect as connectLocally } from "../../../src/client/node/index.ts";
import { result } from "../../support/hawser-command.ts";
import { type Started, start } from "../../support/server.ts";

/**
 * The method for each operation. Null for operations that are not for programs. A new operation needs a row and a
 * method.
 */
const methods: Readonly<Record<string, ((client: Client, session: Session) => unknown) | null>> = {
	createSession: ({ sessions }) => sessions.create,
	listSessions: ({ sessions }) => sessions.list,
	getSession: ({ sessions }) => sessions.get,
	deleteSession: (_client, session) => session.remove,
	updateSession: (_client, session) => session.rename,
	listAttached: (_client, session) => session.attached,
	detachAll: (_client, session) => session.detachAll,
	killSession: (_client, session) => session.kill,
	writeInput: (_client, session) => session.write,
	pressKeys: (_client, session) => session.keys,
	typeSecret: (_client, session) => session.secret,
	requestSecret: (_client, session) => session.requestSecret,
	listSecretRequests: ({ secretRequests }) => secretRequests.list,
	giveSecret: ({ secretRequests }) => secretRequests.give,
	refuseSecret: ({ secretRequests }) => secretRequests.refuse,
	resizeTerminal: (_client, session) => session.resize,
	signalProgram: (_client, session) => session.signal,
	endInput: (_client, session) => session.eof,
	takeLease: (_client, session) => session.takeLease,
	releaseLease: (_client, session) => session.releaseLease,
	readOutput: (_client, session) => session.output,
	inspectSession: (_client, session) => session.inspect,
	answerAgent: (_client, session) => session.answer,
	promptAgent: (_client, session) => session.prompt,
	listPrompts: (_client, session) => session.prompts,
	cancelPrompt: (_client, session) => session.cancelPrompt,
	readActivity: (_client, session) => session.activity,
	recordSession: (_client, session) => session.recording,
	importRecording: ({ sessions }) => sessions.importRecording,
	readScreen: (_client, session) => session.screen,
	readScrollback: (_client, session) => session.scrollback,
	sendInput: (_client, session) => session.send,
	runCommand: (_client, session) => session.exec,
	listCommands: (_client, session) => session.commands,
	searchOutput: (_client, session) => session.search,
	attachSession: (_client, session) => session.attach,
	followEvents: (client) => client.events,
	followScreens: (client) => client.screens,
	showScreens: (client) => client.screens().show,
	listWorkspaces: ({ workspaces }) => workspaces.list,
	getWorkspace: ({ workspaces }) => workspaces.get,
	putWorkspace: ({ workspaces }) => workspaces.put,
	deleteWorkspace: ({ workspaces }) => workspaces.remove,
	listTasks: ({ workspaces }) => workspaces.tasks("x").list,
	getTask: ({ workspaces }) => workspaces.tasks("x").get,
	putTask: ({ workspaces }) => workspaces.tasks("x").put,
	deleteTask: ({ workspaces }) => workspaces.tasks("x").remove,
	createWebhook: ({ webhooks }) => webhooks.create,
	listWebhooks: ({ webhooks }) => webhooks.list,
	deleteWebhook: ({ webhooks }) => webhooks.remove,
	adoptWebhook: ({ webhooks }) => webhooks.adopt,
	testWebhook: ({ webhooks }) => webhooks.test,
	listFailedNotices: ({ webhooks }) => webhooks.failed,
	retryNotices: ({ webhooks }) => webhooks.retry,
	listAudit: (client) => client.audit,
	createToken: ({ tokens }) => tokens.create,
	listTokens: ({ tokens }) => tokens.list,
	revokeToken: ({ tokens }) => tokens.revoke,
	listApprovals: ({ approvals }) => approvals.list,
	getApproval: ({ approvals }) => approvals.get,
	decideApproval: ({ approvals }) => approvals.decide,
	createTicket: ({ tickets }) => tickets.create,
	createSignInLink: ({ signInLinks }) => signInLinks.create,
	signInBrowser: (client) => client.signIn,
	signOut: (client) => client.signOut,
	shareSession: (_client, session) => session.links.create,
	listLinks: (_client, session) => session.links.list,
	revokeLink: (_client, session) => session.links.revoke,
	getInfo: (client) => client.info,
	getMe: (client) => client.me,
	getHealth: (client) => client.health,
	getReadiness: (client) => client.isReady,
	getMetrics: (client) => client.metrics,
	getOpenApi: (client) => client.openApi,
	/** The SDK requests it itself for `mustProve`. */
	proveToken: null,
	/** Pages for people. */
	showSignIn: null,
	signIn: null,
};

const clientOf = ({ url, adminToken }: Started) => connect({ url, token: adminToken });

describe("the operations of the API's description", () => {
	it("every operation has an SDK method or a reason for having none", async () => {
		const client = clientOf(await start());
		const { paths } = (await client.openApi()) as { paths: Record<string, Record<string, { operationId: string }>> };
		const described = Object.values(paths).flatMap((operations) =>
			Object.values(operations).map(({ operationId }) => operationId),
		);
		expect(described.toSorted()).toEqual(Object.keys(methods).toSorted());
		for (const [operation, find] of Object.entries(methods)) {
			if (find)
				expect({ operation, method: find(client, client.sessions.at("x")) }).toEqual({
					operation,
					method: expect.any(Function),
				});
		}
	});
});

it("creating a session returns the server's answer, once per key, and await using ends the session", async () => {
	const { sessions } = clientOf(await start());
	let id = "";
	{
		await using session = await sessions.create(
			{ argv: ["cat"], name: "known", durable: false },
			{ idempotencyKey: "once" },
		);
		const again = await sessions.create({ name: "known", argv: ["cat"], durable: false }, { idempotencyKey: "once" });
		expect(session.snapshot).toMatchObject({ id: session.id, name: "known", state: "running" });
		expect(again.id).toBe(session.id);
		expect((await sessions.list({ name: "known", order: "newest" })).map(({ id: one }) => one)).toEqual([session.id]);
		{
			await using attachment = session.attach();
			await attachment.write("x");
		}
		id = session.id;
	}
	await expect(sessions.get(id)).rejects.toMatchObject({ code: "session_not_found" });
});

it("the SDK presses keys, and takes and returns control over HTTP", async () => {
	const { sessions } = clientOf(await start());
	await using session = await sessions.create({ argv: ["cat"], durable: false });
	await session.keys(["text:hello", "Enter"]);
	expect(await session.wait({ match: /hello[\s\S]*hello/ }, { since: 0 })).toMatchObject({ kind: "match" });
	const { fence } = await session.takeLease();
	await expect(session.write("no")).rejects.toMatchObject({ code: "not_writable" });
	await session.write("yes\n", { fence });
	expect(await session.takeLease({ fence, ttlMs: 5_000 })).toMatchObject({ fence });
	expect(await session.releaseLease({ fence })).toMatchObject({ holder: null });
	await session.write("again\n");
	expect(await session.wait({ match: /yes[\s\S]*again/ }, { since: 0 })).toMatchObject({ kind: "match" });
});

it("the SDK finds lines in all output of a session, page after page", async () => {
	const { sessions } = clientOf(await start());
	await using session = await sessions.create({ command: "seq 1 300; echo END", mode: "pipe", durable: false });
	await session.wait({ exit: true });
	const found = async (...[wanted, options]: Parameters<Session["search"]>) => {
		const matches: SearchMatch[] = [];
		for await (const match of session.search(wanted, options)) matches.push(match);
		return matches;
	};
	const numbers = Array.from({ length: 300 }, (_, index) => String(index + 1));
	expect((await found(/^\d+$/)).map(({ text }) => text)).toEqual(numbers);
	const [end] = await found("end", { ignoreCase: true });
	expect(end).toMatchObject({ text: "END", at: [0, 3] });
	expect(await found(/./, { since: (end?.end ?? 0) + 1 })).toEqual([]);
});

it("the SDK follows the feed of all sessions and resumes it", async () => {
	const client = clientOf(await start());
	const controller = new AbortController();
	onTestFinished(() => controller.abort());
	const events = client.events({ signal: controller.signal });
	const first = (await events.next()).value as FeedItem;
	expect(first.kind).toBe("begin");
	const session = await client.sessions.create({ argv: ["true"], durable: false });
	const told: string[] = [];
	for await (const item of events) {
		if (item.kind === "event" && item.event.session.id === session.id) told.push(item.event.type);
		if (told.includes("closed")) break;
	}
	expect(told).toEqual(["created", "exited", "closed"]);
	const later = client.events({ since: first.cursor, signal: controller.signal });
	expect((await later.next()).value).toMatchObject({ kind: "event", event: { type: "created" } });
	await later.return();
	// Leaving the loop disconnects from the server.
	await expect.poll(() => client.metrics()).toContain('hawser_attachments{kind="sse"} 0');
});

it("the SDK covers tokens, tickets, links and the server's own routes", async () => {
	const server = await start();
	const client = clientOf(server);
	const made = await client.tokens.create({ scopes: ["metrics"], name: "numbers" });
	expect((await client.tokens.list()).map(({ id }) => id)).toEqual([made.id]);
	const limited = connect({ url: server.url, token: made.token });
	expect(await limited.metrics()).toContain("hawser_sessions");
	expect(await client.tokens.revoke(made.id)).toEqual({ isDurable: true });
	await expect(client.tokens.revoke(made.id)).rejects.toMatchObject({ code: "not_found" });
	const session = await server.session();
	expect(await client.tickets.create({ session, right: "read" })).toEqual({
		id: expect.stringMatching(/^[0-9a-f]{12}$/),
		ticket: expect.any(String),
		expiresAt: expect.any(Number),
	});
	expect((await client.signInLinks.create()).url).toContain("/signin?code=");
	expect(await client.signOut()).toEqual({ isDurable: true });
	expect(await client.health()).toMatchObject({ status: "ok" });
	expect(await client.isReady()).toBe(true);
});

it("the SDK in Node finds the server of this account through its socket, without an address", async () => {
	const server = await start();
	const id = await server.session();
	const client = connectLocally({ stateDir: server.stateDir });
	expect((await client.sessions.list()).map((session) => session.id)).toEqual([id]);
	await using attachment = client.sessions.at(id).attach();
	await attachment.write("found\n");
	// As a program of another author does it.
	const script = 'import { connect } from "hawser/client"; console.log((await connect().sessions.list()).length)';
	const env = { PATH: process.env.PATH, HAWSER_STATE_DIR: server.stateDir };
	const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env });
	expect(await result(child)).toMatchObject({ stderr: "", stdout: "1\n" });
	await expect(connectLocally({ stateDir: "/nowhere" }).info()).rejects.toMatchObject({ code: "node_unavailable" });
});
