import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { AppClient } from "../../fronts/dropins/codex-app/support/app-client.ts";
import { carryLines, findByArgument, isThere, workspace } from "../../fronts/dropins/codex-app/support/app-harness.ts";
import { type Link, openLink } from "../../fronts/dropins/codex-exec/support/exec-link.ts";
import { main, result } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const free = ["--sandbox", "danger-full-access"];

function launch(...args: string[]): ChildProcess {
	return launchWith({}, ...args);
}

function launchWith(env: NodeJS.ProcessEnv, ...args: string[]): ChildProcess {
	const child = spawn(process.execPath, [main, "app-server", ...args], {
		env: { PATH: process.env.PATH, HOME: "/tmp", HAWSER_TOKEN: "secret", LAB: "server", ...env },
		stdio: ["pipe", "pipe", "pipe"],
	});
	onTestFinished(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill("SIGKILL");
		await once(child, "exit");
	});
	return child;
}

/** Returns the address in the banner on stderr. */
async function bannerOf({ stderr }: ChildProcess): Promise<string> {
	if (!stderr) throw new Error("no stderr");
	for await (const line of createInterface(stderr)) {
		const url = /listening on: (\S+)/.exec(line)?.[1];
		if (url !== undefined) return url;
	}
	throw new Error("nothing was said");
}

async function ended(child: ChildProcess): Promise<number | null> {
	if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
	return child.exitCode;
}

function onStdio(child: ChildProcess): AppClient {
	const { stdin, stdout } = child;
	if (!stdin || !stdout) throw new Error("no pipes");
	const link: Link = {
		send: (text) => stdin.write(`${text}\n`),
		cut: () => stdin.end(),
		onText: () => {},
		onClosed: () => {},
	};
	carryLines(stdout, link);
	child.once("exit", () => link.onClosed());
	return new AppClient(link);
}

/** Programs on pipes and on a terminal, with children that hide. Each prints its process id. */
async function startSome(client: AppClient): Promise<number[]> {
	const script = "trap '' TERM HUP; echo $$; setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000; sleep 1000";
	const ids = ["pipe", "tty"];
	for (const processId of ids)
		client
			.sh(script, { processId, streamStdoutStderr: true, tty: processId === "tty", disableTimeout: true })
			.catch(() => {});
	const numbers = ids.map((id) =>
		client.until(() => {
			const found = client.deltas(id).text().match(/\d+/g);
			return found?.length === 2 ? found.map(Number) : undefined;
		}),
	);
	return (await Promise.all(numbers)).flat();
}

