/** Programs start only for a caller that may manage the workspace, through every protocol. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { ISSUE, TASK, WORKSPACE } from "../../fronts/dropins/multica/support/multica-server.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { app, type Caller, exec, mcp, multica, multicaTerminal, post, socket } from "../support/starting.ts";

/** A separate process, because some of these programs run in keepers. */
let server: CrashingServer;
let token = "";
let person: Client;
let directory = "";
const operator = () => ({ url: server.url, token });

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "hawser-start-rights-"));
	const stateDir = join(directory, "state");
	server = new CrashingServer(stateDir, loadConfig({ port: "0", stateDir, multicaGrace: "0", createRate: "1000" }, {}));
	await server.start();
	token = await server.token();
	person = connect(operator());
	await person.workspaces.put("default", { roots: [] });
	await person.workspaces.tasks("default").put("t", { workDir: directory });
	await person.workspaces.put(WORKSPACE, { roots: [] });
	await person.workspaces.tasks(WORKSPACE).put(TASK, { workDir: directory, issueId: ISSUE });
});

afterAll(async () => {
	await server.killAll();
	await rm(directory, { recursive: true, force: true });
});

async function made(path: string): Promise<string> {
	return `${(await post(operator(), path, {})).session_id}`;
}

type Start = (by: Caller) => Promise<unknown>;
const always = (start: Start) => async () => start;
const argv = ["cat"];

/** Preparations by the operator, then the caller's request. */
const ways: Readonly<Record<string, () => Promise<Start>>> = {
	"POST /v1/sessions": always((by) => connect(by).sessions.create({ argv, durable: false })),
	"POST /v1/sessions with a task": always((by) => connect(by).sessions.create({ argv, durable: false, task: "t" })),
	"the MCP tool start": always((by) => mcp(by, "start", { argv })),
	"the MCP tool run in a shell that is not there": always((by) => mcp(by, "run", { command: "true" })),
	"POST /opensandbox/command": always((by) => post(by, "/opensandbox/command", { command: "cat", background: true })),
	"POST /opensandbox/code": always((by) => post(by, "/opensandbox/code", { code: "true" })),
	"a run in a bash session": async () => {
		const id = await made("/opensandbox/session");
		return (by) => post(by, `/opensandbox/session/${id}/run`, { command: "true" });
	},
	"the socket of a bash session without a shell": async () => {
		const id = await made("/opensandbox/session");
		return (by) => socket(by, `/opensandbox/ws/session/${id}`);
	},
	"the socket of an idle PTY": async () => {
		const id = await made("/opensandbox/pty");
		return (by) => socket(by, `/opensandbox/pty/${id}/ws`);
	},
	"the socket of an idle PTY, as a takeover": async () => {
		const id = await made("/opensandbox/pty");
		return (by) => socket(by, `/opensandbox/pty/${id}/ws?takeover=1`);
	},
	"process/start of Codex exec-server": always((by) => exec(by, {})),
	"command/exec of Codex app-server": always((by) => app(by, "command/exec", {})),
	"process/spawn of Codex app-server": always((by) => app(by, "process/spawn", { cwd: "/tmp" })),
	"the socket of an issue of Multica": always((by) => multica(by)),
	"terminal.open of Multica": always((by) => multicaTerminal(by)),
};

/** Scopes that may not start programs, and one that may. */
const lesser = ["read", "operate"].map((right) => [`workspace:default:${right}`, `workspace:${WORKSPACE}:${right}`]);
const manage = ["workspace:default:manage", `workspace:${WORKSPACE}:manage`];

async function holder(scopes: readonly string[]): Promise<Caller> {
	const { token } = await person.tokens.create({ scopes: [...scopes] });
	return { url: server.url, token };
}

/** The requested programs, with any outcome. */
async function opened(): Promise<number> {
	return (await person.audit({ action: "open", limit: 1000 })).entries.length;
}

describe.each(Object.entries(ways))("start by %s", (_name, prepare) => {
	it.each([...lesser, ["metrics"]].map((scopes) => [scopes]))("a token with %s starts nothing", async (scopes) => {
		const start = await prepare();
		const before = await opened();
		await expect(start(await holder(scopes))).rejects.toThrow(
			/may not manage|40[34]|permission_denied|forbidden|not_found/i,
		);
		expect(await opened()).toBe(before);
	});

	it("a token that may manage the workspace starts a program", async () => {
		const start = await prepare();
		const before = await opened();
		await start(await holder(manage));
		expect(await opened()).toBe(before + 1);
	});
});

it("a token with control rights joins a PTY and a bash session whose program runs", async () => {
	const by = await holder(["workspace:default:operate"]);
	for (const path of [
		`/opensandbox/pty/${await made("/opensandbox/pty")}/ws`,
		`/opensandbox/ws/session/${await made("/opensandbox/session")}`,
	]) {
		const starter = await socket(operator(), path);
		starter.close();
		await expect.poll(() => socket(by, path).then(() => "joined", String)).toBe("joined");
	}
});
