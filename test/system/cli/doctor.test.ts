import { spawnSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

describe("doctor", () => {
	it("doctor reports every check on a healthy installation, line by line", async () => {
		const { code, stdout } = await hawser.run(["doctor"]);
		expect({ code, failed: /^FAIL/m.test(stdout) }).toEqual({ code: 0, failed: false });
		for (const line of [
			"ok    node: ",
			"ok    addon: ",
			"ok    state directory: ",
			"ok    socket path: ",
			"ok    server: ",
		]) {
			expect(stdout).toContain(line);
		}
	});

	it("doctor --json reports the same facts", async () => {
		const checks = JSON.parse((await hawser.run(["doctor", "--json"])).stdout) as { name: string; status: string }[];
		expect(checks.map(({ name }) => name)).toContain("cgroups");
		expect(checks).toContainEqual(expect.objectContaining({ name: "terminals", status: "ok" }));
	});

	it("doctor fails for a broken setup and suggests a fix", async () => {
		const long = `${await temporaryDirectory()}/${"x".repeat(100)}`;
		const { code, stdout } = await hawser.run(["doctor"], { env: { HAWSER_STATE_DIR: long } });
		expect(code).toBe(1);
		expect(stdout).toMatch(/^FAIL {2}socket path: .*\n {6}choose a shorter --state-dir/m);
		expect(stdout).toMatch(/^info {2}server: not running/m);
		const file = await hawser.run(["doctor"], { env: { HAWSER_STATE_DIR: "/dev/null/x" } });
		expect(file).toMatchObject({ code: 1, stdout: expect.stringMatching(/^FAIL {2}state directory: /m) });
	});

	it("doctor looks for the addon built for the C library of this Node", async () => {
		const directory = await temporaryDirectory();
		const node = join(directory, "node");
		await writeFile(node, "/lib/ld-musl-x86_64.so.1");
		const script = `data:text/javascript,process.execPath=${JSON.stringify(node)}`;
		const env = { HAWSER_STATE_DIR: directory, NODE_OPTIONS: `--import ${encodeURI(script)}` };
		const { stdout } = await hawser.run(["doctor"], { env });
		expect(stdout).toMatch(
			/^FAIL {2}addon: can't load the native addon for .*-musl: .*-musl\/hawser\.node is missing$/m,
		);
	});

	it("doctor reports a directory that others can read, and a token that is not the server's", async () => {
		const directory = await temporaryDirectory();
		await chmod(directory, 0o755);
		expect((await hawser.run(["doctor"], { env: { HAWSER_STATE_DIR: directory } })).stdout).toMatch(
			/^warn {2}state directory/m,
		);
		const wrong = await hawser.run(["doctor", "--token", "wrong"]);
		expect(wrong).toMatchObject({ code: 1, stdout: expect.stringMatching(/^FAIL {2}server: /m) });
	});
});

describe("completion", () => {
	it.each(["bash", "zsh", "fish"])("completion prints a script that %s parses", async (shell) => {
		const { code, stdout } = await hawser.run(["completion", shell]);
		expect(code).toBe(0);
		for (const word of ["attach", "--detach", "timeout", "hawser ls --all --json"]) {
			expect(stdout).toContain(shell === "fish" ? word.replace(/^--/, "-l ") : word);
		}
		// From a file, because fish does not read the stdin that Node provides.
		const file = join(await temporaryDirectory(), "completion");
		await writeFile(file, stdout);
		expect(spawnSync(shell, ["-n", file])).toMatchObject({ status: 0, stderr: Buffer.alloc(0) });
	});

	it("completion in bash completes commands, flags and sessions", async () => {
		const { stdout: script } = await hawser.run(["completion", "bash"]);
		const { stdout } = await hawser.run(["run", "--detach", "--name", "completed", "--", "sleep", "60"]);
		await hawser.run(["run", "--detach", "--name", "evil $(touch x)", "--", "sleep", "60"]);
		const { dir, path } = await commandOnPath();
		const complete = (...words: string[]) => {
			const asked = `COMP_WORDS=(hawser ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _hawser; printf '%s\\n' "\${COMPREPLY[@]}"`;
			const env = { PATH: `${dir}:${path}`, HAWSER_STATE_DIR: hawser.stateDir, HOME: "/tmp" };
			return spawnSync("bash", ["-c", `${script}\n${asked}`], { env })
				.stdout.toString()
				.trim()
				.split("\n");
		};
		expect(complete("at")).toEqual(["attach"]);
		expect(complete("attach", "--v")).toEqual(["--view"]);
		expect(complete("attach", "comp")).toEqual(["completed"]);
		expect(complete("kill", stdout.slice(0, 5))).toContain(stdout.trim());
		expect(complete("logs", "evil")).toEqual([""]);
	});

	async function commandOnPath(): Promise<{ dir: string; path: string }> {
		const dir = await temporaryDirectory();
		const script = `#!/bin/sh\nexec '${process.execPath}' '${process.cwd()}/dist/cli/main.js' "$@"\n`;
		const made = spawnSync("sh", ["-c", `cat > '${dir}/hawser' && chmod +x '${dir}/hawser'`], { input: script });
		expect(made.status).toBe(0);
		return { dir, path: process.env.PATH ?? "" };
	}
});

describe("ls", () => {
	it("ls fits its table to the terminal's width", async () => {
		await hawser.run(["run", "--detach", "--name", "wide 漢字", "--", "sh", "-c", `sleep 60; : ${"x".repeat(200)}`]);
		const terminal = await Terminal.start(hawser, ["ls"], { cols: 60 });
		expect(await terminal.ended()).toMatchObject({ code: 0 });
		const lines = terminal.output.split("<code")[0]?.trim().split("\r\n") ?? [];
		const wide = lines.find((line) => Buffer.from(line, "latin1").toString().includes("漢字")) ?? "";
		// These two characters are two cells wide each.
		expect([...Buffer.from(wide, "latin1").toString()].length).toBe(58);
	});
});
