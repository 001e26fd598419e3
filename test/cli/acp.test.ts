import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { client, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Installation, result } from "./hawser.ts";

const AGENT = fileURLToPath(new URL("../fixtures/acp-agent.js", import.meta.url));

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
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

/** What the agent tells of one program that it ran in a terminal, and what the editor was told meanwhile. */
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

describe("an agent of the official SDK behind hawser acp", () => {
	it("runs its programs in sessions that anybody can look at, also later", async () => {
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
		expect(said.forgotten).toContain(`there is no terminal "${said.id}"`);
		expect((await hawser.run(["logs", said.id])).stdout).toContain("by the agent");
		// The editor has no terminal of that name.
		const content = [{ type: "content", content: { type: "text", text: `hawser attach ${said.id}` } }];
		expect(updates[0]).toMatchObject({ sessionUpdate: "tool_call", content });
	});

	it("gets the end of much output, from the beginning of a line on", async () => {
		const { said } = await prompted("seq -f 'ünïcode %g' 1 1000");
		expect(said.output.truncated).toBe(true);
		expect(said.output.output).toMatch(/^(ünïcode \d+\n)+$/);
		expect(said.output.output).toMatch(/\nünïcode 1000\n$/);
		expect(Buffer.byteLength(said.output.output)).toBeLessThanOrEqual(1000);
	});

	it("is told in words that a program can't be started", async () => {
		await expect(prompted("no-such-program", "x")).rejects.toMatchObject({
			message: expect.stringContaining("no-such-program"),
		});
	});
});

describe("hawser acp", () => {
	it("passes everything else on as it is, to the byte, in both directions", async () => {
		const child = start("cat");
		const text = `{"jsonrpc": "2.0",  "id":1e0, "method":"x/initialize\\u00e9"}\n\nnot json "initialize"\r\n{"a":"${"é".repeat(100_000)}"}\nlast`;
		child.stdin?.end(text);
		expect(await result(child)).toEqual({ code: 0, stdout: text, stderr: "" });
	});

	it("ends as its agent does, and passes a signal on to it", async () => {
		expect((await result(start("sh", "-c", "exit 7"))).code).toBe(7);
		const child = start("sh", "-c", 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done');
		if (child.stdout) await once(child.stdout, "readable");
		child.kill("SIGTERM");
		expect((await result(child)).code).toBe(9);
	});

	it("says that there is no such agent", async () => {
		expect(await result(start("no-such-agent"))).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("no-such-agent"),
		});
	});
});
