/** Codex's own modes, `read-only` and `workspace-write`, as its client asks for them. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ExecClient } from "../../fronts/dropins/codex-exec/support/exec-client.ts";
import { main } from "../../support/hawser-command.ts";
import { eventually } from "../../support/run-program.ts";

async function serve(env: NodeJS.ProcessEnv = {}): Promise<{ url: string; close: () => Promise<void> }> {
	const child = spawn(process.execPath, [main, "exec-server"], {
		env: { PATH: process.env.PATH, HOME: "/tmp", ...env },
	});
	const close = async () => {
		child.kill("SIGKILL");
		await once(child, "exit");
	};
	for await (const line of createInterface(child.stdout)) return { url: line, close };
	throw new Error("nothing was printed");
}

const special = (kind: string, access: string, more: object = {}) => ({
	path: { type: "special", value: { kind, ...more } },
	access,
});

/** As the client of 0.166 sends it. */
const context = (entries: object[], work: string, network = "restricted") => ({
	permissions: { type: "managed", file_system: { type: "restricted", entries }, network },
	cwd: `file://${work}`,
	workspaceRoots: [`file://${work}`],
	windowsSandboxLevel: "disabled",
	windowsSandboxProxySettingsMode: "reconcile",
});

const readOnly = (work: string) => context([special("root", "read")], work);

const workspaceWrite = (work: string, network?: string) => {
	const guarded = [".git", ".agents", ".codex", ".aws"].map((subpath) => ({
		...special("project_roots", "read", { subpath }),
		missing_path_behavior: "skip",
	}));
	const places = [special("root", "read"), ...["project_roots", "slash_tmp", "tmpdir"].map((k) => special(k, "write"))];
	return context([...places, ...guarded], work, network);
};

let server: { url: string; close: () => Promise<void> };
beforeAll(async () => {
	server = await serve();
});
afterAll(() => server.close());

let work: string;
let client: ExecClient;
beforeEach(async () => {
	work = await realpath(await mkdtemp("/var/tmp/hawser-sandbox-"));
	client = await ExecClient.open(server.url);
	onTestFinished(async () => {
		client.cut();
		await rm(work, { recursive: true, force: true });
	});
});

const sh = (script: string) => ["/bin/sh", "-c", script];
const start = async (script: string, sandbox: object, options: object = {}) => {
	const env = { PATH: "/usr/bin:/bin" };
	const log = await client.start("p", sh(script), { cwd: `file://${work}`, env, sandbox, ...options });
	return log.closed();
};

describe("exec-server: process/start in a sandbox", () => {
	it("a read-only program runs, and reports that the sandbox denied a write", async () => {
		const log = await start("cat /etc/passwd > /dev/null && echo read; echo x > new", readOnly(work));
		expect(log.text("stdout")).toBe("read\n");
		expect({ code: log.exitCode, wasDenied: log.wasDenied }).toEqual({ code: 2, wasDenied: true });
		expect(await client.read("p")).toMatchObject({ exitCode: 2, closed: true, sandboxDenied: true });
		expect(existsSync(join(work, "new"))).toBe(false);
	});

	it("a workspace-write program writes to its workspace and /tmp, and neither to .git nor anywhere else", async () => {
		const script =
			"echo x > new && t=$(mktemp) && rm $t && echo wrote; mkdir .git/hooks; echo x > /var/tmp/hawser-new; exit 0";
		const log = await start(script, workspaceWrite(work));
		expect(log.text("stdout")).toBe("wrote\n");
		expect(log.text("stderr").match(/Read-only file system/g)).toHaveLength(2);
		expect({ code: log.exitCode, wasDenied: log.wasDenied }).toEqual({ code: 0, wasDenied: false });
		await eventually(() => !existsSync(join(work, ".git")));
	});

	it.each([
		["restricted", "no"],
		["enabled", "yes"],
	])("a sandbox with network %s has %s network", async (network, answer) => {
		const script = "bash -c ': > /dev/udp/127.0.0.1/9' 2>/dev/null && echo yes || echo no";
		expect((await start(script, workspaceWrite(work, network))).text()).toBe(`${answer}\n`);
	});

	it("a sandbox hides denied paths, also those that do not exist yet", async () => {
		await writeFile(join(work, "key"), "secret");
		await mkdir(join(work, "keys"));
		const named = (name: string, access: string) => ({
			path: { type: "path", path: `file://${work}/${name}` },
			access,
		});
		const sandbox = context(
			[
				special("root", "read"),
				special("project_roots", "write"),
				...["key", "keys", "none"].map((n) => named(n, "deny")),
			],
			work,
		);
		const log = await start("cat key; ls keys; echo x > none; echo x > none/x; ls -A", sandbox);
		expect(log.text("stdout")).not.toContain("secret");
		expect(log.text("stderr").match(/Permission denied/g)).toHaveLength(2);
		await eventually(() => !existsSync(join(work, "none")));
	});

	it("a sandboxed program keeps its arg0, also on a terminal", async () => {
		const log = await client.start("p", sh("echo $0; test -t 0 && echo tty"), {
			cwd: `file://${work}`,
			tty: true,
			arg0: "other",
			env: { PATH: "/usr/bin:/bin" },
			sandbox: readOnly(work),
		});
		expect((await log.closed()).text()).toBe("other\r\ntty\r\n");
	});

	it("an unrestricted program runs without a sandbox, and the server announces that it has one", async () => {
		const disabled = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
		expect((await start("echo x > new && echo wrote", disabled)).text()).toBe("wrote\n");
	});

	it("terminate ends all processes of a sandbox at once", async () => {
		const log = await client.start("p", sh("setsid sleep 1000 & echo started; exec sleep 1000"), {
			cwd: `file://${work}`,
			env: { PATH: "/usr/bin:/bin" },
			sandbox: workspaceWrite(work),
		});
		await log.until((each) => each.text().includes("started"));
		expect(await client.terminate("p")).toBe(true);
		expect((await log.closed()).exitCode).toBe(137);
	});

	it.each([
		[
			"a readable glob",
			[special("root", "read"), { path: { type: "glob_pattern", pattern: "**/.env" }, access: "read" }],
		],
		["writable program directories", [special("minimal", "write")]],
		["with an unknown kind", [special("root", "read"), special("newer", "deny")]],
	])("exec-server refuses a policy that can't be enforced: %s", async (_, entries) => {
		await expect(start("true", context(entries, work))).rejects.toMatchObject({
			code: -32602,
			message: "sandbox intent cannot be enforced on this executor",
		});
	});

	it.each([
		["only the workspace", [special("project_roots", "write")]],
		["nothing", []],
	])("exec-server refuses a program that the sandbox can't read: %s", async (_, entries) => {
		const log = await start("echo started", context(entries, work));
		expect(log.text()).not.toContain("started\n");
		expect(log.exitCode).not.toBe(0);
	});

	it("exec-server refuses a protected path that is a symbolic link", async () => {
		await symlink("/tmp", join(work, ".git"));
		await expect(start("true", workspaceWrite(work))).rejects.toMatchObject({
			code: -32602,
			message: expect.stringContaining("crosses writable symlink"),
		});
	});
});

