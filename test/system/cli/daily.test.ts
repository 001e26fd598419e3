// @module-tag slow

import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { main, TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
let config: string;
beforeAll(async () => {
	hawser = await TestHawser.create();
	config = await mkdtemp(join(tmpdir(), "hawser-config-"));
});
afterAll(async () => {
	await hawser.remove();
	await rm(config, { recursive: true });
});

const ok = { code: 0, stdout: "", stderr: "" };

describe("run, show and ls", () => {
	it("run sets the label and the size of a session, and show prints all of its fields", async () => {
		const args = ["run", "-d", "--json", "--name", "told", "-l", "kind=ci", "--size", "101x33", "--idle-timeout", "1h"];
		const made = JSON.parse((await hawser.run([...args, "--", "sh", "-c", "stty size; read x"])).stdout) as {
			id: string;
		};
		expect(made).toMatchObject({ name: "told", labels: { kind: "ci" }, size: { cols: 101, rows: 33 } });
		await (await hawser.client()).sessions.at(made.id).wait({ match: /33 101/ });
		const [{ stdout }, shown, labelled, other, wrong] = await Promise.all([
			hawser.run(["show", "tol"]),
			hawser.run(["show", "told", "--json"]),
			hawser.run(["ls", "--label", "kind=ci"]),
			hawser.run(["ls", "--label", "kind=other"]),
			hawser.run(["run", "-l", "kind", "true"]),
		]);
		for (const line of [
			"name: +told",
			"terminal: +101x33",
			"labels: +kind=ci",
			"directory: +/tmp",
			"idle timeout: +1h",
		]) {
			expect(stdout).toMatch(new RegExp(`^${line}$`, "m"));
		}
		expect(JSON.parse(shown.stdout)).toMatchObject({ id: made.id });
		expect(labelled.stdout).toContain(made.id);
		expect(other.stdout).toBe("");
		expect(wrong.stderr).toContain("K=V");
		const viewer = await Terminal.start(hawser, ["attach", "told", "--view"]);
		await viewer.attached();
		expect((await hawser.run(["ls", "--label", "kind"])).stdout).toMatch(/told +running +\w+ +\w+ +1 +101x33 +~ /);
	});
});

it("signal sends one signal, and the program handles it", async () => {
	const script = "trap 'echo got' USR1; echo ready; while :; do sleep 0.05; done";
	const session = (await hawser.client()).sessions.at(await hawser.detached(script, { name: "sig" }));
	await session.wait({ match: /ready/ });
	expect(await hawser.run(["signal", "sig", "usr1"])).toEqual(ok);
	expect(await session.wait({ match: /got/ })).toMatchObject({ kind: "match" });
	const [listed, unknown] = await Promise.all([hawser.run(["ls"]), hawser.run(["signal", "sig", "NOSUCH"])]);
	expect(listed.stdout).toContain("sig ");
	expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("NOSUCH") });
});

it("logs -n prints the last lines, however long they are", async () => {
	await hawser.run([
		"run",
		"--name",
		"lines",
		"--",
		"sh",
		"-c",
		"echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; seq 5; printf end",
	]);
	await hawser.run(["run", "--name", "whole", "--", "seq", "3"]);
	const last = async (count: number, name = "lines") => (await hawser.run(["logs", name, "-n", `${count}`])).stdout;
	const counts = [0, 1, 3, 7, 8, 100] as const;
	const [whole, ...lines] = await Promise.all([last(2, "whole"), ...counts.map((count) => last(count))]);
	expect(whole).toBe("2\n3\n");
	expect(lines).toEqual([
		"",
		"end",
		"4\n5\nend",
		expect.stringMatching(/^x{300000}\n1\n/),
		expect.stringMatching(/^first\nx/),
		expect.stringMatching(/^first\nx/),
	]);
});

it("rm --ended removes all ended sessions and no other", async () => {
	await hawser.detached("exec cat", { name: "runs" });
	await hawser.run(["run", "-n", "over", "--", "true"]);
	const [none, both] = await Promise.all([hawser.run(["rm"]), hawser.run(["rm", "--ended", "runs"])]);
	expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("--ended") });
	expect(both).toMatchObject({ code: 1 });
	expect(await hawser.run(["rm", "--ended"])).toEqual(ok);
	const { stdout } = await hawser.run(["ls", "--all"]);
	expect(stdout).toContain("runs");
	expect(stdout).not.toContain("over");
});

describe("rename", () => {
	it("rename sets a session's name, and the next server keeps it", async () => {
		const id = await hawser.detached("exec cat", { name: "old-name" });
		await hawser.detached("exec cat", { name: "taken" });
		expect(await hawser.run(["rename", "old-name", "taken"])).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("taken"),
		});
		expect(await hawser.run(["rename", "old-name", "new-name"])).toEqual(ok);
		expect(await hawser.run(["show", "old-name"])).toMatchObject({ code: 3 });
		await hawser.stopServer("SIGKILL");
		await hawser.startServer();
		expect((await hawser.run(["show", "new-name"])).stdout).toMatch(/^name: +new-name$/m);
		await hawser.detached("exec cat", { name: "old-name" });
		await hawser.run(["kill", "new-name"]);
		expect(await hawser.run(["rename", "new-name", ""])).toEqual(ok);
		expect(JSON.parse((await hawser.run(["show", id, "--json"])).stdout)).toMatchObject({ name: null });
	});
});

