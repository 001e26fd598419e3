import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { client, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";

const AGENT = fileURLToPath(new URL("../../fixtures/acp-agent.js", import.meta.url));

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

function start(...agent: string[]): ChildProcess {
	const child = hawser.start(["acp", "--", ...agent]);
	onTestFinished(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill("SIGKILL");
		await once(child, "exit");
	});
	return child;
}

type Said = {
	id: string;
	exit: object;
	output: { output: string; truncated: boolean; exitStatus: object };
	forgotten: string;
};

/** The agent's report on one program that it ran in a terminal, and the editor's updates meanwhile. */
async function prompted(...command: string[]): Promise<{ said: Said; updates: object[] }> {
	const child = start(process.execPath, AGENT);
	if (!child.stdin || !child.stdout) throw new Error("no pipes");
	const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>);
	const updates: object[] = [];
	const said = await client({ name: "editor" }).connectWith(stream, async (agent) => {
		await agent.request("initialize", { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
		return agent.buildSession("/tmp").withSession(async (session) => {
			const over = session.prompt(JSON.stringify(command));
			for (;;) {
				const message = await session.nextUpdate();
				if (message.kind !== "session_update") break;
				updates.push(message.notification.update);
			}
			await over;
			const chunk = updates.at(-1) as { content: { text: string } };
			return JSON.parse(chunk.content.text) as Said;
		});
	});
	return { said, updates };
}

describe("hawser acp with an agent of the official SDK", () => {
	it("hawser acp runs the agent's programs in sessions that remain readable", async () => {
		const { said, updates } = await prompted(
			"sh",
			"-c",
			"tty >/dev/null && printf '\\033[31mred\\033[m by %s\\n' \"$WHO\"; exit 3",
		);
		expect(said.exit).toEqual({ exitCode: 3, signal: null });
		expect(said.output).toEqual({
			output: "red by the agent\n",
			truncated: false,
			exitStatus: { exitCode: 3, signal: null },
		});
		expect(said.forgotten).toContain(`unknown terminal "${said.id}"`);
		expect((await hawser.run(["logs", said.id])).stdout).toContain("by the agent");
		// The editor does not know this terminal.
		const content = [{ type: "content", content: { type: "text", text: `hawser attach ${said.id}` } }];
		expect(updates[0]).toMatchObject({ sessionUpdate: "tool_call", content });
	});

	it("a terminal with an output limit keeps the end, from the start of a line", async () => {
		const { said } = await prompted("seq -f 'ünïcode %g' 1 1000");
		expect(said.output.truncated).toBe(true);
		expect(said.output.output).toMatch(/^(ünïcode \d+\n)+$/);
		expect(said.output.output).toMatch(/\nünïcode 1000\n$/);
		expect(Buffer.byteLength(said.output.output)).toBeLessThanOrEqual(1000);
	});

	it("a program that can't be started is an error in plain words", async () => {
		await expect(prompted("no-such-program", "x")).rejects.toMatchObject({
			message: expect.stringContaining("no-such-program"),
		});
	});
});

/** Sends the agent's requests one after the other and returns the answers as they are on the wire. */
async function answered(requests: readonly object[]): Promise<{ result?: unknown; error?: unknown }[]> {
	const agent = `
		const requests = ${JSON.stringify(requests)};
		const answers = [];
		const ask = (terminalId) => {
			const { method, params } = requests[answers.length];
			const asked = terminalId && params.terminalId === "?" ? { ...params, terminalId } : params;
			process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: answers.length, method, params: asked }) + "\\n");
		};
		let terminalId;
		require("node:readline").createInterface(process.stdin).on("line", (line) => {
			const answer = JSON.parse(line);
			terminalId = answer.result?.terminalId ?? terminalId;
			answers.push(answer);
			if (answers.length < requests.length) return ask(terminalId);
			process.stdout.write(JSON.stringify(answers) + "\\n");
			process.exit();
		});
		ask();
	`;
	const { stdout, stderr } = await result(start(process.execPath, "-e", agent));
	expect(stderr).toBe("");
	return JSON.parse(stdout) as { result?: unknown; error?: unknown }[];
}

const create = { method: "terminal/create", params: { sessionId: "s", command: "true" } };
const waitForExit = { method: "terminal/wait_for_exit", params: { sessionId: "s", terminalId: "?" } };
const output = { method: "terminal/output", params: { sessionId: "s", terminalId: "?" } };

describe("hawser acp", () => {
	it.each([
		["characters of two bytes", "printf 'ü%.0s' $(seq 600)", /^ü{50}$/],
		[
			"an escape sequence across the cut",
			"seq -s x 40; printf '\\033[1;31;40m%.0s' $(seq 400); printf 'red\\033[m'",
			/x40\nred$/,
		],
		["a long line before a short one", "seq -s x 400; printf end", /^\w{50,}\nend$/],
	])("hawser acp cuts output between characters and sequences: %s", async (_, command, expected) => {
		const params = { ...create.params, command, outputByteLimit: 101 };
		const [, , answer] = await answered([{ ...create, params }, waitForExit, output]);
		if (!answer) throw new Error("no answer");
		const { output: text, truncated } = answer.result as { output: string; truncated: boolean };
		expect(text).toMatch(expected);
		expect(text).not.toMatch(/[\u001b\ufffd]|^\d*;?\d*m/);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(101);
		expect(truncated).toBe(true);
	});

	it("hawser acp refuses wrong parameters with JSON-RPC errors that name them", async () => {
		const wrong: [object | null, number, string][] = [
			[{ ...create, params: null }, -32602, "params: expected an object"],
			[{ ...create, params: [] }, -32602, "params: expected an object"],
			[{ ...create, params: { command: "true" } }, -32602, "sessionId: expected a string"],
			[{ ...create, params: { sessionId: "s" } }, -32602, "command: expected a string"],
			[{ ...create, params: { ...create.params, command: "" } }, -32602, "command: must not be empty"],
			[{ ...create, params: { ...create.params, args: "x" } }, -32602, "args: expected an array of strings"],
			[
				{ ...create, params: { ...create.params, env: [{ name: "A", value: 1 }] } },
				-32602,
				"env: expected an array of objects with name and value, which are strings",
			],
			[{ ...create, params: { ...create.params, cwd: 7 } }, -32602, "cwd: expected a string"],
			[
				{ ...create, params: { ...create.params, outputByteLimit: -1 } },
				-32602,
				"outputByteLimit: expected a non-negative integer",
			],
			[{ ...output, params: { terminalId: 5 } }, -32602, "terminalId: expected a string"],
			[{ ...output, params: { terminalId: "none" } }, -32002, 'unknown terminal "none"'],
			[{ method: "terminal/dance", params: {} }, -32601, "unknown method terminal/dance"],
		];
		const answers = await answered(wrong.map(([request]) => request ?? {}));
		expect(answers.map(({ error }) => error)).toEqual(wrong.map(([, code, message]) => ({ code, message })));
		const [relative] = await answered([{ ...create, params: { ...create.params, cwd: "here" } }]);
		expect(relative?.error).toMatchObject({ code: -32602, message: expect.stringContaining("cwd") });
	});

	it("hawser acp passes all other messages on unchanged in both directions", async () => {
		const child = start("cat");
		const text = `{"jsonrpc": "2.0",  "id":1e0, "method":"x/initialize\\u00e9"}\n\nnot json "initialize"\r\n{"a":"${"é".repeat(100_000)}"}\nlast`;
		child.stdin?.end(text);
		expect(await result(child)).toEqual({ code: 0, stdout: text, stderr: "" });
	});

	it("hawser acp exits with its agent's code and forwards signals to it", async () => {
		expect((await result(start("sh", "-c", "exit 7"))).code).toBe(7);
		const child = start("sh", "-c", 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done');
		if (child.stdout) await once(child.stdout, "readable");
		child.kill("SIGTERM");
		expect((await result(child)).code).toBe(9);
	});

	it("hawser acp reports an agent command that does not exist", async () => {
		expect(await result(start("no-such-agent"))).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("no-such-agent"),
		});
	});
});
