/** Under a gate, every input that decides what a started program does is judged, shown and approved. */

import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApprovalMessage, type Client, connect } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { ISSUE, TASK, WORKSPACE } from "../../fronts/dropins/multica/support/multica-server.ts";
import { pendingApproval } from "../support/held.ts";
import { app, type Caller, exec, mcp, multica, post, socket } from "../support/starting.ts";

/** Rejects if the start is refused. */
type Start = (by: Caller) => Promise<unknown>;

/** A property that decides what a program does, as one protocol carries it. */
type Carrier = {
	/** Sends the request with `value`. Preparations of the operator are made by `person`. */
	readonly start: (value: string, person: Client) => Promise<Start> | Start;
	/** The part of the preview that shows it. */
	readonly shown: (value: string) => string;
	readonly kind?: ApprovalMessage["kind"];
	/** Whether the value is a directory that has to exist. */
	readonly isDirectory?: true;
};

const secret = () => "SECRET_VALUE=…";
const code = (name: string) => (value: string) => `code: ${name}=${value}`;
const place = (value: string) => `in ${value}`;

const sessions = (by: Caller) => connect(by).sessions;
const argv = ["bash", "-c", "echo harmless"];
const plain = { argv, durable: false } as const;

/** A task that the operator made, and a start for it by the caller. */
async function withTask(person: Client, task: { workDir: string; env?: Record<string, string> }): Promise<Start> {
	await person.workspaces.put("default", { roots: [] });
	await person.workspaces.tasks("default").put("t", task);
	return (by) => sessions(by).create({ ...plain, task: "t" });
}

async function withIssue(person: Client, task: { workDir: string; env?: Record<string, string> }): Promise<Start> {
	await person.workspaces.put(WORKSPACE, { roots: [] });
	await person.workspaces.tasks(WORKSPACE).put(TASK, { issueId: ISSUE, ...task });
	return (by) => multica(by);
}

/** A bash session that the operator made. Its runs leave state behind. */
async function withBash(body: object, command?: string): Promise<string> {
	const { session_id: id } = await post(operator(), "/opensandbox/session", body);
	if (command !== undefined) await post(operator(), `/opensandbox/session/${id}/run`, { command });
	return `${id}`;
}

let server: Server;
let person: Client;
/** Contains the server's state and the working directories. */
let directory = "";
/** Internal errors that were reported. */
const problems: unknown[] = [];

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "hawser-gated-"));
	const stateDir = join(directory, "state");
	const config = loadConfig({ port: "0", spares: "0", stateDir, multicaGrace: "0" }, {});
	server = await startServer(config, { report: (problem) => problems.push(problem) });
	person = connect(operator());
});

afterAll(async () => {
	await server.close();
	await rm(directory, { recursive: true, force: true });
	expect(problems).toEqual([]);
});

