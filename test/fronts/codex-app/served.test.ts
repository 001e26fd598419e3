/** App-server as one of the fronts of `hawser serve`: for those with a token, beside everything else. */

import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { eventually } from "../../helpers/reading.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { start } from "../../server/start.ts";
import { openLink } from "../codex-exec/exec-link.ts";
import { AppClient } from "./app-client.ts";
import { isThere } from "./app-harness.ts";

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

describe("in the server", () => {
	it("runs programs for who may, and they are sessions like any other while they run", async () => {
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

	it("confines a command that asks for it, also from the server's own files", async () => {
		const server = await start();
		const client = await connected(server);
		const sandboxPolicy = { type: "workspaceWrite", writableRoots: [server.stateDir] };
		const inside = client.sh("true", {
			sandboxPolicy: { ...sandboxPolicy, writableRoots: [join(server.stateDir, "x")] },
		});
		expect((await inside).exitCode).toBe(0);
		await expect(client.sh("true", { sandboxPolicy })).rejects.toMatchObject({
			code: -32603,
			message: expect.stringMatching(/^exec failed: .*it is in a directory of the server itself$/),
		});
		const script = `cat ${server.stateDir}/admin-token; echo x > /var/tmp/hawser-new; echo x > $(mktemp) && echo wrote`;
		const { stdout, stderr } = await client.sh(script, { sandboxPolicy: { type: "workspaceWrite" } });
		expect(stdout).toBe("wrote\n");
		expect(stderr).toMatch(/Permission denied\n.*Read-only file system\n$/);
		// Who says nothing has what every other front gives.
		expect((await client.sh(`cat ${server.stateDir}/admin-token`)).stdout.trim()).toBe(server.adminToken);
		expect([...server.problems, ...client.violations]).toEqual([]);
	});

	it("asks for a token that may manage, and for an upgrade", async () => {
		const server = await start();
		expect(await refusalOf(server, {})).toBe(401);
		expect(await refusalOf(server, bearer("wrong"))).toBe(401);
		expect(await refusalOf(server, bearer(await server.token("workspace:default:operate")))).toBe(403);
		expect(await refusalOf(server, bearer(await server.token("workspace:other:manage")))).toBe(403);
		expect((await server.request(PATH)).status).toBe(400);
		const client = await connected(server, await server.token("workspace:default:manage"));
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
	});

	it("ends a connection whose token is revoked, with all that it started", async () => {
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

	it("counts what is started, and refuses what is too much", async () => {
		const server = await start({ createRate: "1" });
		const client = await connected(server, await server.token("workspace:default:manage"));
		const starts = await Promise.allSettled(Array.from({ length: 12 }, () => client.exec(["true"])));
		expect(starts.find(({ status }) => status === "rejected")).toMatchObject({
			reason: { code: -32603, message: expect.stringMatching(/^failed to spawn command: too much was made/) },
		});
	});

	it("ends everything when the server closes", async () => {
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
