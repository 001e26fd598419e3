import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/run-program.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

async function workspace(): Promise<string> {
	const path = await realpath(await mkdtemp("/var/tmp/hawser-sandbox-"));
	onTestFinished(() => rm(path, { recursive: true, force: true }));
	return path;
}

const shell = (script: string) => ["--", "sh", "-c", script];

it("run --sandbox denies writes outside the workspace", async () => {
	const work = await workspace();
	const script = "echo x > here && echo wrote; echo x > /var/tmp/hawser-outside && echo escaped";
	const readOnly = await hawser.run(["run", "--sandbox", "read-only", "-C", work, ...shell(script)]);
	expect(readOnly.stdout).toBe("");
	const writing = await hawser.run(["run", "--sandbox", "workspace-write", "-C", work, ...shell(script)]);
	expect(writing.stdout).toBe("wrote\n");
	const free = ["run", "--sandbox", "danger-full-access", "-C", work, ...shell("touch free")];
	expect(await hawser.run(free)).toMatchObject({ code: 0 });
	expect((await readdir(work)).sort()).toEqual(["free", "here"]);
});

it("run --sandbox-root adds directories to the sandbox's own", async () => {
	const [work, other] = [await workspace(), await workspace()];
	const flags = ["--sandbox", "workspace-write", "--sandbox-root", other, "-C", work];
	const script = `touch here ${other}/there && echo wrote`;
	expect((await hawser.run(["run", ...flags, ...shell(script)])).stdout).toBe("wrote\n");
});

it("run --sandbox-root refuses a missing path with a sentence", async () => {
	const flags = ["--sandbox", "workspace-write", "--sandbox-root", "/var/tmp/no-such-root"];
	const { code, stderr } = await hawser.run(["run", ...flags, ...shell("echo ran")]);
	expect(code).toBe(255);
	expect(stderr).toContain('a sandbox can\'t have "/var/tmp/no-such-root": there is no such file or directory');
});

it("sandbox flags without effect are refused", async () => {
	for (const flags of [["--network"], ["--sandbox-root", "/tmp"], ["--sandbox", "none"]])
		expect(await hawser.run(["run", ...flags, "--", "true"]), flags.join(" ")).toMatchObject({ code: 255 });
});

it("a sandboxed program sees neither the server's directory nor its keeper's socket", async () => {
	const script = `ls -A ${hawser.stateDir} ${hawser.stateDir}/run; id -u >/dev/null && echo alive`;
	const { stdout, stderr } = await hawser.run(["run", "--sandbox", "workspace-write", "--network", ...shell(script)]);
	expect(stdout).toBe("alive\n");
	expect(stderr).toMatch(/Permission denied|No such file/);
});

it("a sandboxed session survives a kill of the server and stays sandboxed", async () => {
	const work = await workspace();
	const script =
		"echo started; while read line; do (echo x > $line) 2>/dev/null && echo wrote || echo kept; done; exit 3";
	const child = hawser.start(["run", "--sandbox", "workspace-write", "-C", work, ...shell(script)]);
	if (!child.stdout || !child.stderr || !child.stdin) throw new Error("no pipes");
	const done = result(child);
	await once(child.stdout, "data");
	const noticed = once(child.stderr, "data");
	await hawser.stopServer("SIGKILL");
	await noticed;
	await hawser.startServer();
	child.stdin.end("here\n/var/tmp/hawser-outside\n.git/hook\n");
	expect(await done).toMatchObject({ code: 3, stdout: "started\nwrote\nkept\nkept\n" });
	expect(existsSync(join(work, "here"))).toBe(true);
	await eventually(() => !existsSync(join(work, ".git")));
});

it("the server and doctor report what they can enforce", async () => {
	const { stdout } = await hawser.run(["doctor"]);
	expect(stdout).toMatch(/^ok {4}sandbox: enforced by \/.*\/bwrap, limits by rlimits only \(no --cgroup\)$/m);
	const misled = await hawser.run(["doctor"], { env: { HAWSER_CGROUP: "/nowhere" } });
	expect(misled.stdout).toMatch(/^FAIL {2}sandbox: --cgroup: no such directory: \/nowhere/m);
	const without = await hawser.run(["doctor"], { env: { PATH: "/nowhere" } });
	expect(without.stdout).toMatch(/^info {2}sandbox: .*bubblewrap is not installed/m);
});