const carriers: Readonly<Record<string, Carrier>> = {
	"env of POST /v1/sessions": {
		start: (SECRET_VALUE) => (by) => sessions(by).create({ ...plain, env: { SECRET_VALUE } }),
		shown: secret,
	},
	"a variable of POST /v1/sessions that is code": {
		start: (BASH_ENV) => (by) => sessions(by).create({ ...plain, env: { BASH_ENV } }),
		shown: code("BASH_ENV"),
	},
	"baseEnv of POST /v1/sessions": {
		start: (SECRET_VALUE) => (by) => sessions(by).create({ ...plain, baseEnv: { SECRET_VALUE } }),
		shown: secret,
	},
	"code in baseEnv": {
		start: (BASH_ENV) => (by) => sessions(by).create({ ...plain, baseEnv: { BASH_ENV } }),
		shown: code("BASH_ENV"),
	},
	"cwd of POST /v1/sessions": {
		start: (cwd) => (by) => sessions(by).create({ ...plain, cwd }),
		shown: place,
		isDirectory: true,
	},
	"the variables of a task": {
		start: (SECRET_VALUE) => withTask(person, { workDir: "/tmp", env: { SECRET_VALUE } }),
		shown: secret,
	},
	"code in the variables of a task": {
		start: (LD_PRELOAD) => withTask(person, { workDir: "/tmp", env: { LD_PRELOAD } }),
		shown: code("LD_PRELOAD"),
	},
	"the directory of a task": {
		start: (workDir) => withTask(person, { workDir }),
		shown: place,
		isDirectory: true,
	},
	"env of the MCP tool start": {
		start: (SECRET_VALUE) => (by) => mcp(by, "start", { argv, env: { SECRET_VALUE } }),
		shown: secret,
	},
	"cwd of the MCP tool start": {
		start: (cwd) => (by) => mcp(by, "start", { argv, cwd }),
		shown: place,
		isDirectory: true,
	},
	"the variables in _meta of the MCP tool start": {
		start: (SECRET_VALUE) => (by) => mcp(by, "start", { argv }, { env: { SECRET_VALUE } }),
		shown: secret,
	},
	"the directory in _meta of the MCP tool start": {
		start: (cwd) => (by) => mcp(by, "start", { argv }, { cwd }),
		shown: place,
		isDirectory: true,
	},
	"code in _meta of the MCP tool run": {
		start: (NODE_OPTIONS) => (by) => mcp(by, "run", { command: "true" }, { env: { NODE_OPTIONS } }),
		shown: code("NODE_OPTIONS"),
	},
	"the shell in _meta of the MCP tool run": {
		start: (SHELL) => (by) => mcp(by, "run", { command: "true" }, { env: { SHELL } }),
		shown: code("SHELL"),
	},
	"cwd of the MCP tool run": {
		start: (cwd) => (by) => mcp(by, "run", { command: "true", cwd }),
		shown: place,
		isDirectory: true,
	},
	"envs of an OpenSandbox command": {
		start: (SECRET_VALUE) => (by) => post(by, "/opensandbox/command", { command: "true", envs: { SECRET_VALUE } }),
		shown: secret,
	},
	"cwd of an OpenSandbox command": {
		start: (cwd) => (by) => post(by, "/opensandbox/command", { command: "true", cwd }),
		shown: place,
		isDirectory: true,
	},
	"the variables that a bash session keeps": {
		start: async (value) => {
			const id = await withBash({}, `export SECRET_VALUE='${value}'`);
			return (by) => post(by, `/opensandbox/session/${id}/run`, { command: "true" });
		},
		shown: secret,
	},
	"the directory of a bash session": {
		start: async (cwd) => {
			const id = await withBash({ cwd });
			return (by) => post(by, `/opensandbox/session/${id}/run`, { command: "true" });
		},
		shown: place,
		isDirectory: true,
	},
	"the shell of a bash session, in its directory": {
		start: async (cwd) => {
			const id = await withBash({ cwd });
			return (by) => socket(by, `/opensandbox/ws/session/${id}`);
		},
		shown: place,
		isDirectory: true,
	},
	"the directory of a bash session, when it is made": {
		start: (cwd) => (by) => post(by, "/opensandbox/session", { cwd }),
		shown: place,
		kind: "store",
		isDirectory: true,
	},
	"the command of a PTY, when it is made": {
		start: (command) => (by) => post(by, "/opensandbox/pty", { command }),
		shown: (command) => `bash --norc --noprofile -c ${command}`,
		kind: "store",
	},
	"the directory of a PTY, when it is made": {
		start: (cwd) => (by) => post(by, "/opensandbox/pty", { cwd }),
		shown: place,
		kind: "store",
		isDirectory: true,
	},
	"the command of a PTY that the operator made": {
		start: async (command) => {
			const { session_id: id } = await post(operator(), "/opensandbox/pty", { command });
			return (by) => socket(by, `/opensandbox/pty/${id}/ws`);
		},
		shown: (command) => `bash --norc --noprofile -c ${command}`,
	},
	"the directory of a PTY that the operator made": {
		start: async (cwd) => {
			const { session_id: id } = await post(operator(), "/opensandbox/pty", { cwd });
			return (by) => socket(by, `/opensandbox/pty/${id}/ws`);
		},
		shown: place,
		isDirectory: true,
	},
	"env of a Codex process": {
		start: (SECRET_VALUE) => (by) => exec(by, { env: { SECRET_VALUE } }),
		shown: secret,
	},
	"envPolicy.set of a Codex process": {
		start: (PYTHONSTARTUP) => (by) => exec(by, { envPolicy: { ...policy, set: { PYTHONSTARTUP } } }),
		shown: code("PYTHONSTARTUP"),
	},
	"arg0 of a Codex process": {
		start: (arg0) => (by) => exec(by, { arg0 }),
		shown: (arg0) => `argv[0]: ${arg0}`,
	},
	"cwd of a Codex process": {
		start: (cwd) => (by) => exec(by, { cwd: `file://${cwd}` }),
		shown: place,
		isDirectory: true,
	},
	"env of command/exec": {
		start: (GIT_CONFIG_VALUE_0) => (by) => app(by, "command/exec", { env: { GIT_CONFIG_VALUE_0 } }),
		shown: code("GIT_CONFIG_VALUE_0"),
	},
	"cwd of command/exec": {
		start: (cwd) => (by) => app(by, "command/exec", { cwd }),
		shown: place,
		isDirectory: true,
	},
	"env of process/spawn": {
		start: (SECRET_VALUE) => (by) => app(by, "process/spawn", { cwd: "/tmp", env: { SECRET_VALUE } }),
		shown: secret,
	},
	"cwd of process/spawn": {
		start: (cwd) => (by) => app(by, "process/spawn", { cwd }),
		shown: place,
		isDirectory: true,
	},
	"the variables of a Multica task": {
		start: (MAKEFLAGS) => withIssue(person, { workDir: "/tmp", env: { MAKEFLAGS } }),
		shown: code("MAKEFLAGS"),
	},
	"the directory of a Multica task": {
		start: (workDir) => withIssue(person, { workDir }),
		shown: place,
		isDirectory: true,
	},
	"the variables of a task, when it is made": {
		start: (SECRET_VALUE) => (by) => putTask(by, { workDir: "/tmp", env: { SECRET_VALUE } }),
		shown: secret,
		kind: "store",
	},
	"the directory of a task, when it is made": {
		start: (workDir) => (by) => putTask(by, { workDir }),
		shown: place,
		kind: "store",
		isDirectory: true,
	},
};