describe("detach", () => {
	it("detach closes all attachments, and attach --detach-others all except its own", async () => {
		await hawser.detached("echo ready; exec cat", { name: "crowded" });
		const first = await Terminal.start(hawser, ["attach", "crowded"]);
		await first.attached();
		const second = await Terminal.start(hawser, ["attach", "crowded", "--detach-others"]);
		await second.attached();
		expect(await first.ended()).toEqual({ code: 0, isRestored: true });
		expect(first.output).toMatch(
			/admin detached all clients; the program keeps running; reattach with: hawser attach crowded/,
		);
		await second.type("still here\r");
		await second.shows("still here", 2);
		expect(await hawser.run(["detach", "crowded"])).toMatchObject({
			code: 0,
			stderr: expect.stringContaining("detached 1 client;"),
		});
		expect(await second.ended()).toEqual({ code: 0, isRestored: true });
		expect((await hawser.run(["detach", "crowded"])).stderr).toContain("no clients attached");
		expect((await hawser.run(["ls"])).stdout).toContain("crowded");
	});
});

describe("login", () => {
	it("login saves a server's address and token under a name that every command takes", async () => {
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		const { stdout: token } = await hawser.run(["token", "create"]);
		const env = { XDG_CONFIG_HOME: config, HAWSER_STATE_DIR: join(config, "none") };
		const there = (...args: string[]) => hawser.run(args, { env });
		expect(await hawser.run(["login", "dev", url], { env, input: "wrong" })).toMatchObject({ code: 1 });
		expect((await there("remotes")).stderr).toContain("hawser login");
		expect(await hawser.run(["login", "dev", url], { env, input: token })).toMatchObject({ code: 0 });
		expect((await stat(join(config, "hawser", "remotes.json"))).mode & 0o777).toBe(0o600);
		const [listed, asJson, ran, all, unknown, twice] = await Promise.all([
			there("remotes"),
			there("remotes", "--json"),
			there("run", "--on", "dev", "--", "echo", "there"),
			there("ls", "--on", "dev", "--all"),
			there("ls", "--on", "dve"),
			there("ls", "--on", "dev", "--url", url),
		]);
		expect(listed.stdout).toMatch(new RegExp(`^NAME +URL\ndev +${url}\n$`));
		expect(JSON.parse(asJson.stdout)).toEqual([{ name: "dev", url }]);
		expect(ran).toEqual({ ...ok, stdout: "there\n" });
		expect(all).toMatchObject({ code: 0, stderr: "" });
		expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean "dev"?') });
		expect(twice).toMatchObject({ code: 1 });
		expect(await there("logout", "dev")).toEqual(ok);
		expect(await there("logout", "dev")).toMatchObject({ code: 1 });
	});

	it("login reads the token from the terminal without echo", async () => {
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		const { stdout: token } = await hawser.run(["token", "create"]);
		const terminal = await Terminal.start(hawser, ["login", "asked", url], {
			before: `export XDG_CONFIG_HOME=${config}`,
		});
		await terminal.shows("Token: ");
		await terminal.type(`${token.trim()}\r`);
		expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
		expect(terminal.output).toContain("--on asked");
		expect(terminal.output).not.toContain(token.trim());
	});
});

it("signin-link prints a link that signs a browser in as the caller", async () => {
	const { stdout: token } = await hawser.run(["token", "create", "--name", "page"]);
	for (const [flags, name] of [
		[[], /<b>admin<\/b>/],
		[["--token", token.trim()], /<b>token:[0-9a-f]+:page<\/b>/],
	] as const) {
		const { code, stdout, stderr } = await hawser.run(["signin-link", ...flags]);
		expect([code, stderr]).toEqual([0, expect.stringContaining("one browser")]);
		expect(await (await fetch(stdout.trim())).text()).toMatch(name);
	}
});

it("service install writes a unit whose restart keeps the keepers running", async () => {
	const env = { XDG_CONFIG_HOME: config };
	const args = ["service", "install", "--", "--port", "0", "--cwd", "/tmp/with space%"];
	const installed = await hawser.run(args, { env });
	expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining("systemctl --user") });
	const unit = await readFile(join(config, "systemd", "user", "hawser.service"), "utf8");
	expect(unit).toContain(`ExecStart=${process.execPath} ${main} serve --port 0 --cwd "/tmp/with space%%"\n`);
	for (const line of ["KillMode=process", "Restart=on-failure", "OOMPolicy=continue", "WantedBy=default.target"]) {
		expect(unit.split("\n")).toContain(line);
	}
	expect((await hawser.run(["service", "install", "--print"], { env })).stdout).toContain("KillMode=process");
	// Where systemd is installed, it verifies the unit itself.
	const checked = spawnSync(
		"systemd-analyze",
		["verify", "--user", join(config, "systemd", "user", "hawser.service")],
		{
			env: { ...process.env, XDG_RUNTIME_DIR: config },
			encoding: "utf8",
		},
	);
	if (checked.error === undefined) expect(checked.stderr).not.toContain("hawser.service");
});