describe("exec-server: fs/* in a sandbox", () => {
	const uri = (name: string) => `file://${join(work, name)}`;
	const base64 = (text: string) => Buffer.from(text).toString("base64");

	it("fs/* reads and writes only what the workspace policy permits", async () => {
		const sandbox = workspaceWrite(work);
		expect(await client.request("fs/writeFile", { path: uri("new"), dataBase64: base64("text"), sandbox })).toEqual({});
		expect(await readFile(join(work, "new"), "utf8")).toBe("text");
		expect(await client.request("fs/readFile", { path: uri("new"), sandbox })).toEqual({ dataBase64: base64("text") });
		const outside = { path: "file:///var/tmp/hawser-new", dataBase64: "", sandbox };
		await expect(client.request("fs/writeFile", outside)).rejects.toMatchObject({
			code: -32603,
			message: "Read-only file system (os error 30)",
		});
		const guarded = client.request("fs/createDirectory", { path: uri(".git/hooks"), sandbox });
		await expect(guarded).rejects.toMatchObject({ code: -32603 });
		const large = base64("x".repeat(3_000_000));
		await client.request("fs/writeFile", { path: uri("large"), dataBase64: large, sandbox });
		expect(await client.request("fs/readFile", { path: uri("large"), sandbox })).toEqual({ dataBase64: large });
	});

	it("fs/* read-only writes nothing, and does not follow links out", async () => {
		const write = { path: uri("new"), dataBase64: "", sandbox: readOnly(work) };
		await expect(client.request("fs/writeFile", write)).rejects.toMatchObject({ code: -32603 });
		const denied = context(
			[special("root", "read"), { path: { type: "path", path: uri("key") }, access: "deny" }],
			work,
		);
		await writeFile(join(work, "key"), "secret");
		await expect(client.request("fs/readFile", { path: uri("key"), sandbox: denied })).rejects.toMatchObject({
			code: -32600,
		});
		const missing = client.request("fs/getMetadata", { path: uri("none"), sandbox: readOnly(work) });
		await expect(missing).rejects.toMatchObject({ code: -32004 });
	});

	it("fs/* requires the location of the workspace", async () => {
		const { cwd: _, ...sandbox } = workspaceWrite(work);
		await expect(client.request("fs/readFile", { path: uri("new"), sandbox })).rejects.toMatchObject({
			code: -32602,
			message: "file system sandbox context with dynamic permissions requires cwd",
		});
		const policyContext = { cwd: `file://${work}`, workspaceRoots: [`file://${work}`] };
		const given = { ...sandbox, workspaceRoots: [], policyContext };
		expect(await client.request("fs/writeFile", { path: uri("new"), dataBase64: "", sandbox: given })).toEqual({});
	});
});

it("exec-server without bubblewrap refuses every request that needs a sandbox", async () => {
	const without = await serve({ PATH: "/nowhere" });
	onTestFinished(without.close);
	const other = await ExecClient.open(without.url);
	onTestFinished(() => other.cut());
	const started = other.start("p", ["/bin/true"], { cwd: `file://${work}`, sandbox: readOnly(work) });
	await expect(started).rejects.toMatchObject({
		code: -32602,
		message: "sandbox intent cannot be enforced on this executor",
	});
	const read = other.request("fs/readFile", { path: "file:///etc/passwd", sandbox: readOnly(work) });
	await expect(read).rejects.toMatchObject({
		code: -32600,
		message: "sandboxed filesystem operations require configured runtime paths",
	});
});

it("a sandboxed program can't see the token of a server of the same user", async () => {
	await mkdir(join(work, "hawser"));
	await writeFile(join(work, "hawser/admin-token"), "secret");
	const other = await serve({ XDG_STATE_HOME: work });
	onTestFinished(other.close);
	client = await ExecClient.open(other.url);
	const log = await start("cat hawser/admin-token", readOnly(work));
	expect(log.text()).toMatch(/Permission denied/);
});
