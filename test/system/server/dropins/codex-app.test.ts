/** App-server as a front of `hawser serve`: for callers with a token, beside all other fronts. */

import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../../../src/server/config.ts";
import { type Server, startServer } from "../../../../src/server/server.ts";
import { AppClient } from "../../../fronts/dropins/codex-app/support/app-client.ts";
import { isThere } from "../../../fronts/dropins/codex-app/support/app-harness.ts";
import { openLink } from "../../../fronts/dropins/codex-exec/support/exec-link.ts";
import { eventually } from "../../../support/reading.ts";
import { start } from "../../../support/server.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

const PATH = "/codex/app-server";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const urlOf = ({ url }: Server) => `${url.replace("http", "ws")}${PATH}`;

async function connected(server: Server, token = server.adminToken): Promise<AppClient> {
	return new AppClient(await openLink(urlOf(server), bearer(token))).initialize({ experimentalApi: true });
}

async function refusalOf(server: Server, headers: Record<string, string>): Promise<number | undefined> {
	const socket = new WebSocket(urlOf(server), { headers });
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
	return response.statusCode;
}

describe("Codex app-server in the server", () => {
	it("app-server runs programs for managers, as ordinary sessions while they run", async () => {
		const server = await start();
		const client = await connected(server);
		const answer = client.sh('read x; echo "$x:$SECRET"', { processId: "my-process", streamStdin: true });
		await client.write("my-process", "");
		const listed = async () => {
			const { sessions } = (await (await server.request("/v1/sessions")).json()) as { sessions: object[] };
			return sessions;
		};
		expect(await listed()).toMatchObject([
			{ labels: { "codex.process": "my-process" }, durable: false, mode: "pipe", workspace: "default" },
		]);
		await client.write("my-process", "hi\n");
		expect((await answer).stdout).toBe("hi:\n");
		await eventually("nothing to be listed", async () => (await listed()).length === 0);
		expect([...server.problems, ...client.violations]).toEqual([]);
	});

	it("app-server confines a command on request, also from the server's own files", async () => {
		const server = await start();
		const client = await connected(server);
		const sandboxPolicy = { type: "workspaceWrite", writableRoots: [server.stateDir] };
		const inside = client.sh("true", {
			sandboxPolicy: { ...sandboxPolicy, writableRoots: [join(server.stateDir, "x")] },
		});
		expect((await inside).exitCode).toBe(0);
		await expect(client.sh("true", { sandboxPolicy })).rejects.toMatchObject({
			code: -32603,
			message: expect.stringMatching(/^exec failed: .*it is in a directory of the server$/),
		});
		const script = `cat ${server.stateDir}/admin-token; echo x > /var/tmp/hawser-new; echo x > $(mktemp) && echo wrote`;
		const { stdout, stderr } = await client.sh(script, { sandboxPolicy: { type: "workspaceWrite" } });
		expect(stdout).toBe("wrote\n");
		expect(stderr).toMatch(/Permission denied\n.*Read-only file system\n$/);
		// A command without a sandbox policy gets what all other fronts give.
		expect((await client.sh(`cat ${server.stateDir}/admin-token`)).stdout.trim()).toBe(server.adminToken);
		expect([...server.problems, ...client.violations]).toEqual([]);
	});

	it("app-server requires a token with manage rights, and an upgrade", async () => {
		const server = await start();
		expect(await refusalOf(server, {})).toBe(401);
		expect(await refusalOf(server, bearer("wrong"))).toBe(401);
		expect(await refusalOf(server, bearer(await server.token("workspace:default:operate")))).toBe(403);
		expect(await refusalOf(server, bearer(await server.token("workspace:other:manage")))).toBe(403);
		expect((await server.request(PATH)).status).toBe(400);
		const client = await connected(server, await server.token("workspace:default:manage"));
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
	});

	it("app-server closes the connection of a revoked token with everything it started", async () => {
		const server = await start();
		const { body } = await server.post("/v1/tokens", { scopes: ["workspace:default:manage"] });
		const client = await connected(server, body.token);
		client.sh("echo $$; exec sleep 1000", { processId: "p", streamStdoutStderr: true }).catch(() => {});
		const pid = Number((await client.output("p", "\n")).trim());
		const { tokens } = (await (await server.request("/v1/tokens")).json()) as { tokens: { id: string }[] };
		await server.request(`/v1/tokens/${tokens[0]?.id}`, { method: "DELETE" });
		await client.disconnected();
		await eventually("its end", () => !isThere(pid));
	});

	it("app-server counts starts and refuses those above the limit", async () => {
		const server = await start({ createRate: "1" });
		const client = await connected(server, await server.token("workspace:default:manage"));
		const starts = await Promise.allSettled(Array.from({ length: 12 }, () => client.exec(["true"])));
		expect(starts.find(({ status }) => status === "rejected")).toMatchObject({
			reason: { code: -32603, message: expect.stringMatching(/^failed to spawn command: rate limit exceeded/) },
		});
	});

	it("app-server ends everything when the server closes", async () => {
		const problems: unknown[] = [];
		const config = loadConfig({ port: "0", spares: "0", stateDir: await temporaryDirectory() }, {});
		const server = await startServer(config, { report: (problem) => problems.push(problem) });
		const client = await connected(server);
		client.sh("echo $$; exec sleep 1000", { processId: "p", streamStdoutStderr: true }).catch(() => {});
		const pid = Number((await client.output("p", "\n")).trim());
		await Promise.all([server.close(), server.close(), client.disconnected()]);
		expect(isThere(pid)).toBe(false);
		expect([...problems, ...client.violations]).toEqual([]);
	});
});
