/** Reports of hooks over the socket of a real server, from real processes. */

import { copyFile, readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const PROGRAM = fileURLToPath(new URL("../../fixtures/hook-agent.js", import.meta.url));
const CLAUDE_HOOKS = fileURLToPath(new URL("../../../agents/claude.json", import.meta.url));

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

type Task = Readonly<Record<string, unknown>>;
type HookFile = { readonly hooks: Readonly<Record<string, { hooks: { command: string }[] }[]>> };

/** A session in which a program with the name of an agent does tasks. */
class TestAgent {
	readonly id: string;
	readonly #programs: string;
	#offset = 0;

	private constructor(id: string, programs: string) {
		this.id = id;
		this.#programs = programs;
	}

	static async start(name: string): Promise<TestAgent> {
		const programs = await temporaryDirectory();
		await copyFile(PROGRAM, join(programs, name));
		const client = await hawser.client();
		const env = { PATH: `${programs}:${process.env.PATH}` };
		const { id } = await client.sessions.create({ argv: [name], mode: "pty", cwd: "/tmp", env });
		const agent = new TestAgent(id, programs);
		await agent.#until(/ready\r?\n/);
		return agent;
	}

	/** The program's answer to a task. */
	async does(task: Task): Promise<unknown> {
		const session = (await hawser.client()).sessions.at(this.id);
		await session.keys([`text:${JSON.stringify(task)}`, "Enter"]);
		const [, answer = ""] = await this.#until(/did (.*)\r?\n/);
		return JSON.parse(answer);
	}

	/** Runs the hook for an event that is installed for Claude Code. */
	async hook(event: string, payload: unknown = {}): Promise<unknown> {
		const { hooks } = JSON.parse(await readFile(CLAUDE_HOOKS, "utf8")) as HookFile;
		return this.does({ hook: { command: hooks[event]?.[0]?.hooks[0]?.command, payload } });
	}

	/** Sends a message, and returns the answer. */
	async send(message: unknown): Promise<{ result?: unknown; error?: { message: string } }> {
		const line = typeof message === "string" ? message : JSON.stringify(message);
		return JSON.parse((await this.does({ send: { line } })) as string) as { result?: unknown };
	}

	async agent(): Promise<AgentMessage | null | undefined> {
		return (await (await hawser.client()).sessions.at(this.id).inspect()).agent;
	}

	/** The name of another agent, which can be started below this one. */
	async withProgram(name: string): Promise<string> {
		await copyFile(PROGRAM, join(this.#programs, name));
		return name;
	}

	async #until(pattern: RegExp): Promise<RegExpExecArray> {
		const session = (await hawser.client()).sessions.at(this.id);
		return eventually(`output like ${pattern}`, async () => {
			const { bytes, next } = await session.output(this.#offset);
			const found = pattern.exec(Buffer.from(bytes).toString());
			if (found) this.#offset = next;
			return found ?? undefined;
		});
	}
}

const blocked = { state: "blocked", kind: "permission", signal: "hook", confidence: "sure" };
const hookMessage = (event: string, payload: unknown = {}) => ({
	id: "1",
	method: "agent.hook",
	params: { event, payload },
});
const ok = { id: "1", result: { type: "ok" } };

async function socketPath(): Promise<string> {
	const { socket } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { socket: string };
	return socket.replace(/server-(\w+)\.sock$/, "hooks-$1.sock");
}

/** The answer to bytes that this process, which is in no session, sends. Empty if the connection is closed. */
async function sendFromOutside(bytes: string | Uint8Array): Promise<string> {
	const connection = createConnection(await socketPath());
	connection.on("error", () => {});
	connection.end(bytes);
	let answer = "";
	connection.on("data", (chunk: Buffer) => {
		answer += chunk.toString();
	});
	await new Promise((resolve) => connection.once("close", resolve));
	return answer;
}

test("an installed hook reports the state of the agent that runs it, and prints nothing", async () => {
	const agent = await TestAgent.start("claude");
	const payload = { tool_name: "Bash", tool_input: { command: "touch\nfile" } };
	expect(await agent.hook("PermissionRequest", payload)).toEqual({ code: 0, output: "" });
	expect(await agent.agent()).toMatchObject({ ...blocked, app: "claude-code", question: "Bash: touch file" });
	await agent.hook("UserPromptSubmit");
	expect(await agent.agent()).toMatchObject({ state: "working", signal: "hook" });
	await agent.hook("Stop");
	expect(await agent.agent()).toMatchObject({ state: "done" });
	await agent.hook("SessionEnd");
	expect(await agent.agent()).toBeNull();
});

test("the process decides which agent it is, not the hook: others run the hooks of Claude Code", async () => {
	const agent = await TestAgent.start("codex");
	await agent.hook("PermissionRequest", { tool_name: "Bash" });
	expect(await agent.agent()).toMatchObject({ ...blocked, app: "codex" });
	expect(
		await agent.send({ id: "1", method: "pane.report_agent", params: { agent: "claude", state: "working" } }),
	).toEqual(ok);
	expect(await agent.agent()).toMatchObject({ app: "codex", state: "working" });
	const copilot = await TestAgent.start("copilot");
	await copilot.hook("PermissionRequest", { tool_name: "Bash" });
	// Copilot runs this hook also for what it does not ask about.
	expect(await copilot.agent()).toBeNull();
});

test("a program without rules has its own name, or the one that its report gives it", async () => {
	const agent = await TestAgent.start("pi");
	await agent.send(hookMessage("UserPromptSubmit"));
	expect(await agent.agent()).toMatchObject({ app: "pi", state: "working", signal: "hook" });
});

test("hooks for herdr report by its variables and messages", async () => {
	const agent = await TestAgent.start("pi");
	const report = (state: string, message?: string) =>
		agent.send({
			id: "herdr:pi:1",
			method: "pane.report_agent",
			params: { pane_id: agent.id, source: "herdr:pi", agent: "pi", state, message, seq: 1 },
		});
	expect(await report("idle")).toEqual({ id: "herdr:pi:1", result: { type: "ok" } });
	expect(await agent.agent()).toMatchObject({ app: "pi", state: "idle" });
	await report("working");
	await report("blocked", "Run ls?");
	expect(await agent.agent()).toMatchObject({ app: "pi", state: "blocked", question: "Run ls?", signal: "hook" });
	await report("working");
	await report("idle");
	expect(await agent.agent()).toMatchObject({ state: "done" });
	const session = { id: "2", method: "pane.report_agent_session", params: { pane_id: agent.id, agent: "pi" } };
	expect(await agent.send(session)).toMatchObject({ result: { type: "ok" } });
	expect(await agent.agent()).toMatchObject({ state: "done" });
	await agent.send({ id: "3", method: "pane.release_agent", params: { pane_id: agent.id, agent: "pi" } });
	expect(await agent.agent()).toBeNull();
	expect(await agent.send({ id: "4", method: "pane.send_text", params: {} })).toMatchObject({
		error: { code: "refused" },
	});
});

test("a process outside of all sessions can't report", async () => {
	const agent = await TestAgent.start("claude");
	const message = { ...hookMessage("PermissionRequest"), params: { pane_id: agent.id, event: "Stop" } };
	const answer = JSON.parse(await sendFromOutside(`${JSON.stringify(message)}\n`)) as unknown;
	expect(answer).toMatchObject({ error: { message: expect.stringContaining("only a program in a session") } });
	expect(await agent.agent()).toBeNull();
});

test("a process reports for its own session only", async () => {
	const [one, other] = [await TestAgent.start("claude"), await TestAgent.start("claude")];
	const message = {
		id: "1",
		method: "pane.report_agent",
		params: { pane_id: one.id, agent: "claude", state: "blocked" },
	};
	expect(await other.send(message)).toMatchObject({ error: { message: "the program is in another session" } });
	expect(await one.agent()).toBeNull();
	expect(await other.agent()).toBeNull();
});

test("an agent that the agent in front has started does not report for the session", async () => {
	const agent = await TestAgent.start("claude");
	await agent.hook("UserPromptSubmit");
	const task = { send: { line: JSON.stringify(hookMessage("PermissionRequest")) } };
	const { output } = (await agent.does({ below: { name: await agent.withProgram("codex"), task } })) as {
		output: string;
	};
	expect(output).toContain("codex was started by another agent");
	const same = { name: await agent.withProgram("claude"), task, detached: true };
	const { output: other } = (await agent.does({ below: same })) as { output: string };
	expect(other).toContain("claude-code is not in the foreground");
	expect(await agent.agent()).toMatchObject({ app: "claude-code", state: "working" });
});

test("malformed, unfinished and huge messages change nothing, and the next one counts", async () => {
	const agent = await TestAgent.start("claude");
	const refused = { error: { code: "refused" } };
	for (const line of ["", "{", "[]", "null", "7", '{"method":7}', '{"method":"agent.hook"}', "{}\u0000"]) {
		expect(await agent.send(line), line).toMatchObject(refused);
	}
	expect(await agent.send(hookMessage("no such event"))).toMatchObject(refused);
	expect(await agent.send(hookMessage("constructor"))).toEqual(ok);
	expect(await agent.send(hookMessage("Stop", { agent_id: "sub" }))).toEqual(ok);
	expect(await sendFromOutside("{")).toBe("");
	expect(await sendFromOutside(Buffer.alloc(2_000_000, "x"))).toBe("");
	expect(await agent.agent()).toBeNull();
	const command = '"$HAWSER_HOOK" PermissionRequest';
	await agent.does({ hook: { command, payload: { tool_name: "Write" }, length: 200_000 } });
	expect(await agent.agent()).toMatchObject(blocked);
	expect((await agent.agent())?.question).toHaveLength(2_048);
	// Without its input, an event still has its name.
	await agent.does({ hook: { command, payload: { tool_name: "Write" }, length: 2_000_000 } });
	expect(await agent.agent()).toMatchObject({ ...blocked, question: null });
});

test("thousands of reports leave one state, the last one", async () => {
	const agent = await TestAgent.start("claude");
	const line = JSON.stringify(
		hookMessage("PermissionRequest", { tool_name: "Bash", tool_input: { command: "COUNT" } }),
	);
	for (let round = 0; round < 3; round++) await agent.does({ send: { line, times: 200 } });
	expect(await agent.agent()).toMatchObject({ ...blocked, question: "Bash: 199" });
	const flood = { line: JSON.stringify(hookMessage("Stop")), times: 500 };
	expect(await agent.does({ flood })).toBeGreaterThan(0);
	expect(await agent.does({ flood })).toBeGreaterThan(0);
	expect(await agent.agent()).toMatchObject({ state: "done" });
	expect(await agent.send(hookMessage("UserPromptSubmit"))).toEqual(ok);
	expect(await agent.agent()).toMatchObject({ state: "working" });
}, 90_000);

test("a report survives a killed server, and the next server takes reports of the same program", async () => {
	const own = await TestHawser.create();
	const shared = hawser;
	hawser = own;
	try {
		const agent = await TestAgent.start("claude");
		await agent.hook("PermissionRequest", { tool_name: "Bash" });
		const before = await agent.agent();
		await own.stopServer("SIGKILL");
		await own.startServer();
		expect(await agent.agent()).toEqual(before);
		await agent.hook("Stop");
		expect(await agent.agent()).toMatchObject({ state: "done", signal: "hook" });
	} finally {
		await own.remove();
		hawser = shared;
	}
});

test("the variables of herdr are set in a terminal, but not for herdr itself nor on pipes", async () => {
	const client = await hawser.client();
	const run = async (options: Parameters<typeof client.sessions.create>[0]) => {
		const { id } = await client.sessions.create(options);
		await client.sessions.at(id).wait({ exit: true });
		return Buffer.from((await client.sessions.at(id).output()).bytes).toString();
	};
	const terminal = await run({ argv: ["env"], mode: "pty", env: { HERDR_PANE_ID: null } });
	expect(terminal).toContain(`HERDR_ENV=1\r\n`);
	expect(terminal).toContain(`HERDR_SOCKET_PATH=${await socketPath()}\r\n`);
	expect(terminal).not.toContain("HERDR_PANE_ID");
	expect(terminal).toMatch(/HAWSER_HOOK=\/.*\/report\r\n/);
	const pipes = await run({ argv: ["env"], mode: "pipe" });
	expect(pipes).not.toMatch(/HERDR_|HAWSER_HOOK|HAWSER_AGENT_SOCKET/);
	const programs = await temporaryDirectory();
	await copyFile("/usr/bin/env", join(programs, "herdr"));
	expect(await run({ argv: [join(programs, "herdr")], mode: "pty" })).not.toContain("HERDR_");
});
