/** Another program takes the port of a server that died, and waits for the operator's commands. */

import { once } from "node:events";
import { chown, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { result, TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeEach(async () => {
	hawser = await TestHawser.create();
});
afterEach(() => hawser.remove());

type Announced = { readonly url: string; readonly socket: string };

async function announced(): Promise<Announced> {
	return JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as Announced;
}

/** Answers every request on the port of a dead server. Returns the requests it has received. */
async function impersonate(url: string): Promise<{ readonly heard: string[] }> {
	const heard: string[] = [];
	const server = createServer((request, response) => {
		heard.push(`${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)}`);
		response.setHeader("content-type", "application/json");
		response.end('{"status":"ok","version":"0.1.0","sessions":[],"next":null}');
	});
	server.on("upgrade", (request, socket) => {
		heard.push(`UPGRADE ${request.url} ${JSON.stringify(request.rawHeaders)}`);
		socket.destroy();
	});
	server.listen(Number(new URL(url).port), "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return { heard };
}

it("commands and reconnecting clients reveal nothing to a program on the port of a dead server", async () => {
	const { url } = await announced();
	const { stdout } = await hawser.run(["run", "--detach", "--", "sh", "-c", "echo ready; read x; echo $x"]);
	const id = stdout.trim();
	const following = hawser.start(["logs", "-f", id]);
	const followed = result(following);
	if (!following.stdout || !following.stderr) throw new Error("no pipes");
	await once(following.stdout, "data");
	const noticed = once(following.stderr, "data");
	const terminal = await Terminal.start(hawser, ["attach", "--view", id]);
	await terminal.shows("ready");
	await hawser.stopServer("SIGKILL");
	const { heard } = await impersonate(url);
	await noticed;
	await terminal.shows("server unreachable");
	for (const args of [["ls"], ["send", id, "secret"], ["token", "ls"], ["doctor"]]) {
		await hawser.run(args, { env: { NO_COLOR: "1" } });
	}
	// Also with a given address, because only the token was found.
	await hawser.run(["ls"], { env: { HAWSER_URL: url } });
	expect(heard.join("\n")).not.toMatch(/authorization/i);
	// The real server is back on another port. The waiting command continues with it.
	await hawser.startServer();
	expect((await hawser.run(["send", id, "it", "--enter"])).code).toBe(0);
	await terminal.shows("it\r\nit\r\n");
	expect((await followed).stdout).toMatch(/^ready\r\n(it\r\n){2}$/);
	expect(heard.join("\n")).not.toMatch(/authorization/i);
});

it("the server's socket is accessible to its owner only, and is removed with the server", async () => {
	const { socket } = await announced();
	expect((await stat(socket)).mode & 0o777).toBe(0o600);
	// A server that has answered a command also handles signals.
	expect((await hawser.run(["ls"])).code).toBe(0);
	expect(await hawser.stopServer("SIGTERM")).toBe(0);
	await expect(stat(socket)).rejects.toMatchObject({ code: "ENOENT" });
	await hawser.startServer();
	expect((await announced()).socket).toBe(socket);
});

it("commands do not use a socket that belongs to another user", async () => {
	const { socket } = await announced();
	await chown(socket, 65_534, 65_534);
	const { code, stderr } = await hawser.run(["ls"]);
	expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("belongs to another user") });
	await rm(socket);
	expect(await hawser.run(["ls"])).toMatchObject({ code: 1, stderr: expect.stringContaining("no server") });
	await hawser.stopServer("SIGKILL");
	await hawser.startServer();
});
