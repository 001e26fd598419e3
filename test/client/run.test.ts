/** client.run: one program from start to end. */

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../support/native-server.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
// A run leaves nothing on the server, whatever happens.
afterEach(() => expect(server.sessions.list()).toEqual([]));
afterAll(() => server.close());

it("run returns stdout and stderr separately, and the exit", async () => {
	expect(await client.run({ command: "echo out; echo err >&2; exit 3" })).toEqual({
		stdout: "out\n",
		stderr: "err\n",
		exit: { code: 3, signal: null },
		isTruncated: false,
	});
});

it("run sends all of the input and its end", async () => {
	const input = "ü".repeat(300_000);
	expect(await client.run({ argv: ["cat"] }, { input })).toMatchObject({ stdout: input, exit: { code: 0 } });
	expect(await client.run({ argv: ["true"] }, { input })).toMatchObject({ stdout: "", exit: { code: 0 } });
	expect(await client.run({ argv: ["cat"] })).toMatchObject({ stdout: "", exit: { code: 0 } });
});

it("run kills a program that writes too much or takes too long, and reports that", async () => {
	const flood = await client.run({ argv: ["yes"] }, { maxBytes: 1001 });
	expect(flood).toMatchObject({ isTruncated: true, exit: { reason: "killed" } });
	expect(flood.stdout.length).toBe(1001);
	const slow = await client.run({ argv: ["sleep", "60"], timeoutMs: 50 });
	expect(slow).toMatchObject({ isTruncated: false, exit: { reason: "timeout" } });
});

it("run ends when its signal is aborted, at any time", async () => {
	await expect(client.run({ argv: ["true"] }, { signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow(
		"early",
	);
	const controller = new AbortController();
	const running = client.run({ command: "echo begun; exec sleep 60" }, { signal: controller.signal });
	await expect.poll(async () => (await server.sessions.list()[0]?.info())?.offsets.end).toBe(6);
	controller.abort(new Error("enough"));
	await expect(running).rejects.toThrow("enough");
});

it("run reports why a program could not start", async () => {
	await expect(client.run({ argv: ["/no/such/program"] })).rejects.toMatchObject({ code: "spawn_failed" });
});
