/** The transport of messages, and what is sent around them (contract §1). */

import { once } from "node:events";
import { link, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startAppServer } from "../../../../src/server/dropins/codex-app.ts";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { linkOf, openLink, openSocket } from "../codex-exec/support/exec-link.ts";
import { AppClient, RpcFailure } from "./support/app-client.ts";
import { isThere, startApp, startStdioApp } from "./support/app-harness.ts";

const clientInfo = { name: "lab", title: "Lab", version: "0.0.1" };

it("an unreadable message is skipped, and a client that sends nothing else is disconnected", async () => {
	const client = await (await startApp({ limits: { malformedMessages: 3 } })).client();
	for (const nonsense of ["{", "[]", "1"]) client.send(nonsense);
	expect(await client.exec(["echo", "hi"])).toMatchObject({ stdout: "hi\n" });
	client.send("{");
	await client.disconnected();
});

describe("the handshake", () => {
	it("the handshake answers with the server's name and version as clients parse them", async () => {
		const client = await (await startApp()).stranger();
		const answer = (await client.request("initialize", { clientInfo, extensions: 1 })) as Record<string, string>;
		expect(answer).toEqual({
			userAgent: expect.stringMatching(/^lab\/\d+\.\d+\.\d+\S* \([^;]+; \w+\) \S+ \(lab; 0\.0\.1\)$/),
			codexHome: expect.stringMatching(/^\//),
			platformFamily: "unix",
			platformOs: "linux",
		});
	});

	it("the next request may be sent before the handshake is answered", async () => {
		const client = await (await startApp()).stranger();
		const answers = [client.request("initialize", { clientInfo }), client.exec(["echo", "hi"])];
		expect((await Promise.all(answers))[1]).toMatchObject({ stdout: "hi\n" });
	});

	it("parameters are checked before the handshake, and everything else after it", async () => {
		const client = await (await startApp()).stranger();
		const refused = (message: string) => new RpcFailure(-32600, message);
		await expect(client.request("process/kill", { processHandle: "x" })).rejects.toEqual(refused("Not initialized"));
		await expect(client.request("process/kill", {})).rejects.toEqual(
			refused("Invalid request: missing field `processHandle`"),
		);
		await expect(client.request("thread/start", {})).rejects.toMatchObject({
			code: -32600,
			message: expect.stringMatching(
				/^Invalid request: unknown variant `thread\/start`, expected one of `initialize`, /,
			),
		});
	});

	it("the handshake enables experimental methods only on request", async () => {
		const app = await startApp();
		const client = await app.client();
		const calls: [string, object, string][] = [
			["process/spawn", { command: ["true"], processHandle: "x", cwd: "/" }, "process/spawn"],
			["process/writeStdin", { processHandle: "x" }, "process/writeStdin"],
			["process/resizePty", { processHandle: "x", size: { rows: 1, cols: 1 } }, "process/resizePty"],
			["process/kill", { processHandle: "x" }, "process/kill"],
			["command/exec", { command: ["true"], permissionProfile: ":read-only" }, "command/exec.permissionProfile"],
		];
		for (const [method, params, what] of calls)
			await expect(client.request(method, params)).rejects.toEqual(
				new RpcFailure(-32600, `${what} requires experimentalApi capability`),
			);
		await (await app.client({ experimentalApi: true })).spawn("x", ["true"]);
	});

	it("a client can opt out of notifications, which are then dropped", async () => {
		const app = await startApp();
		const client = await app.client({
			experimentalApi: true,
			optOutNotificationMethods: ["command/exec/outputDelta", "process/exited", "no/such"],
		});
		const streamed = { processId: "p", streamStdoutStderr: true };
		expect(await client.exec(["echo", "hi"], streamed)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
		await client.spawn("h", ["echo", "hi"], { streamStdoutStderr: true });
		await client.until(() => client.handleDeltas("h").text() === "hi\n" || undefined);
		// Its name is free again, so it has ended.
		await eventually("its end", () =>
			client.spawn("h", ["true"]).then(
				() => true,
				() => false,
			),
		);
		expect(client.messages.map(({ method }) => method).filter(Boolean)).toEqual(["process/outputDelta"]);
	});
});

describe("messages", () => {
	it("requests with the same id are independent, on one connection and on two", async () => {
		const app = await startApp();
		const [one, two] = [await app.client(), await app.client()];
		const answers = [one, two, one].map((client, i) =>
			client.request("command/exec", { command: ["echo", String(i)] }, "same"),
		);
		const texts = ((await Promise.all(answers)) as { stdout: string }[]).map(({ stdout }) => stdout.trim());
		expect(texts[1]).toBe("1");
		expect(texts.sort()).toEqual(["0", "1", "2"]);
	});

	it("an id keeps all its digits", async () => {
		const socket = await openSocket((await startApp()).url);
		socket.send('{"id":9223372036854775807,"method":"no/such"}');
		const [data] = (await once(socket, "message")) as [Buffer];
		expect(data.toString()).toMatch(/"id":9223372036854775807\}$/);
		socket.terminate();
	});

	it("binary messages, two messages in one frame, and empty messages are skipped", async () => {
		const app = await startApp();
		const socket = await openSocket(app.url);
		const client = await new AppClient(linkOf(socket)).initialize();
		socket.send(Buffer.from('{"id":7,"method":"command/exec","params":{"command":["true"]}}'), { binary: true });
		socket.send('{"id":8,"method":"command/exec","params":{"command":["true"]}}{"id":9,"method":"x"}');
		for (const text of ["", "x", "[]", "null", '{"id":null,"method":"x"}', '{"id":1.5,"method":"x"}', '{"id":5}'])
			socket.send(text);
		await client.request("no/such").catch(() => {});
		expect(client.messages).toHaveLength(2);
		expect(client.violations).toEqual([]);
		socket.terminate();
	});

	it("requests above the queue limit are refused as overload, except those that end a program", async () => {
		// Not on a WebSocket, where the server may act between two messages that arrived together.
		const client = await startStdioApp({ limits: { waitingRequests: 2, queuedActs: 1 } }).client.initialize();
		const start = client.exec(["cat"], { processId: "p", streamStdin: true, disableTimeout: true });
		const writes = Array.from({ length: 6 }, () => client.write("p", "x"));
		const ends = Promise.allSettled(writes);
		const terminated = client.terminate("p");
		const refusal = new RpcFailure(-32001, "Server overloaded; retry later.");
		await expect(writes[5]).rejects.toEqual(refusal);
		expect(await terminated).toEqual({});
		expect((await start).exitCode).toBe(137);
		// The overload ends as well.
		expect((await ends).map(({ status }) => status)).toContain("fulfilled");
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
	});
});

describe("the WebSocket of app-server", () => {
	it("the WebSocket server answers health checks, refuses every origin, and accepts any path", async () => {
		const app = await startApp();
		for (const path of ["/readyz", "/healthz"]) {
			const answer = await fetch(app.httpUrl + path);
			expect([answer.status, await answer.text()]).toEqual([200, ""]);
			expect((await fetch(app.httpUrl + path, { headers: { origin: "http://x" } })).status).toBe(403);
		}
		expect((await fetch(`${app.httpUrl}/else`)).status).toBe(400);
		for (const method of ["POST", "HEAD"]) expect((await fetch(`${app.httpUrl}/else`, { method })).status).toBe(405);
		for (const path of ["", "/", "/any/path?x=y"]) {
			const client = new AppClient(await openLink(app.url + path));
			await client.initialize();
			client.cut();
		}
		const socket = new WebSocket(app.url, { headers: { origin: "http://127.0.0.1" } });
		socket.on("error", () => {});
		const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
		expect(response.statusCode).toBe(403);
	});

	it("I-14: small messages are sent at once, and a ping is answered", async () => {
		const app = await startApp();
		const socket = await openSocket(app.url);
		const client = await new AppClient(linkOf(socket)).initialize();
		socket.ping();
		await once(socket, "pong");
		const answer = client.exec(["cat"], { processId: "c", streamStdin: true, streamStdoutStderr: true });
		const times: number[] = [];
		for (let i = 0; i < 30; i++) {
			const begin = performance.now();
			const write = client.write("c", `${i};`);
			await client.output("c", `${i};`);
			times.push(performance.now() - begin);
			await write;
		}
		await client.write("c", null, true);
		await answer;
		// Nagle's algorithm with delayed acknowledgements would take about 40 ms each. On a busy machine most may take
		// that long.
		expect(times.sort((a, b) => a - b)[5]).toBeLessThan(20);
		socket.terminate();
	});
});

describe("the Unix socket of app-server", () => {
	const options = { policy: { type: "dangerFullAccess" }, report: () => {} } as const;

	async function open(path: string): Promise<AppClient> {
		const client = new AppClient(await openLink(`ws+unix://${path}:/`));
		await client.initialize();
		return client;
	}

	it("a Unix socket without an existing directory is refused, and no directory is created", async () => {
		const directory = join(await temporaryDirectory(), "below");
		const start = startAppServer({ kind: "unix", path: join(directory, "app.sock") }, options);
		const message = `cannot create the socket ${join(directory, "app.sock")}: no such directory`;
		await expect(start).rejects.toMatchObject({ code: "invalid_argument", message });
		await expect(stat(directory)).rejects.toThrow("ENOENT");
	});

	it("a Unix socket is accessible to its owner only, and removed at the end", async () => {
		const path = join(await temporaryDirectory(), "app.sock");
		const server = await startAppServer({ kind: "unix", path }, options);
		expect(server.url).toBe(`unix://${path}`);
		expect((await stat(path)).mode & 0o777).toBe(0o600);
		const client = await open(path);
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
		await server.close();
		await client.disconnected();
		await expect(stat(path)).rejects.toThrow("ENOENT");
	});

	it("a Unix socket replaces a dead one, and no live one", async () => {
		const directory = await temporaryDirectory();
		const path = join(directory, "app.sock");
		const other = createServer((socket: Socket) => socket.end()).listen(join(directory, "other.sock"));
		await once(other, "listening");
		// Node removes only the name that it knows. The second one remains, as after a crash.
		await link(join(directory, "other.sock"), path);
		await expect(startAppServer({ kind: "unix", path }, options)).rejects.toMatchObject({ code: "session_exists" });
		await new Promise((resolve) => other.close(resolve));
		const server = await startAppServer({ kind: "unix", path }, options);
		(await open(path)).cut();
		await server.close();
		await writeFile(path, "no socket");
		await expect(startAppServer({ kind: "unix", path }, options)).rejects.toThrow("EADDRINUSE");
		expect(await readFile(path, "utf8")).toBe("no socket");
	});
});

describe("app-server on stdio", () => {
	it.each(["the end of its input", "the end of its reader", "a signal"])("%s ends everything on stdio", async (how) => {
		const app = startStdioApp();
		const { client } = app;
		await client.initialize();
		const params = { processId: "p", streamStdoutStderr: true, disableTimeout: true };
		client.sh("trap '' HUP TERM; echo $$; sleep 1000; sleep 1000", params).catch(() => {});
		const pid = Number((await client.output("p", "\n")).trim());
		const messages = client.messages.length;
		if (how === "a signal") app.stop();
		else if (how === "the end of its reader") app.output.destroy(new Error("EPIPE"));
		else app.input.end();
		await app.ended;
		expect(isThere(pid)).toBe(false);
		// No client is left to learn how it ended.
		expect(client.messages).toHaveLength(messages);
	});

	it("a signal before the server is ready ends it", async () => {
		const app = startStdioApp();
		app.stop();
		await app.ended;
	});

	it("an unreadable line is skipped, and the next one is processed", async () => {
		const { client, input } = startStdioApp();
		await client.initialize();
		input.write("\n{not json\n  \r\n[1,2]\n");
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
		expect(client.messages).toHaveLength(2);
	});
});