const policy = { inherit: "all", ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] } as const;
const operator = () => ({ url: server.url, token: server.adminToken });

async function putTask(by: Caller, task: { workDir: string; env?: Record<string, string> }): Promise<void> {
	await person.workspaces.put("default", { roots: [] });
	await connect(by).workspaces.tasks("default").put("made", task);
}

async function agent(match: string): Promise<Caller> {
	const scopes = ["workspace:default:manage", `workspace:${WORKSPACE}:manage`];
	const { token } = await person.tokens.create({ scopes, name: "agent", gate: { match: [match] } });
	return { url: server.url, token };
}

describe.each(Object.entries(carriers))(
	"start property: %s",
	(_name, { start, shown, kind = "start", isDirectory }) => {
		/** The request that is held. */
		async function held(word: string): Promise<ApprovalMessage> {
			const value = isDirectory ? join(directory, word) : word;
			if (isDirectory) await mkdir(value, { recursive: true });
			const begin = await start(value, person);
			const begun = begin(await agent("forbidden"));
			const refusal = expect(begun).rejects.toThrow(/approv|denied/);
			const approval = await pendingApproval(person);
			expect(approval.preview.split("\n").flatMap((line) => [line, ...line.replace("with ", "").split(" ")])).toContain(
				shown(value),
			);
			await person.approvals.decide(approval.id, { decision: "deny" });
			await refusal;
			return approval;
		}

		it("a start property is judged by the caller's gate, shown and approved", async () => {
			const one = await held("forbidden1");
			const other = await held("forbidden2");
			expect([one.kind, one.reason]).toEqual([kind, "match"]);
			expect(one.sha256).not.toBe(other.sha256);
			expect(await person.approvals.list()).toEqual([]);
		});
	},
);

