import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let here: TestHawser;
beforeAll(async () => {
	here = await TestHawser.create();
});
afterAll(() => here.remove());

const said = async (...args: string[]) => {
	const { code, stdout, stderr } = await here.run(args);
	expect([code, stderr]).toEqual([0, ""]);
	return stdout;
};

it("workspace declares, shows, changes and removes workspaces", async () => {
	expect(await here.run(["workspace", "ls"])).toMatchObject({
		code: 0,
		stderr: expect.stringContaining("no workspace"),
	});
	await said(
		"workspace",
		"set",
		"acme",
		"--name",
		"Acme",
		"--root",
		"/srv",
		"--max-sessions",
		"2",
		"--max-journals",
		"1GiB",
	);
	expect(await said("workspace", "show", "acme")).toMatch(
		/^id: +acme\nname: +Acme\nroots: +\/srv\nlimits: +sessions=2 journalBytes=1073741824\ndeclared: +\d{4}-.*\n$/,
	);
	expect(JSON.parse(await said("workspace", "show", "acme", "--json"))).toMatchObject({
		id: "acme",
		name: "Acme",
		roots: ["/srv"],
		limits: { sessions: 2, journalBytes: 1024 ** 3 },
		tasks: [],
	});
	expect(await said("workspace", "ls")).toMatch(
		/^ID +NAME +LIMITS +SANDBOX +ROOTS\nacme +Acme +sessions=2 journalBytes=1073741824 +- +\/srv\n$/,
	);
	await said("workspace", "set", "acme", "--start-rate", "3");
	expect(JSON.parse(await said("workspace", "ls", "--json"))).toMatchObject([
		{ roots: [], limits: { startsPerSecond: 3 } },
	]);
	await said("workspace", "rm", "acme");
	expect(await here.run(["workspace", "show", "acme"])).toMatchObject({ code: 3, stdout: "" });
	expect(await here.run(["workspace", "set", "acme", "--max-journals", "lots"])).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("64KiB"),
	});
});

it("run --task starts sessions for tasks, and ls finds them by name in their workspace", async () => {
	const root = await realpath(await temporaryDirectory());
	await mkdir(join(root, "one"));
	await said("workspace", "set", "red", "--root", root);
	await said("workspace", "set", "blue");
	await said(
		"task",
		"set",
		"t1",
		"--workspace",
		"red",
		"--work-dir",
		join(root, "one"),
		"-e",
		"TOPIC=tests",
		"--issue-key",
		"X-1",
	);
	expect(await said("task", "ls", "--workspace", "red")).toMatch(new RegExp(`\nt1 +X-1 +\\d+s +${root}/one\n$`));
	const run = ["run", "--workspace", "red", "--task", "t1", "--", "sh", "-c"];
	expect(await said(...run, 'echo "$PWD $TOPIC"')).toBe(`${root}/one tests\n`);
	const outside = await here.run(["run", "--workspace", "red", "--", "true"]);
	expect(outside).toMatchObject({ code: 255, stderr: expect.stringContaining(root) });

	const ids: string[] = [];
	for (const workspace of ["red", "blue"]) {
		const flags = ["--workspace", workspace, "--cwd", root, "--name", "shell", "--detach"];
		ids.push((await said("run", ...flags, "--", "cat")).trim());
	}
	const [red, blue] = ids;
	const rows = await said("ls");
	expect(rows).toMatch(/^ID +NAME +WORKSPACE +STATE /);
	expect(rows).toMatch(new RegExp(`^${red} +shell +red +running `, "m"));
	expect(await said("ls", "--workspace", "red")).toMatch(/^ID +NAME +STATE /);
	expect(await here.run(["logs", "shell"])).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("matches 2 sessions"),
	});
	const listed = async (...args: string[]) =>
		(JSON.parse(await said("ls", "--json", ...args)) as { id: string }[]).map(({ id }) => id);
	expect(await listed("--workspace", "red")).toEqual([red]);
	expect(await listed("--workspace", "blue")).toEqual([blue]);
	expect(await listed("--all", "--task", "t1")).toHaveLength(1);
	await said("kill", "--workspace", "blue", "shell");
	expect(await listed()).toEqual([red]);
	expect((await here.run(["kill", red ?? ""], { env: { HAWSER_WORKSPACE: "blue" } })).code).toBe(3);

	expect(await here.run(["workspace", "rm", "red"])).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("has sessions that run (1)"),
	});
	await said("task", "rm", "t1", "--workspace", "red");
	expect((await here.run(["task", "rm", "t1", "--workspace", "red"])).code).toBe(3);
	await said("workspace", "rm", "--force", "red");
	expect(await listed("--all")).toEqual([blue]);
});

it("workspace accepts directories where no program could start, and warns about them", async () => {
	const root = await realpath(await temporaryDirectory());
	const later = await here.run(["workspace", "set", "later", "--root", root, "--root", `${root}/later`]);
	expect(later).toEqual({
		code: 0,
		stdout: "",
		stderr: `hawser: warning: cannot start in "${root}/later": no such directory (ENOENT)\n`,
	});
	const outside = await here.run(["task", "set", "t", "--workspace", "later", "--work-dir", "/etc"]);
	expect(outside).toEqual({
		code: 0,
		stdout: "",
		stderr: 'hawser: warning: "/etc" is outside the workspace\'s roots\n',
	});
	await said("task", "set", "t", "--workspace", "later", "--work-dir", root);
	await said("workspace", "rm", "later");
});

it("a workspace can require a sandbox for every program", async () => {
	const root = await realpath(await temporaryDirectory());
	await said("workspace", "set", "boxed", "--root", root, "--sandbox", "workspace-write");
	expect(await said("workspace", "show", "boxed")).toMatch(
		new RegExp(`^sandbox: +workspaceWrite ${root}, without network$`, "m"),
	);
	expect(await said("workspace", "ls")).toMatch(/^boxed .* workspaceWrite /m);
	const inside = join(root, "file");
	const script = `echo x > ${inside}; echo x > /var/tmp/hawser-boxed || echo refused`;
	const { stdout, stderr } = await here.run(["run", "--workspace", "boxed", "--cwd", root, "--", "sh", "-c", script]);
	expect([stdout, stderr]).toEqual(["refused\n", expect.stringContaining("Read-only file system")]);
	const asked = ["run", "--workspace", "boxed", "--cwd", root, "--sandbox", "danger-full-access", "--", "true"];
	expect(await here.run(asked)).toMatchObject({
		code: 255,
		stderr: expect.stringContaining('workspace "boxed" requires the sandbox policy "workspaceWrite"'),
	});
	await said("workspace", "set", "boxed", "--sandbox", "workspace-write", "--sandbox-root", "/srv", "--network");
	expect(await said("workspace", "show", "boxed")).toMatch(/^sandbox: +workspaceWrite \/srv, with network$/m);
	await said("workspace", "set", "boxed", "--sandbox", "read-only");
	expect(await said("workspace", "show", "boxed")).toMatch(/^sandbox: +readOnly, without network$/m);
	await said("workspace", "set", "boxed");
	expect(await said("workspace", "show", "boxed")).not.toContain("sandbox");
	for (const wrong of [["--network"], ["--sandbox-root", "/srv"], ["--sandbox", "danger-full-access"]])
		expect(await here.run(["workspace", "set", "boxed", ...wrong])).toMatchObject({ code: 1, stdout: "" });
	await said("workspace", "rm", "boxed", "--force");
});
