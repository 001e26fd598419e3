/** A workspace that requires a sandbox: every program started in it is confined or refused, through every protocol. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, connect, type RequiredSandbox, type SandboxMessage } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { ISSUE, TASK, WORKSPACE } from "../../fronts/dropins/multica/support/multica-server.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { main } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { pendingApproval } from "../support/held.ts";
import {
	app,
	type Caller,
	exec,
	execClient,
	mcp,
	multica,
	multicaTerminal,
	post,
	socket,
} from "../support/starting.ts";

/** A separate process, because some of these programs run in keepers. */
let server: CrashingServer;
let person: Client;
/** Not in /tmp, which some policies leave writable. */
let directory = "";
/** Paths that programs may write, and paths that they may not. */
let inside = "";
let outside = "";
let token = "";
let manager = "";

const operator = () => ({ url: server.url, token });
const agent = () => ({ url: server.url, token: manager });

beforeAll(async () => {
	directory = await mkdtemp("/var/tmp/hawser-required-");
	inside = join(directory, "inside");
	outside = join(directory, "outside");
	await Promise.all([mkdir(inside), mkdir(outside)]);
	const stateDir = join(directory, "state");
	server = new CrashingServer(stateDir, loadConfig({ port: "0", stateDir, multicaGrace: "0", createRate: "1000" }, {}));
	await server.start();
	token = await server.token();
	person = connect(operator());
	const scopes = ["workspace:default:manage", `workspace:${WORKSPACE}:manage`];
	({ token: manager } = await person.tokens.create({ scopes }));
	await declare(null);
	await person.workspaces.tasks("default").put("t", { workDir: inside });
	await person.workspaces.tasks(WORKSPACE).put(TASK, { workDir: inside, issueId: ISSUE });
});

afterAll(async () => {
	await server.killAll();
	await rm(directory, { recursive: true, force: true });
});

const writable = (): RequiredSandbox => ({ type: "workspaceWrite", writableRoots: [inside], excludeSlashTmp: true });

async function declare(sandbox: RequiredSandbox | null): Promise<void> {
	for (const workspace of ["default", WORKSPACE])
		await person.workspaces.put(workspace, { roots: [], ...(sandbox === null ? {} : { sandbox }) });
}

let count = 0;
/** A program that writes outside first and then inside. */
function tries(): { script: string; ran: () => boolean; escaped: () => boolean } {
	count++;
	const files = [join(outside, `${count}`), join(inside, `${count}`)] as const;
	const script = `(echo x > ${files[0]}) 2>/dev/null; echo x > ${files[1]}`;
	return { script, ran: () => existsSync(files[1]), escaped: () => existsSync(files[0]) };
}

type Way = {
	/** Objects that exist before the workspace requires a sandbox. */
	readonly prepare?: (script: string) => Promise<string>;
	readonly start: (by: Caller, script: string, prepared: string) => Promise<unknown>;
};

const made = async (path: string, body: object = {}) => `${(await post(operator(), path, body)).session_id}`;
const sh = (script: string) => ["/bin/sh", "-c", script];

/** As OpenSandbox encodes it. */
const typed = (script: string) => JSON.stringify({ type: "stdin", data: `${script}\n` });

/** Types into the shell that was started last. */
async function type(workspace: string, script: string): Promise<void> {
	const session = await eventually("a running shell", async () => {
		const sessions = await person.sessions.list({ workspace });
		return sessions.filter(({ state }) => state === "running").at(-1);
	});
	await person.sessions.at(session.id).write(`${script}\r`);
}