describe("starts of other owners", () => {
	const touching = (env: Record<string, string>) => ({ workDir: directory, env });

	async function gated(scopes: string[] = ["workspace:default:manage"]): Promise<Client> {
		const { token } = await person.tokens.create({ scopes, gate: { match: ["forbidden"] } });
		return connect({ url: server.url, token });
	}

	const tasks = (client: Client) => client.workspaces.tasks("default");
	const notMade = {
		code: "permission_denied",
		message: "a token with a gate may not change a task that it did not make",
	};

	it("a caller with a gate can't change or delete the operator's task, which starts as it was", async () => {
		await person.workspaces.put("default", { roots: [] });
		await tasks(person).put("kept", touching({ WORD: "kept" }));
		const client = await gated();
		await expect(tasks(client).put("kept", touching({ WORD: "changed" }))).rejects.toMatchObject(notMade);
		await expect(tasks(client).put("kept", { workDir: "/" })).rejects.toMatchObject(notMade);
		await expect(tasks(client).remove("kept")).rejects.toMatchObject(notMade);
		expect(await person.approvals.list()).toEqual([]);
		const run = await person.run({ command: "echo $WORD; pwd", task: "kept" });
		expect(run.stdout).toBe(`kept\n${directory}\n`);
	});

	it("a caller with a gate may change and delete its own task until the operator has changed it", async () => {
		const client = await gated();
		const other = await gated();
		await tasks(client).put("own", touching({ WORD: "one" }));
		await tasks(client).put("own", touching({ WORD: "two" }));
		await expect(tasks(other).put("own", touching({}))).rejects.toMatchObject(notMade);
		await tasks(client).remove("own");
		await tasks(client).put("own", touching({ WORD: "three" }));
		await tasks(person).put("own", touching({ WORD: "four" }));
		await expect(tasks(client).put("own", touching({ WORD: "five" }))).rejects.toMatchObject(notMade);
		await expect(tasks(client).remove("own")).rejects.toMatchObject(notMade);
		expect((await tasks(person).get("own")).env).toEqual({ WORD: "four" });
	});

	it("a task variable that is code is held although no expression matches, and stored once it is approved", async () => {
		const client = await gated();
		const putting = tasks(client).put("code", touching({ BASH_ENV: "/tmp/x", WORD: "w" }));
		const held = await pendingApproval(person, "task:code");
		expect(held).toMatchObject({ kind: "store", reason: "always", session: { workspace: "default", name: null } });
		expect(held.preview).toBe(`in ${directory}\ncode: BASH_ENV=/tmp/x\nwith WORD=…`);
		await expect(tasks(person).get("code")).rejects.toMatchObject({ code: "not_found" });
		await person.approvals.decide(held.id, { decision: "grant" });
		await putting;
		expect((await tasks(person).get("code")).env).toEqual({ BASH_ENV: "/tmp/x", WORD: "w" });
	});

	it("a task that the operator sets while a gated change of it is held keeps the operator's version", async () => {
		const client = await gated();
		const putting = tasks(client).put("raced", touching({ BASH_ENV: "/tmp/x" }));
		const refusal = expect(putting).rejects.toMatchObject(notMade);
		const held = await pendingApproval(person, "task:raced");
		await tasks(person).put("raced", touching({ WORD: "operator" }));
		await person.approvals.decide(held.id, { decision: "grant" });
		await refusal;
		expect((await tasks(person).get("raced")).env).toEqual({ WORD: "operator" });
	});

	it("a caller with a gate declares and deletes no workspace, and revokes no token of other owners", async () => {
		const client = await gated(["admin"]);
		const refused = {
			code: "permission_denied",
			message: "a token with a gate may not declare or delete workspaces",
		};
		await person.workspaces.put("theirs", { roots: [directory] });
		await expect(client.workspaces.put("theirs", { roots: [] })).rejects.toMatchObject(refused);
		await expect(client.workspaces.remove("theirs", { force: true })).rejects.toMatchObject(refused);
		expect((await person.workspaces.get("theirs")).roots).toEqual([directory]);
		const { id } = await person.tokens.create({ scopes: ["workspace:default:read"] });
		await expect(client.tokens.revoke(id)).rejects.toMatchObject({ code: "not_found" });
		const own = await client.tokens.create({ scopes: ["workspace:default:read"] });
		await client.tokens.revoke(own.id);
		const left = (await person.tokens.list()).map((one) => one.id);
		expect(left).toContain(id);
		expect(left).not.toContain(own.id);
	});

	it("the script of a held run can't be changed on disk before it is approved", async () => {
		const { session_id: id } = await post(operator(), "/opensandbox/session", {});
		const by = await agent("forbidden");
		const touched = join(directory, "touched");
		const run = async (whileHeld: (script: string) => Promise<void>) => {
			const running = post(by, `/opensandbox/session/${id}/run`, { command: `echo forbidden >> '${touched}'` });
			const outcome = running.then(
				() => "run",
				(error: Error) => error.message,
			);
			const held = await pendingApproval(person);
			const [script] = /\S+\/script\.sh/.exec(held.preview) ?? [];
			await whileHeld(String(script));
			await person.approvals.decide(held.id, { decision: "grant" });
			return outcome;
		};
		expect(await run((script) => writeFile(script, `echo replaced >> '${touched}'`))).toMatch(
			/script\.sh already exists; nothing was run/,
		);
		await expect(readFile(touched, "utf8")).rejects.toMatchObject({ code: "ENOENT" });
		expect(await run((script) => expect(access(script)).rejects.toMatchObject({ code: "ENOENT" }))).toBe("run");
		expect(await readFile(touched, "utf8")).toBe("forbidden\n");
	});

	it("a PTY whose command was denied is not created", async () => {
		const before = await readFile(join(directory, "state", "opensandbox.json"), "utf8").catch(() => "");
		const by = await agent("forbidden");
		const making = expect(post(by, "/opensandbox/pty", { command: "forbidden" })).rejects.toThrow(/denied/);
		await person.approvals.decide((await pendingApproval(person)).id, { decision: "deny" });
		await making;
		expect(await readFile(join(directory, "state", "opensandbox.json"), "utf8").catch(() => "")).toBe(before);
	});
});
