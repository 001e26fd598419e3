import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { it, type TestContext } from "vitest";
import { main, type Result, result } from "../../support/hawser-command.ts";

/** The output of `ls` against a server that answers like this. */
async function lsOf(listener: RequestListener, { onTestFinished }: TestContext): Promise<Result> {
	const server = createServer(listener);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const env = { ...process.env, HAWSER_STATE_DIR: "/nowhere" };
	return result(spawn(process.execPath, [main, "ls", "--url", url], { env, stdio: ["ignore", "pipe", "pipe"] }));
}

// Concurrent, because both only wait.
it.concurrent("a command gives up when its server does not answer a health check", async (context) => {
	const { code, stderr } = await lsOf(() => {}, context);
	context.expect({ code, stderr }).toEqual({ code: 1, stderr: context.expect.stringContaining("is not responding") });
});

it.concurrent("a command exits with its answer although a health check was sent", async (context) => {
	let answer = () => {};
	const { code, stderr } = await lsOf((request, response) => {
		if (request.url === "/healthz") {
			// Answers the actual request first, then the health check.
			answer();
			setImmediate(() => response.end('{"status":"ok"}'));
			return;
		}
		answer = () => response.end('{"sessions":[],"next":null}');
	}, context);
	context.expect({ code, stderr }).toEqual({ code: 0, stderr: context.expect.stringContaining("no running session") });
});