it("service install reports what it replaces and refuses a unit that would not start, and uninstall reports what it did", async () => {
	const env = { XDG_CONFIG_HOME: await temporaryDirectory() };
	const path = join(env.XDG_CONFIG_HOME, "systemd", "user", "hawser.service");
	const service = (...args: string[]) => hawser.run(["service", ...args], { env });
	const faults = [
		[["--prot", "1"], '"--prot"'],
		[["--", "--prot", "1"], '"--prot"'],
		[["--port", "no"], "--port: "],
		[["stray"], '"stray"'],
	] as const;
	const refused = await Promise.all(faults.map(([flags]) => service("install", ...flags)));
	expect(refused).toMatchObject(faults.map(([, fault]) => ({ code: 1, stderr: expect.stringContaining(fault) })));
	expect(await service("uninstall")).toMatchObject({
		code: 0,
		stderr: expect.stringContaining(`${path} does not exist`),
	});
	expect((await service("install", "--port", "8800")).stderr).toContain(`wrote ${path}\n`);
	const first = await readFile(path, "utf8");
	expect(first).toContain(" serve --port 8800\n");
	expect((await service("install", "--port", "8800")).stderr).toContain(`${path} is up to date`);
	expect((await service("install")).stderr).toContain(`wrote ${path} (previous file saved as ${path}.old)\n`);
	expect(await readFile(`${path}.old`, "utf8")).toBe(first);
	expect((await service("uninstall")).stderr).toContain(`removed ${path}`);
});

describe("stop", () => {
	it("stop ends the server but not its sessions, also when the server hangs", async () => {
		await hawser.detached("exec cat", { name: "survivor" });
		expect(await hawser.run(["stop"])).toMatchObject({ code: 0, stderr: expect.stringContaining("keep running") });
		expect(await hawser.run(["stop"])).toMatchObject({
			code: 0,
			stderr: expect.stringContaining("no server is running"),
		});
		await hawser.startServer();
		expect((await hawser.run(["ls"])).stdout).toContain("survivor");
		hawser.signalServer("SIGSTOP");
		expect(await hawser.run(["stop", "--force"])).toMatchObject({ code: 0 });
		await hawser.startServer();
		expect((await hawser.run(["ls"])).stdout).toContain("survivor");
	});
});

describe("messages", () => {
	it("an unknown command is reported in one line", async () => {
		const unknown = await hawser.run(["atach"]);
		expect(unknown).toMatchObject({ code: 1, stderr: "hawser: unknown command 'atach' (Did you mean attach?)\n" });
		for (const help of ["--help", "-h"]) {
			expect(await hawser.run(["atach", help])).toEqual(unknown);
			expect(await hawser.run(["token", "crate", help])).toEqual({
				code: 1,
				stdout: "",
				stderr: "hawser: unknown command 'crate' (Did you mean create?)\n",
			});
		}
		expect(await hawser.run(["token", "create", "--help"])).toMatchObject({ code: 0, stderr: "" });
	});

	it("a port in use is reported with what to do about it", async () => {
		const { url } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { url: string };
		const { port } = new URL(url);
		const args = ["serve", "--port", port, "--state-dir", join(config, "other")];
		const inUse = `hawser: port ${port} on 127.0.0.1 is in use; choose another with`;
		expect(await hawser.run(args)).toEqual({
			code: 1,
			stdout: "",
			stderr: `${inUse} --port, or stop the server there\n`,
		});
		expect(await hawser.run(args, { env: { npm_lifecycle_event: "start" } })).toMatchObject({
			code: 1,
			stderr: `${inUse} npm start -- --port 0, or stop the server there\n`,
		});
	});

	it("a message names a session by the user's name for it", async () => {
		await hawser.detached("exec cat", { name: "called" });
		expect((await hawser.run(["rm", "called"])).stderr).toContain("session called is running");
		const terminal = await Terminal.start(hawser, ["attach", "called"]);
		await terminal.attached();
		await terminal.type("~.");
		await terminal.ended();
		expect(terminal.output).toContain("hawser attach called");
	});
});

it("completion covers every command and alias", async () => {
	const [bash, zsh, fish] = await Promise.all([
		hawser.run(["completion", "bash"]),
		hawser.run(["completion", "zsh"]),
		hawser.run(["completion", "fish"]),
	]);
	for (const command of ["attach|a)", "ls|list)", "login)", "service)", "stop)", "show)", "signal)"])
		expect(bash.stdout).toContain(command);
	expect(zsh.stdout).toContain("attach|a) words_here=");
	expect(fish.stdout).toContain("__fish_seen_subcommand_from attach a'");
});
