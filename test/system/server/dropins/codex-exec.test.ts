/** Exec-server as a front of `hawser serve`: for callers with a token, beside all other fronts. */

import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../../../src/server/config.ts";
import { type Server, startServer } from "../../../../src/server/server.ts";
import { ExecClient, RpcFailure } from "../../../fronts/dropins/codex-exec/support/exec-client.ts";
import { sh } from "../../../fronts/dropins/codex-exec/support/exec-harness.ts";
import { type Link, openLink } from "../../../fronts/dropins/codex-exec/support/exec-link.ts";
import { start } from "../../../support/server.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

const PATH = "/codex/exec-server";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function link(server: Server, token: string): Promise<Link> {
	return openLink(`${server.url.replace("http", "ws")}${PATH}`, bearer(token));
}

async function connected(server: Server, token = server.adminToken): Promise<ExecClient> {
	const client = new ExecClient(await link(server, token));
	await client.handshake();
	return client;
}

async function refusalOf(server: Server, headers: Record<string, string>): Promise<number | undefined> {
	const socket = new WebSocket(`${server.url.replace("http", "ws")}${PATH}`, { headers });
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
	return response.statusCode;
}

describe("Codex exec-server in the server", () => {
	it("exec-server runs programs for managers, as ordinary sessions", async () => {
		const server = await start();
		const client = await connected(server);
		const log = await client.start("my-process", sh("read x; echo $x"), { pipeStdin: true });
		const listed = await server.request("/v1/sessions");
		const { sessions } = (await listed.json()) as { sessions: Record<string, unknown>[] };
		expect(sessions).toMatchObject([
			{ labels: { "codex.process": "my-process" }, durable: false, mode: "pipe", workspace: "default" },
		]);
		await client.write("my-process", "hi\n", "1");
		expect((await log.closed()).text()).toBe("hi\n");
		expect([...server.problems, ...client.violations]).toEqual([]);
	});

	it("exec-server loses no input when another client guesses its sequence numbers", async () => {
		const server = await start();
		const client = await connected(server);
		const log = await client.start("p", sh("cat"), { pipeStdin: true });
		const { sessions } = (await (await server.request("/v1/sessions")).json()) as { sessions: { id: string }[] };
		const headers = { "idempotency-key": "codex:0", "content-type": "application/octet-stream" };
		const planted = await server.request(`/v1/sessions/${sessions[0]?.id}/input`, {
			method: "POST",
			headers: { authorization: `Bearer ${server.adminToken}`, ...headers },
			body: "12345",
		});
		expect(planted.status).toBe(200);
		await client.write("p", "hello\n", "1");
		expect((await log.output("\n")).text()).toBe("12345hello\n");
	});

	it("exec-server requires a token with manage rights, and an upgrade", async () => {
		const server = await start();
		expect(await refusalOf(server, {})).toBe(401);
		expect(await refusalOf(server, bearer("wrong"))).toBe(401);
		expect(await refusalOf(server, bearer(await server.token("workspace:default:operate")))).toBe(403);
		expect(await refusalOf(server, bearer(await server.token("workspace:other:manage")))).toBe(403);
		expect((await server.request(PATH)).status).toBe(400);
		const client = await connected(server, await server.token("workspace:default:manage"));
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it("exec-server refuses to resume the session of another token", async () => {
		const server = await start();
		const owner = await connected(server, await server.token("workspace:default:manage"));
		const other = new ExecClient(await link(server, server.adminToken));
		await expect(other.handshake(owner.sessionId)).rejects.toEqual(
			new RpcFailure(-32600, `unknown session id ${owner.sessionId}`),
		);
	});

	it("exec-server closes the connection of a revoked token", async () => {
		const server = await start();
		const { body } = await server.post("/v1/tokens", { scopes: ["workspace:default:manage"] });
		const client = await connected(server, body.token);
		const { tokens } = (await (await server.request("/v1/tokens")).json()) as { tokens: { id: string }[] };
		await server.request(`/v1/tokens/${tokens[0]?.id}`, { method: "DELETE" });
		await client.disconnected();
	});

	it("exec-server counts starts and refuses those above the limit", async () => {
		const server = await start({ createRate: "1" });
		const client = await connected(server, await server.token("workspace:default:manage"));
		// One after the other, until there were more than one per second, however long each takes.
		const startAll = async () => {
			for (let i = 0; ; i++) await client.start(`p${i}`, ["true"]);
		};
		await expect(startAll()).rejects.toMatchObject({
			code: -32603,
			message: expect.stringContaining("rate limit exceeded"),
		});
		const limited = await start({ maxSessions: "1" });
		const two = await connected(limited);
		await two.start("one", ["cat"], { pipeStdin: true });
		await expect(two.start("two", ["cat"])).rejects.toMatchObject({
			code: -32603,
			message: "too many sessions are running (limit 1)",
		});
	});

	it("exec-server ends everything when the server closes", async () => {
		const problems: unknown[] = [];
		const config = loadConfig({ port: "0", spares: "0", stateDir: await temporaryDirectory() }, {});
		const server = await startServer(config, { report: (problem) => problems.push(problem) });
		const client = await connected(server);
		const log = await client.start("p", sh("echo $$; exec sleep 30"));
		const pid = Number((await log.output("\n")).text());
		await Promise.all([server.close(), server.close(), client.disconnected()]);
		expect(() => process.kill(pid, 0)).toThrow("ESRCH");
		expect([...problems, ...client.violations]).toEqual([]);
	});
});
