import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { it, type TestContext } from "vitest";
import { main, type Result, result } from "./hawser.ts";

/** What `ls` makes of a server that answers like this. */
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

// At once: both only wait.
it.concurrent("a command gives up when its server does not even answer whether it is there", async (context) => {
	const { code, stderr } = await lsOf(() => {}, context);
	context
		.expect({ code, stderr })
		.toEqual({ code: 1, stderr: context.expect.stringContaining("does not answer any more") });
});

it.concurrent("a command ends with its answer, though it had asked how the server is", async (context) => {
	let answer = () => {};
	const { code, stderr } = await lsOf((request, response) => {
		if (request.url === "/healthz") {
			// First what was really asked for, then this.
			answer();
			setImmediate(() => response.end('{"status":"ok"}'));
			return;
		}
		answer = () => response.end('{"sessions":[],"next":null}');
	}, context);
	context
		.expect({ code, stderr })
		.toEqual({ code: 0, stderr: context.expect.stringContaining("no session is running") });
});