describe("hawser app-server", () => {
	it("app-server serves one client on stdio with the server's environment but not its settings, and exits with the client", async () => {
		const server = launch(...free);
		const client = await onStdio(server).initialize();
		const { stdout } = await client.sh('echo "$LAB:$HAWSER_TOKEN"; pwd');
		expect(stdout).toBe(`server:\n${process.cwd()}\n`);
		const pids = await startSome(client);
		client.cut();
		expect(await ended(server)).toBe(0);
		await eventually("the end of all", () => pids.every((pid) => !isThere(pid)));
		expect(client.violations).toEqual([]);
	});

	it("app-server serves many clients at the address it prints on stderr, and ends everything on SIGTERM", async () => {
		const server = launch("--listen", "ws://127.0.0.1:0", ...free);
		const url = await bannerOf(server);
		expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/);
		const [one, two] = await Promise.all([openLink(url), openLink(url)]);
		const clients = await Promise.all([one, two].map((link) => new AppClient(link).initialize()));
		const pids = (await Promise.all(clients.map(startSome))).flat();
		server.kill("SIGTERM");
		expect(await ended(server)).toBe(0);
		for (const client of clients) await client.disconnected();
		expect(pids.filter(isThere)).toEqual([]);
	});

	it.each(["stdio", "ws"])("I-13: app-server leaves no process behind when it is killed (%s)", async (carrier) => {
		const isStdio = carrier === "stdio";
		const server = launch(...free, ...(isStdio ? [] : ["--listen", "ws://127.0.0.1:0"]));
		const client = isStdio ? onStdio(server) : new AppClient(await openLink(await bannerOf(server)));
		const pids = await startSome(await client.initialize());
		server.kill("SIGKILL");
		await ended(server);
		await eventually("the end of all", () => pids.every((pid) => !isThere(pid)));
	});

	it.each(["stdio", "ws"])(
		"app-server leaves no process of a sandbox behind when it is killed (%s)",
		async (carrier) => {
			const isStdio = carrier === "stdio";
			const server = launch("--sandbox", "workspace-write", ...(isStdio ? [] : ["--listen", "ws://127.0.0.1:0"]));
			const stranger = isStdio ? onStdio(server) : new AppClient(await openLink(await bannerOf(server)));
			const client = await stranger.initialize();
			const [root, seconds] = [await workspace(), `1000.${server.pid}`];
			const sandboxPolicy = { type: "workspaceWrite", writableRoots: [root] };
			for (const processId of ["pipe", "tty"])
				client
					.sh(`setsid sleep ${seconds} & trap '' HUP; sleep ${seconds}; :`, {
						...{ processId, sandboxPolicy, tty: processId === "tty", disableTimeout: true },
					})
					.catch(() => {});
			await eventually("all to run", async () => (await findByArgument(seconds)).length === 4);
			expect(await readdir(root)).toContain(".git");
			server.kill("SIGKILL");
			await eventually("the end of all", async () => (await findByArgument(seconds)).length === 0);
			await eventually("nothing in the root", async () => (await readdir(root)).length === 0);
		},
	);

	it("a sandboxed program reaches neither the app-server's socket nor the token of a server of the same user", async () => {
		const home = await workspace();
		await mkdir(join(home, ".local/state/hawser"), { recursive: true });
		await writeFile(join(home, ".local/state/hawser/admin-token"), "secret");
		const path = join(home, "app.sock");
		const server = launchWith({ HOME: home }, "--listen", `unix://${path}`, "--sandbox", "workspace-write");
		await bannerOf(server);
		const client = await new AppClient(await openLink(`ws+unix://${path}:/`)).initialize();
		const sandboxPolicy = { type: "workspaceWrite", writableRoots: [home], networkAccess: true };
		const reach = `require("net").connect("${path}").on("error", ({ code }) => console.log(code)).on("connect", () => {
			console.log("in");
			process.exit();
		})`;
		const reached = async (policy: object) =>
			(await client.exec([process.execPath, "-e", reach], { sandboxPolicy: policy })).stdout;
		expect(await reached({ type: "dangerFullAccess" })).toBe("in\n");
		expect(await reached(sandboxPolicy)).toBe("ECONNREFUSED\n");
		const { stdout, stderr } = await client.sh(`rm -f ${path}; mv ${path} ${home}/x; cat ~/.local/state/hawser/*`, {
			sandboxPolicy,
		});
		expect(stdout).toBe("");
		expect(stderr).toContain("Permission denied");
		expect(await reached({ type: "dangerFullAccess" })).toBe("in\n");
	});

	it("app-server without bubblewrap refuses what it can't confine, by default everything", async () => {
		const client = await onStdio(launchWith({ PATH: "/nowhere" })).initialize();
		await expect(client.exec(["/bin/true"])).rejects.toMatchObject({
			code: -32600,
			message: expect.stringMatching(
				/^invalid sandbox policy: readOnly can't be enforced here: bubblewrap is not installed/,
			),
		});
		const sandboxPolicy = { type: "externalSandbox" };
		expect((await client.exec(["/bin/true"], { sandboxPolicy })).exitCode).toBe(0);
	});

	it("a client that does not read delays neither time limits nor the end of input", async () => {
		const server = launch(...free);
		const client = await onStdio(server).initialize();
		server.stdout?.pause();
		const directory = await temporaryDirectory();
		const start = async (processId: string, params: object) => {
			const file = join(directory, processId);
			await symlink("/dev/zero", file);
			const bulk = { processId, streamStdoutStderr: true, disableOutputCap: true, ...params };
			client.exec(["cat", file], bulk).catch(() => {});
			return async () => (await findByArgument(file)).length > 0;
		};
		const isLimitedThere = await start("limited", { timeoutMs: 300 });
		const isUnlimitedThere = await start("unlimited", { disableTimeout: true });
		// The first program starts before the client stops reading: on a busy machine its time limit may pass unseen.
		await eventually("the second", isUnlimitedThere);
		await eventually("the end of the first", async () => !(await isLimitedThere()));
		expect(await isUnlimitedThere()).toBe(true);
		server.stdin?.end();
		expect(await ended(server)).toBe(0);
		await eventually("the end of the second", async () => !(await isUnlimitedThere()));
	});

	it("app-server serves a Unix socket", async () => {
		const path = join(await temporaryDirectory(), "app.sock");
		const server = launch("--listen", `unix://${path}`, ...free);
		expect(await bannerOf(server)).toBe(`unix://${path}`);
		const client = await new AppClient(await openLink(`ws+unix://${path}:/`)).initialize();
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
		client.cut();
		const second = await result(launch("--listen", `unix://${path}`));
		expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`another process listens on ${path}`) });
	});

	it("app-server finds its Unix socket where Codex puts it", async () => {
		const home = await temporaryDirectory();
		const server = launchWith({ CODEX_HOME: home }, "--listen", "unix://");
		expect(await bannerOf(server)).toBe(`unix://${home}/app-server-control/app-server-control.sock`);
		server.kill("SIGTERM");
		expect(await ended(server)).toBe(0);
	});

	it("app-server confines commands that name no sandbox, unless it is configured otherwise, or refuses them", async () => {
		const writes = "echo x > $(mktemp -u) && echo wrote";
		const client = await onStdio(launch()).initialize();
		expect(await client.sh(writes)).toMatchObject({ stdout: "", exitCode: 2 });
		const sandboxPolicy = { type: "dangerFullAccess" };
		expect((await client.exec(["echo", "hi"], { sandboxPolicy })).stdout).toBe("hi\n");
		const other = await onStdio(launch("--sandbox", "workspace-write")).initialize();
		expect((await other.sh(writes)).stdout).toBe("wrote\n");
		expect((await other.sh("echo x > $HOME/../hawser-new")).exitCode).toBe(2);
	});

	it("app-server over TCP accepts only clients with a token", async () => {
		const open = await result(launch("--listen", "ws://0.0.0.0:0"));
		expect(open).toMatchObject({ code: 1, stderr: expect.stringContaining("refusing to listen on 0.0.0.0") });
		const file = join(await temporaryDirectory(), "token");
		await writeFile(file, "secret\n");
		const auth = ["--ws-auth", "capability-token", "--ws-token-file", file];
		const server = launch("--listen", "ws://127.0.0.1:0", ...auth, ...free);
		const url = await bannerOf(server);
		await expect(openLink(url)).rejects.toThrow("401");
		const client = new AppClient(await openLink(url, { authorization: "Bearer secret" }));
		await client.initialize();
		// With network access it could be used from inside.
		const sandboxPolicy = { type: "readOnly", networkAccess: true };
		expect((await client.exec(["cat", file], { sandboxPolicy })).stderr).toContain("Permission denied");
		client.cut();
	});

	it.each(["http://x", "ws://localhost:1", "ws://127.0.0.1", "ws://127.0.0.1:99999"])(
		"app-server refuses %s",
		async (url) => {
			const refused = await result(launch("--listen", url));
			expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`--listen URL \`${url}\``) });
		},
	);

	it("app-server --help prints its options", async () => {
		const help = await result(launch("--help"));
		expect(help.stdout).toContain("Examples:\n  hawser app-server\n");
		expect(help.stdout).toContain("--sandbox <mode>");
	});
});
