import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { main, type Result, result } from "./hawser.ts";

/** What `ls` makes of a server that answers like this. */
async function lsOf(listener: RequestListener): Promise<Result> {
	const server = createServer(listener);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const env = { ...process.env, HAWSER_STATE_DIR: await temporaryDirectory() };
	return result(spawn(process.execPath, [main, "ls", "--url", url], { env, stdio: ["ignore", "pipe", "pipe"] }));
}

it("a command gives up when its server does not even answer whether it is there", async () => {
	const { code, stderr } = await lsOf(() => {});
	expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("does not answer any more") });
});

it("a command ends with its answer, though it had asked how the server is", async () => {
	let answer = () => {};
	const { code, stderr } = await lsOf((request, response) => {
		if (request.url === "/healthz") {
			// First what was really asked for, then this.
			answer();
			setImmediate(() => response.end('{"status":"ok"}'));
			return;
		}
		answer = () => response.end('{"sessions":[],"next":null}');
	});
	expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("no session is running") });
});
