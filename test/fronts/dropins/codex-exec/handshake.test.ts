import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ExecClient, startParams } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";
import { openLink } from "./support/exec-link.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let exec: Exec;
let raw: ExecClient;
beforeEach(async () => {
	exec = await startExec();
	raw = exec.watch(new ExecClient(await openLink(exec.url)));
});
afterEach(() => raw.cut());

const initialize = (client: ExecClient, params: object = {}) =>
	client.request("initialize", { clientName: "t", ...params });

describe("the handshake", () => {
	it("I1: initialize returns a UUID and the answer of environment/info", async () => {
		const answer = (await initialize(raw)) as { sessionId: string; environmentInfo: unknown };
		expect(answer.sessionId).toMatch(UUID);
		raw.notify("initialized");
		expect(await raw.request("environment/info")).toEqual(answer.environmentInfo);
	});

	it("I2: methods before initialize and before initialized give the two errors, in the order of the wire", async () => {
		const concurrent = await startExec({ concurrency: 32 });
		const client = concurrent.watch(new ExecClient(await openLink(concurrent.url)));
		const outcomes = [
			client.request("environment/info"),
			initialize(client),
			client.request("environment/info"),
			client.request("process/terminate", { processId: "p" }),
		].map((answer) => answer.catch((error: Error) => error));
		client.notify("initialized");
		const [before, , early, exec] = await Promise.all(outcomes);
		expect(before).toMatchObject({
			code: -32600,
			message: "client must call initialize before using environment info methods",
		});
		expect(early).toMatchObject({
			code: -32600,
			message: "client must send initialized before using environment info methods",
		});
		expect(exec).toMatchObject({ code: -32600, message: "client must send initialized before using exec methods" });
		expect(client.messages.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it.each([
		["process/start", startParams("p", ["true"]), "exec"],
		["process/read", { processId: "p" }, "exec"],
		["environment/info", undefined, "environment info"],
		["environment/status", null, "environment status"],
		["fs/getMetadata", { path: "file:///tmp" }, "filesystem"],
	])("the refusal of %s names its method family", async (method, params, family) => {
		await expect(raw.request(method, params)).rejects.toMatchObject({
			code: -32600,
			message: `client must call initialize before using ${family} methods`,
		});
	});

	it("H2, H3: environment/info and environment/status refuse parameters", async () => {
		await raw.handshake();
		for (const none of [undefined, null, {}]) {
			expect(await raw.request("environment/status", none)).toEqual({ status: "ready" });
			expect(await raw.request("environment/info", none)).toMatchObject({
				shell: { name: expect.stringMatching(/^(ba|z)?sh$/), path: expect.stringMatching(/^\//) },
				cwd: `file://${process.cwd()}`,
				capabilities: { networkProxyLaunch: false, environmentConfigRead: false, shellSnapshotV2: false },
			});
		}
		for (const some of [{ a: 1 }, [], "x"])
			await expect(raw.request("environment/status", some)).rejects.toMatchObject({ code: -32602 });
	});

	it("parameters are checked before the handshake, and the method name before both", async () => {
		await expect(raw.request("process/read", {})).rejects.toMatchObject({ code: -32602 });
		await expect(raw.request("no/such", {})).rejects.toMatchObject({
			code: -32601,
			message: "exec-server stub does not implement `no/such` yet",
		});
		await expect(raw.request("initialize", {})).rejects.toMatchObject({ code: -32602 });
	});

	it("the handshake happens once per connection, but a failed one may be repeated", async () => {
		await expect(initialize(raw, { resumeSessionId: "unknown" })).rejects.toMatchObject({
			code: -32600,
			message: "unknown session id unknown",
		});
		await initialize(raw, { resumeSessionId: null });
		await expect(initialize(raw)).rejects.toMatchObject({
			code: -32600,
			message: "initialize may only be sent once per connection",
		});
		raw.notify("initialized");
		raw.notify("initialized", { again: true });
		expect(await raw.request("environment/status")).toEqual({ status: "ready" });
	});

	it("T4: an attached session can't be resumed, and its client is not disturbed", async () => {
		const holder = await exec.client();
		await expect(initialize(raw, { resumeSessionId: holder.sessionId })).rejects.toMatchObject({
			code: -32010,
			message: `session ${holder.sessionId} is already attached to another connection`,
		});
		expect(await holder.request("environment/status")).toEqual({ status: "ready" });
		// The same connection may retry until the session is free.
		holder.cut();
		for (let answer: unknown; !answer; )
			answer = await initialize(raw, { resumeSessionId: holder.sessionId }).catch(() => undefined);
	});

	it("T3: an old connection has no access to a session that another one resumed", async () => {
		const first = await exec.client();
		await first.start("p", sh("exec sleep 30"));
		const poll = first.read("p", { waitMs: 20_000 });
		first.cut();
		await expect(poll).rejects.toThrow();
		const second = exec.watch(new ExecClient());
		second.sessionId = first.sessionId;
		await second.recover(() => openLink(exec.url));
		expect(await second.terminate("p")).toBe(true);
		expect(first.isOpen).toBe(false);
	});
});

describe("unexpected messages", () => {
	it.each([
		["an unknown notification", { method: "foo" }],
		["a response", { id: 1, result: {} }],
		["an error", { id: 1, error: { code: 1, message: "x" } }],
	])("an unexpected message closes the connection: %s", async (_, message) => {
		await raw.handshake();
		raw.send(message);
		await raw.disconnected();
	});

	it("initialized before initialize closes the connection", async () => {
		raw.notify("initialized");
		await raw.disconnected();
	});
});
