import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { main, TestHawser } from "../../support/hawser-command.ts";
import {
	callToolText,
	connectOverStdio,
	type Era,
	eras,
	type McpClient,
	newerOverStdio,
	type Process,
} from "../../support/mcp-client.ts";

const OLDER = { protocolVersion: "2025-11-25", clientInfo: { name: "test", version: "1" } };

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

function command(...args: string[]): Process {
	const env = { PATH: process.env.PATH ?? "", HOME: "/tmp", HAWSER_STATE_DIR: hawser.stateDir, GREETING: "hello" };
	return { command: process.execPath, args: [main, "mcp", ...args], env, cwd: "/usr" };
}

async function connect(era: Era, ...args: string[]): Promise<McpClient> {
	const client = await connectOverStdio(command(...args), era);
	onTestFinished(() => client.close());
	return client;
}

describe.each(eras)("hawser mcp, for a client of %s", (era) => {
	it("hawser mcp runs commands in its own directory and environment", async () => {
		const client = await connect(era);
		expect(client.version).toBe(era);
		expect((await client.listTools()).tools).toHaveLength(6);
		const text = await callToolText(client, "run", { command: "echo $GREETING from $PWD" });
		expect(text).toMatch(/^\[ended · exit 0 · \S+ s · agent-[0-9a-f]{4} · bytes /);
		expect(text).toContain("hello from /usr");
		expect((await client.listResources()).resources[0]?.uri).toBe("hawser://sessions");
	});

	it("hawser mcp stops waiting for a cancelled request, and the program continues", async () => {
		const client = await connect(era);
		const name = `cancelled-${era.slice(0, 4)}`;
		await callToolText(client, "start", { command: "read x; echo got-$x; sleep 1000", name });
		const gone = new AbortController();
		const args = { session: name, until: { match: "never" } };
		const waiting = client.callTool({ name: "read", arguments: args }, { signal: gone.signal });
		gone.abort(new Error("enough"));
		await expect(waiting).rejects.toThrow("enough");
		const until = { match: "got-on" };
		expect(await callToolText(client, "send", { session: name, text: "on", keys: ["Enter"], until })).toMatch(
			/^\[matched/,
		);
	});

	it("a hawser mcp that dies loses nothing: the next one continues in the same shell", async () => {
		const name = `stays-${era.slice(0, 4)}`;
		const first = await connect(era, "--shell", name);
		await callToolText(first, "run", { command: "X=kept" });
		await first.close();
		const second = await connect(era, "--shell", name);
		expect(await callToolText(second, "run", { command: "echo it is $X" })).toContain("it is kept");
	});
});

it("hawser mcp reports resource changes", async () => {
	const client = await connect("2026-07-28");
	await callToolText(client, "start", { command: "read x; echo got-$x", name: "watched" });
	const { resources } = await client.listResources();
	const uri = resources.find(({ name }) => name === "watched: output")?.uri ?? "";
	const listener = await newerOverStdio(command());
	onTestFinished(() => listener.close());
	const changed = new Promise<string>((resolve) => {
		listener.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri));
	});
	await listener.listen({ resourceSubscriptions: [uri] });
	await callToolText(client, "send", { session: "watched", text: "it", keys: ["Enter"] });
	expect(await changed).toBe(uri);
});

it("hawser mcp restarts a killed server, and programs survive", async () => {
	const client = await connect("2026-07-28");
	await callToolText(client, "run", { command: "X=survived", session: "lasting" });
	await hawser.stopServer("SIGKILL");
	expect(await callToolText(client, "run", { command: "echo it $X", session: "lasting" })).toContain("it survived");
	await hawser.run(["stop"]);
	await hawser.startServer();
});

it("hawser mcp answers all requests received before its input ended", async () => {
	const asked = [
		{ jsonrpc: "2.0", id: 1, method: "initialize", params: { ...OLDER, capabilities: {} } },
		{ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "run", arguments: { command: "echo fo''und" } } },
	];
	const input = asked.map((message) => `${JSON.stringify(message)}\n`).join("");
	const { stdout, code } = await hawser.run(["mcp"], { input });
	const answers = stdout.trimEnd().split("\n");
	expect(new Set(answers.map((line) => (JSON.parse(line) as { id: number }).id))).toEqual(new Set([1, 2]));
	expect(stdout).toContain("found");
	expect(code).toBe(0);
});

it("hawser mcp reports in words that the server refuses its token", async () => {
	const env = { PATH: process.env.PATH ?? "", HOME: "/tmp", HAWSER_STATE_DIR: hawser.stateDir, HAWSER_TOKEN: "wrong" };
	const process_ = { command: process.execPath, args: [main, "mcp"], env, cwd: "/tmp" };
	await expect(connectOverStdio(process_, "2025-11-25")).rejects.toThrow(/token/);
});
