import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { ExecClient, startParams } from "../../fronts/dropins/codex-exec/support/exec-client.ts";
import { openLink } from "../../fronts/dropins/codex-exec/support/exec-link.ts";
import { main, result } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

function launch(...args: string[]): ChildProcess {
	const child = spawn(process.execPath, [main, "exec-server", ...args], {
		env: { PATH: process.env.PATH, HOME: "/tmp", TMPDIR: "/var/tmp", HAWSER_TOKEN: "secret" },
		stdio: ["pipe", "pipe", "pipe"],
	});
	onTestFinished(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill("SIGKILL");
		await once(child, "exit");
	});
	return child;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
	if (!stdout) throw new Error("no stdout");
	for await (const line of createInterface(stdout)) return line;
	throw new Error("nothing was printed");
}

async function ended(child: ChildProcess): Promise<number | null> {
	if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
	return child.exitCode;
}

const isRunning = (pid: number) => {
	try {
		return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return false;
	}
};

describe("hawser exec-server", () => {
	it.each([
		["ws://0.0.0.0:0", true],
		["ws://127.0.0.1:0", false],
	])("exec-server on %s warns about the access that others have: %s", async (listen, isWarned) => {
		const server = launch("--listen", listen);
		const said = text(server.stderr ?? process.stdin);
		const client = await ExecClient.open((await firstLine(server)).replace("0.0.0.0", "127.0.0.1"));
		await client.request("environment/info");
		server.kill("SIGTERM");
		expect((await said).includes("anyone who can reach this address can run programs")).toBe(isWarned);
	});

	it.each(["SIGTERM", "SIGINT"] as const)(
		"exec-server prints its address, serves clients, and ends everything on %s",
		async (signal) => {
			const server = launch(...(signal === "SIGINT" ? ["--listen", "ws://127.0.0.1:0"] : []));
			const url = await firstLine(server);
			expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/);
			const client = await ExecClient.open(url);
			// The client sees the server's environment without the server's own settings.
			expect(await client.request("environment/info")).toMatchObject({
				temporaryDirectories: ["file:///var/tmp"],
				tempDir: "file:///var/tmp",
			});
			const envPolicy = { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
			const env = await (await client.start("env", ["env"], { envPolicy, env: {} })).closed();
			expect(env.text()).toContain("TMPDIR=/var/tmp\n");
			expect(env.text()).not.toContain("secret");
			const log = await client.start("p", ["/bin/sh", "-c", "trap '' TERM HUP; echo $$; sleep 30; sleep 30"]);
			const pid = Number((await log.output("\n")).text());
			server.kill(signal);
			expect(await ended(server)).toBe(0);
			expect(isRunning(pid)).toBe(false);
			await client.disconnected();
			expect(client.violations).toEqual([]);
		},
	);

	it("exec-server listens on IPv6", async () => {
		const server = launch("--listen", "ws://[::1]:0");
		const url = await firstLine(server);
		expect(url).toMatch(/^ws:\/\/\[::1\]:\d+$/);
		const client = await ExecClient.open(url);
		client.cut();
	});

	it("exec-server takes --concurrent-requests", async () => {
		const client = await ExecClient.open(await firstLine(launch("--concurrent-requests", "2")));
		await client.start("p", ["cat"], { pipeStdin: true });
		const poll = client.read("p", { waitMs: 60_000 });
		expect(await client.terminate("p")).toBe(true);
		expect(await poll).toMatchObject({ exitCode: 137 });
		client.cut();
	});

	it.each(["stdio", "stdio://"])(
		"exec-server serves one client on %s, writes nothing else to stdout, and exits with the client",
		async (listen) => {
			const server = launch("--listen", listen);
			const { stdin, stdout } = server;
			if (!stdin || !stdout) throw new Error("no pipes");
			const lines = createInterface(stdout)[Symbol.asyncIterator]();
			const next = async () => JSON.parse((await lines.next()).value ?? "null") as Record<string, never>;
			const say = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
			say({ id: 1, method: "initialize", params: { clientName: "t" } });
			expect(await next()).toHaveProperty("result.sessionId");
			say({ method: "initialized" });
			say({ id: 2, method: "process/start", params: startParams("p", ["/bin/sh", "-c", "echo $$; exec sleep 30"]) });
			expect(await next()).toMatchObject({ id: 2, result: { processId: "p" } });
			const { params } = (await next()) as { params?: { chunk: string } };
			const pid = Number(Buffer.from(params?.chunk ?? "", "base64").toString());
			expect(isRunning(pid)).toBe(true);
			stdin.end();
			expect(await ended(server)).toBe(0);
			expect(isRunning(pid)).toBe(false);
		},
	);

	it("exec-server exits when its stdio client stops reading for good", async () => {
		const server = launch("--listen", "stdio");
		server.stdout?.destroy();
		server.stdin?.on("error", () => {});
		const line = `${JSON.stringify({ id: 1, method: "environment/info" })}\n`;
		const asking = setInterval(() => server.stdin?.write(line), 20);
		expect(await ended(server)).toBe(0);
		clearInterval(asking);
	});

	it.each([
		["ws://localhost:0", "invalid websocket --listen URL `ws://localhost:0`; expected `ws://IP:PORT`"],
		["ws://127.0.0.1", "invalid websocket --listen URL `ws://127.0.0.1`; expected `ws://IP:PORT`"],
		["ws://127.0.0.1:70000", "invalid websocket --listen URL `ws://127.0.0.1:70000`; expected `ws://IP:PORT`"],
		["ws://::1:0", "invalid websocket --listen URL `ws://::1:0`; expected `ws://IP:PORT`"],
		["http://x", "unsupported --listen URL `http://x`; expected `ws://IP:PORT` or `stdio`"],
	])("exec-server refuses --listen %s", async (listen, sentence) => {
		const { code, stdout, stderr } = await result(launch("--listen", listen));
		expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: `hawser: ${sentence}\n` });
	});

	it("exec-server accepts only clients with the token of its file, which sandboxed programs can't find", async () => {
		const directory = await temporaryDirectory();
		const file = join(directory, "token");
		await writeFile(file, "secret\n");
		const server = launch("--ws-auth", "capability-token", "--ws-token-file", file);
		const url = await firstLine(server);
		await expect(openLink(url)).rejects.toThrow("401");
		const client = new ExecClient(await openLink(url, { authorization: "Bearer secret" }));
		await client.handshake();
		const entries = [{ path: { type: "special", value: { kind: "root" } }, access: "read" }];
		const permissions = { type: "managed", file_system: { type: "restricted", entries }, network: "enabled" };
		const sandbox = { permissions, windowsSandboxLevel: "disabled" };
		const log = await client.start("p", ["/bin/cat", file], { sandbox, cwd: "file:///" });
		expect((await log.closed()).text("stderr")).toContain("Permission denied");
		client.cut();
	});

	it.each([
		[["--ws-token-file", "/x"], "need --ws-auth capability-token"],
		[["--ws-auth", "capability-token"], "needs exactly one of --ws-token-file and --ws-token-sha256"],
		[["--ws-auth", "capability-token", "--ws-token-file", "/no/such"], "can't open /no/such: no such file"],
		[["--ws-auth", "capability-token", "--ws-token-sha256", "abc"], "64 hex digits"],
		[["--ws-auth", "capability-token", "--ws-issuer", "x"], "need --ws-auth signed-bearer-token"],
		[["--ws-auth", "signed-bearer-token"], "needs --ws-shared-secret-file"],
		[["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", "/proc/sys/kernel/ostype"], "minimum 32 bytes"],
		[
			["--listen", "stdio", "--ws-auth", "capability-token", "--ws-token-sha256", "0".repeat(64)],
			"works only with ws:// addresses",
		],
	])("exec-server refuses %j", async (flags, sentence) => {
		const { code, stdout, stderr } = await result(launch(...flags));
		expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(sentence) });
	});

	it.each(["0", "-1", "many"])("exec-server refuses --concurrent-requests %s", async (count) => {
		const { code, stderr } = await result(launch(`--concurrent-requests=${count}`));
		expect(code).toBe(1);
		expect(stderr).toContain("--concurrent-requests");
	});

	it("exec-server --help describes it, with examples", async () => {
		const { code, stdout } = await result(launch("--help"));
		expect(code).toBe(0);
		expect(stdout).toContain("Examples:");
	});
});