const ways: Readonly<Record<string, Way>> = {
	"POST /v1/sessions": {
		start: (by, command) => connect(by).sessions.create({ command, durable: false }),
	},
	"POST /v1/sessions, durable, on pipes": {
		start: (by, command) => connect(by).sessions.create({ command, mode: "pipe" }),
	},
	"POST /v1/sessions with a task": {
		start: (by, command) => connect(by).sessions.create({ command, task: "t", durable: false }),
	},
	"POST /v1/sessions with a TMPDIR outside": {
		start: (by, command) => connect(by).sessions.create({ command, env: { TMPDIR: outside } }),
	},
	"POST /v1/sessions in a directory outside": {
		start: (by, command) => connect(by).sessions.create({ command, cwd: outside }),
	},
	"run of the SDK": { start: (by, command) => connect(by).run({ command }) },
	"a command for a shell that is there": {
		start: async (by, command) => {
			const session = await connect(by).sessions.create({ argv: ["bash"], durable: false });
			await session.exec(command);
		},
	},
	"the MCP tool start": { start: (by, script) => mcp(by, "start", { argv: sh(script) }) },
	"the MCP tool run": { start: (by, command) => mcp(by, "run", { command }) },
	"POST /opensandbox/command": { start: (by, command) => post(by, "/opensandbox/command", { command }) },
	"POST /opensandbox/command in the background": {
		start: (by, command) => post(by, "/opensandbox/command", { command, background: true }),
	},
	"POST /opensandbox/code": { start: (by, code) => post(by, "/opensandbox/code", { code }) },
	"a run in a bash session that was there": {
		prepare: () => made("/opensandbox/session"),
		start: (by, command, id) => post(by, `/opensandbox/session/${id}/run`, { command }),
	},
	"the socket of a bash session": {
		prepare: () => made("/opensandbox/session"),
		start: async (by, script, id) => {
			const shell = await socket(by, `/opensandbox/ws/session/${id}`);
			shell.send(typed(script));
		},
	},
	"the stored command of a PTY that was there": {
		prepare: (command) => made("/opensandbox/pty", { command }),
		start: (by, _, id) => socket(by, `/opensandbox/pty/${id}/ws`),
	},
	"the shell of a PTY that was there": {
		prepare: () => made("/opensandbox/pty"),
		start: async (by, script, id) => {
			const shell = await socket(by, `/opensandbox/pty/${id}/ws?takeover=1`);
			shell.send(typed(script));
		},
	},
	"process/start of Codex exec-server": { start: (by, script) => exec(by, {}, sh(script)) },
	"command/exec of Codex app-server": { start: (by, script) => app(by, "command/exec", { command: sh(script) }) },
	"process/spawn of Codex app-server": {
		start: (by, script) => app(by, "process/spawn", { command: sh(script), cwd: "/" }),
	},
	"the socket of an issue of Multica": {
		start: async (by, script) => {
			await multica(by);
			await type(WORKSPACE, script);
		},
	},
	"terminal.open of Multica": {
		start: async (by, script) => {
			await multicaTerminal(by);
			await type(WORKSPACE, script);
		},
	},
	"hawser run": { start: (by, script) => hawser(by, ["run", "--", ...sh(script)]) },
	"hawser run --detach": { start: (by, script) => hawser(by, ["run", "--detach", "--", ...sh(script)]) },
	"hawser tmux new-session": { start: (by, script) => hawser(by, ["tmux", "new-session", "-d", script]) },
};

async function hawser({ url, token }: Caller, args: string[]): Promise<void> {
	const env = { PATH: process.env.PATH, HOME: inside, HAWSER_URL: url, HAWSER_TOKEN: token };
	const running = promisify(execFile)(process.execPath, [main, ...args], { cwd: "/tmp", env });
	running.child.stdin?.end();
	await running;
}

async function endAll(): Promise<void> {
	// Some fronts discard theirs by themselves.
	for (const { id } of await person.sessions.list())
		await person.sessions
			.at(id)
			.remove()
			.catch((error: { code?: string }) => expect(error.code).toBe("session_not_found"));
}

describe.each(Object.entries(ways))("required sandbox, start by %s", (_name, { prepare, start }) => {
	beforeEach(endAll);

	it("a program writes outside when no sandbox is required", async () => {
		await declare(null);
		const { script, ran, escaped } = tries();
		const prepared = (await prepare?.(script)) ?? "";
		await start(agent(), script, prepared);
		await expect.poll(ran).toBe(true);
		expect(escaped()).toBe(true);
	});

	it("a program runs under the policy that its workspace requires", async () => {
		await declare(null);
		const { script, ran, escaped } = tries();
		const prepared = (await prepare?.(script)) ?? "";
		await declare(writable());
		await start(agent(), script, prepared);
		await expect.poll(ran).toBe(true);
		expect(escaped()).toBe(false);
	});
});

it("a start held before the sandbox was required runs in the sandbox", async () => {
	await endAll();
	await declare(null);
	const { script: command, ran, escaped } = tries();
	const { token } = await person.tokens.create({ scopes: ["workspace:default:manage"], gate: { match: ["echo"] } });
	const starting = connect({ url: server.url, token }).sessions.create({ command, durable: false });
	const { id } = await pendingApproval(person);
	await declare(writable());
	await person.approvals.decide(id, { decision: "grant" });
	await starting;
	await expect.poll(ran).toBe(true);
	expect(escaped()).toBe(false);
});

it("a new server keeps the required sandbox, also for a stored command", async () => {
	await declare(null);
	const { script, ran, escaped } = tries();
	const pty = await made("/opensandbox/pty", { command: script });
	await declare(writable());
	await server.kill();
	await server.start();
	person = connect(operator());
	await socket(agent(), `/opensandbox/pty/${pty}/ws`);
	await expect.poll(ran).toBe(true);
	expect(escaped()).toBe(false);
	expect((await person.workspaces.get("default")).sandbox).toEqual({ ...writable(), excludeTmpdirEnvVar: true });
});

describe("a requested policy", () => {
	it.each([
		[{ type: "dangerFullAccess" }, "it restricts nothing"],
		[{ type: "externalSandbox" }, "it restricts nothing"],
		[{ type: "workspaceWrite", writableRoots: ["/var/tmp"], excludeSlashTmp: true }, /allows more than "read" for "/],
		[{ type: "workspaceWrite" }, /allows more than "read" for "/],
		[{ type: "paths", paths: [{ path: "/", access: "write" }] }, 'it allows more than "read" for "/"'],
		[{ type: "readOnly", networkAccess: true }, "it has network"],
		[{ type: "readOnly", limits: { cpuSeconds: 100 } }, "its limits.cpuSeconds is above 60"],
	] as const)("a policy weaker than required is refused: %j", async (sandbox, why) => {
		await declare({ ...writable(), limits: { cpuSeconds: 60 } });
		const { script: command, ran, escaped } = tries();
		const error = await connect(agent())
			.sessions.create({ command, sandbox: sandbox as SandboxMessage })
			.catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({
			code: "permission_denied",
			message: expect.stringContaining(
				`workspace "default" requires the sandbox policy "workspaceWrite", and the requested "${sandbox.type}" is weaker`,
			),
		});
		expect(String(error)).toMatch(why);
		expect([ran(), escaped()]).toEqual([false, false]);
	});

	it("a policy that names a protected directory of a writable root is refused", async () => {
		await mkdir(join(inside, ".git"));
		await declare(writable());
		const roots = [inside, join(inside, ".git")];
		const sandbox: SandboxMessage = { type: "workspaceWrite", writableRoots: roots, excludeSlashTmp: true };
		const error = await person.run({ command: "true", sandbox }).catch((thrown: unknown) => thrown);
		expect(String(error)).toContain(`it allows more than "read" for "${join(inside, ".git")}"`);
	});

	it("a policy that reads forbidden paths is refused", async () => {
		await declare({ type: "paths", paths: [{ path: outside, access: "none" }] });
		const refused = person.run({ command: "true", sandbox: { type: "readOnly" } });
		await expect(refused).rejects.toThrow(`it allows more than "none" for "${outside}"`);
		const paths = [{ path: directory, access: "none" as const }];
		expect(await person.run({ command: "true", sandbox: { type: "paths", paths } })).toMatchObject({
			exit: { code: 0 },
		});
	});

	it("a stricter policy is enforced, with the required limits where it has none", async () => {
		await declare({ ...writable(), networkAccess: true, limits: { fileBytes: 4096 } });
		const { script } = tries();
		const below = join(inside, "below");
		await mkdir(below);
		const sandbox: SandboxMessage = { type: "workspaceWrite", writableRoots: [below], excludeSlashTmp: true };
		const command = `${script}; echo x > ${below}/small && head -c 9000 /dev/zero > ${below}/large; echo end`;
		const run = await connect(agent()).run({ command, sandbox });
		expect(run.stdout).toContain("end");
		expect(existsSync(join(inside, `${count}`))).toBe(false);
		expect(existsSync(join(below, "small"))).toBe(true);
		expect((await stat(join(below, "large"))).size).toBe(4096);
	});

	const unrestricted = {
		permissions: { type: "disabled" as const },
		windowsSandboxLevel: "disabled" as const,
		cwd: null,
		workspaceRoots: [],
	};

	it.each<[string, (by: Caller, script: string) => Promise<unknown>]>([
		["process/start of Codex exec-server", (by, script) => exec(by, { sandbox: unrestricted }, sh(script))],
		[
			"sandboxPolicy of Codex app-server",
			(by, script) => app(by, "command/exec", { command: sh(script), sandboxPolicy: { type: "dangerFullAccess" } }),
		],
		[
			"permissionProfile of Codex app-server",
			(by, script) => app(by, "command/exec", { command: sh(script), permissionProfile: ":danger-full-access" }),
		],
		["hawser run", (by, script) => hawser(by, ["run", "--sandbox", "danger-full-access", "--", ...sh(script)])],
	])("a policy weaker than required is refused through %s", async (_name, start) => {
		await declare(writable());
		const { script, ran, escaped } = tries();
		await expect(start(agent(), script)).rejects.toThrow(
			/workspace "default" requires the sandbox policy "workspaceWrite", and the requested "dangerFullAccess" is weaker/,
		);
		expect([ran(), escaped()]).toEqual([false, false]);
	});
});

describe("actions of the server itself under a required sandbox", () => {
	const files = {
		"/opensandbox/files/info?path=/etc/hostname": { method: "GET" },
		"/opensandbox/files/download?path=/etc/hostname": { method: "GET" },
		"/opensandbox/files?path=/tmp/x": { method: "DELETE" },
		"/opensandbox/files/upload": { method: "POST" },
		"/opensandbox/directories": { method: "POST", body: "{}" },
		"/opensandbox/proxy/9/": { method: "GET" },
	};

	it.each(Object.entries(files))("%s is refused", async (path, init) => {
		await declare(writable());
		const headers = { "x-execd-access-token": manager };
		const response = await fetch(`${server.url}${path}`, { ...init, headers });
		expect(response.status).toBe(403);
		expect(await response.text()).toMatch(/requires the sandbox policy .*workspaceWrite.* would not run in a sandbox/);
	});

	it("the proxy works if programs have network", async () => {
		await declare({ ...writable(), networkAccess: true });
		const headers = { "x-execd-access-token": manager };
		const { port } = new URL(server.url);
		const response = await fetch(`${server.url}/opensandbox/proxy/${port}/v1/nothing`, { headers });
		expect(await response.text()).toContain("there is no GET /v1/nothing");
	});

	it("no directory is created for a PTY or a bash session", async () => {
		await declare(writable());
		const cwd = join(outside, "made");
		for (const path of ["/opensandbox/pty", "/opensandbox/session"])
			await expect(post(agent(), path, { cwd })).rejects.toThrow("ENOENT");
		expect(existsSync(cwd)).toBe(false);
	});

	it("Codex file methods are refused outside a sandbox, and in a weaker one", async () => {
		await declare(null);
		const client = await execClient(agent());
		await declare(writable());
		const path = `file://${outside}/codex`;
		const write = (sandbox: unknown) => client.request("fs/writeFile", { path, dataBase64: "eA==", sandbox });
		const required = 'workspace "default" requires the sandbox policy "workspaceWrite"';
		const entries = [{ path: { type: "special", value: { kind: "root" } }, access: "write" }];
		const most = { type: "managed", file_system: { type: "restricted", entries }, network: "enabled" };
		const common = { windowsSandboxLevel: "disabled", cwd: null, workspaceRoots: [] };
		const deny = { path: { type: "path", path: `file://${directory}/none` }, access: "deny" };
		const nearlyAll = { type: "managed", file_system: { type: "restricted", entries: [...entries, deny] } };
		for (const sandbox of [null, { permissions: most, ...common }, { permissions: nearlyAll, ...common }])
			await expect(write(sandbox)).rejects.toThrow(required);
		await expect(client.request("fs/open", { path: "file:///etc/hostname", handleId: "h" })).rejects.toThrow(required);
		expect(existsSync(join(outside, "codex"))).toBe(false);
	});
});

it("a required sandbox that is invalid or empty is refused", async () => {
	for (const sandbox of [
		{ type: "dangerFullAccess" },
		{ type: "externalSandbox" },
		{ type: "workspaceWrite", writableRoots: ["/tmp"], excludeTmpdirEnvVar: false },
	])
		await expect(
			person.workspaces.put("default", { roots: [], sandbox: sandbox as RequiredSandbox }),
		).rejects.toMatchObject({ code: "invalid_argument" });
	await expect(person.workspaces.put("default", { roots: [], sandbox: { type: "workspaceWrite" } })).rejects.toThrow(
		'a required sandbox of type "workspaceWrite" needs writable roots',
	);
	const set = await person.workspaces.put("other", { roots: [inside], sandbox: { type: "workspaceWrite" } });
	expect(set.sandbox).toEqual({ type: "workspaceWrite", writableRoots: [inside], excludeTmpdirEnvVar: true });
});

it("the operator is warned of programs that already run outside the sandbox", async () => {
	await endAll();
	await declare(null);
	await person.sessions.create({ argv: ["cat"], durable: false });
	const { warnings } = await person.workspaces.put("default", { roots: [], sandbox: writable() });
	expect(warnings).toEqual(["1 running session stays under the former sandbox setting"]);
	expect((await person.workspaces.put("default", { roots: [], sandbox: writable() })).warnings).toBeUndefined();
});

it("a required sandbox that can't be enforced refuses every start and names the policy", async () => {
	await endAll();
	await declare({ type: "workspaceWrite", writableRoots: [join(directory, "nowhere")] });
	const { script, ran, escaped } = tries();
	await expect(person.run({ command: script })).rejects.toThrow(
		'workspace "default" requires the sandbox policy "workspaceWrite": a sandbox can\'t have',
	);
	await server.kill();
	const path = process.env.PATH;
	process.env.PATH = "/nowhere";
	await server.start().finally(() => {
		process.env.PATH = path;
	});
	person = connect(operator());
	await declare({ type: "readOnly" });
	await expect(person.run({ command: script })).rejects.toMatchObject({
		code: "unsupported",
		message: expect.stringMatching(/^workspace "default" requires the sandbox policy "readOnly": .*bubblewrap/),
	});
	expect([ran(), escaped()]).toEqual([false, false]);
});
