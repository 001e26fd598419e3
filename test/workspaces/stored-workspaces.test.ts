import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { writeAtomically } from "../../src/disk/write-atomically.ts";
import { StoredWorkspaces } from "../../src/workspaces/stored-workspaces.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { operator } from "../support/owner.ts";
import { temporaryDirectory } from "../support/temporary.ts";

async function open(directory: string, write = writeAtomically, clock = new FakeClock()): Promise<StoredWorkspaces> {
	return StoredWorkspaces.open({ directory, write, clock });
}

it("stored workspaces are found again, in a file that people can read", async () => {
	const directory = join(await temporaryDirectory(), "workspaces");
	const store = await open(directory);
	const made = await store.put("acme", { name: "Acme", roots: ["/srv/acme"], limits: { sessions: 3 } });
	const first = await store.putTask(
		"acme",
		"t1",
		{ workDir: "/srv/acme/one", issueKey: "MUL-1", env: { A: "1" } },
		operator,
	);
	const second = await store.putTask("acme", "t2", { workDir: "/srv/acme/two" }, operator);
	expect(first).toMatchObject({ workspace: "acme", issueKey: "MUL-1", issueId: null, env: { A: "1" } });

	const again = await open(directory);
	expect(again.list()).toEqual([made]);
	expect(again.tasks("acme")).toEqual([second, first]);
	expect(again.task("acme", "t1")).toEqual(first);
	expect(again.task("other", "t1")).toBeUndefined();
	const file = join(directory, "acme.json");
	expect((await readFile(file, "utf8")).split("\n")).toContain('\t"name": "Acme",');
	expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it("a new declaration replaces a workspace, and keeps its tasks and its creation time", async () => {
	const clock = new FakeClock();
	const directory = await temporaryDirectory();
	const store = await open(directory, writeAtomically, clock);
	const { createdAt } = await store.put("acme", { name: "Acme", roots: ["/a"], limits: { sessions: 3 } });
	await store.putTask("acme", "t1", { workDir: "/a/1" }, operator);
	clock.advance(5_000);
	expect(await store.put("acme", { roots: [] })).toEqual({
		id: "acme",
		name: null,
		roots: [],
		limits: {},
		sandbox: null,
		createdAt,
	});
	await store.putTask("acme", "t2", { workDir: "/a/2" }, operator);
	await store.putTask("acme", "t1", { workDir: "/a/3" }, operator);
	expect((await open(directory)).tasks("acme").map(({ id, workDir }) => [id, workDir])).toEqual([
		["t2", "/a/2"],
		["t1", "/a/3"],
	]);
});

it("removing a task, or a workspace with its tasks, forgets it", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	await store.put("acme", { roots: [] });
	await store.putTask("acme", "t1", { workDir: "/a" }, operator);
	expect(await store.removeTask("acme", "t1", operator)).toBe(true);
	expect(await store.removeTask("acme", "t1", operator)).toBe(false);
	await store.putTask("acme", "t2", { workDir: "/a" }, operator);
	expect(await store.remove("acme")).toBe(true);
	expect(await store.remove("acme")).toBe(false);
	await store.put("acme", { roots: [] });
	expect(store.tasks("acme")).toEqual([]);
	await store.remove("acme");
	expect(await readdir(directory)).toEqual([]);
});

it("concurrent changes are all stored", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	await store.put("acme", { roots: [] });
	const ids = Array.from({ length: 20 }, (_, i) => `t${i}`);
	await Promise.all(ids.map((id) => store.putTask("acme", id, { workDir: `/w/${id}` }, operator)));
	expect((await open(directory)).tasks("acme").map(({ id }) => id)).toEqual(ids.reverse());
});

it("a change that the disk refuses changes nothing", async () => {
	let isFull = false;
	const write = async (path: string, text: string) => {
		if (isFull) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
		await writeAtomically(path, text);
	};
	const directory = await temporaryDirectory();
	const store = await open(directory, write);
	await store.put("acme", { roots: ["/a"] });
	isFull = true;
	await expect(store.put("acme", { roots: [] })).rejects.toMatchObject({ code: "ENOSPC" });
	await expect(store.putTask("acme", "t", { workDir: "/a" }, operator)).rejects.toMatchObject({ code: "ENOSPC" });
	expect(store.get("acme")?.roots).toEqual(["/a"]);
	expect(store.tasks("acme")).toEqual([]);
	isFull = false;
	await store.putTask("acme", "t", { workDir: "/a" }, operator);
	expect((await open(directory)).get("acme")?.roots).toEqual(["/a"]);
});

it("invalid ids and directories, tasks without a workspace, and files above the limit are refused", async () => {
	const store = await open(await temporaryDirectory());
	for (const id of ["", ".", "..", "a/b", "a b", "../x", "x".repeat(65)]) {
		expect(() => store.put(id, { roots: [] }), id).toThrow(expect.objectContaining({ code: "invalid_argument" }));
	}
	expect(() => store.put("a", { roots: ["srv"] })).toThrow(/absolute/);
	await expect(store.putTask("a", "t", { workDir: "/a" }, operator)).rejects.toMatchObject({ code: "not_found" });
	await store.put("a", { roots: [] });
	expect(() => store.putTask("a", "t", { workDir: "a" }, operator)).toThrow(/absolute/);
	const env = { BIG: "x".repeat(1024 ** 2) };
	await expect(store.putTask("a", "t", { workDir: "/a", env }, operator)).rejects.toMatchObject({
		code: "limit_exceeded",
	});
	expect(store.tasks("a")).toEqual([]);
});

it("ids that are unusual file names work", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	const ids = ["...", "-", "a.json", "a.json.new", "x".repeat(64)];
	for (const id of ids) await store.put(id, { name: id, roots: [] });
	const again = await open(directory);
	expect(again.list().map(({ name }) => name)).toEqual([...ids].sort());
});

describe("an edited file", () => {
	const good = { version: 1, id: "acme", name: null, roots: ["/a"], limits: {}, createdAt: 1, tasks: [] };
	const task = { id: "t", workDir: "/a", issueId: null, issueKey: null, priorSessionId: null, env: {}, createdAt: 1 };

	const withSandbox = (sandbox: unknown) => JSON.stringify({ ...good, version: 2, sandbox });

	async function opened(text: string): Promise<StoredWorkspaces> {
		const directory = await temporaryDirectory();
		await writeFile(join(directory, "acme.json"), text);
		return open(directory);
	}

	it("a valid file written by a person is read", async () => {
		const store = await opened(JSON.stringify({ ...good, limits: { sessions: 1 }, tasks: [task] }));
		expect(store.get("acme")).toMatchObject({ roots: ["/a"], limits: { sessions: 1 } });
		expect(store.task("acme", "t")).toEqual({ ...task, owner: null, workspace: "acme" });
	});

	it("a required sandbox is read again, from a file that an older server refuses", async () => {
		const directory = await temporaryDirectory();
		const sandbox = { type: "workspaceWrite", excludeSlashTmp: true, limits: { cpuSeconds: 5 } } as const;
		const { sandbox: stored } = await (await open(directory)).put("acme", { roots: ["/a"], sandbox });
		expect(stored).toEqual({ ...sandbox, writableRoots: ["/a"], excludeTmpdirEnvVar: true });
		expect((await open(directory)).get("acme")?.sandbox).toEqual(stored);
		expect(JSON.parse(await readFile(join(directory, "acme.json"), "utf8"))).toMatchObject({ version: 2 });
		const paths = [{ path: "/a", access: "none" as const }];
		expect((await opened(withSandbox({ type: "paths", paths }))).get("acme")?.sandbox).toEqual({
			type: "paths",
			paths,
		});
	});

	it.each([
		["torn", JSON.stringify(good).slice(0, -9), /acme\.json .*not JSON/],
		["empty", "", /acme\.json .*not JSON/],
		["a list", "[]", /acme\.json .*"version"/],
		["of another workspace", JSON.stringify({ ...good, id: "evil" }), /"id"/],
		["without roots", JSON.stringify({ ...good, roots: undefined }), /"roots"/],
		["with a relative root", JSON.stringify({ ...good, roots: ["a"] }), /"roots"/],
		["with an unknown limit", JSON.stringify({ ...good, limits: { session: 1 } }), /"limits"/],
		["with a limit of zero", JSON.stringify({ ...good, limits: { sessions: 0 } }), /"limits"/],
		["with a task without a directory", JSON.stringify({ ...good, tasks: [{ ...task, workDir: 3 }] }), /"tasks"/],
		["with a duplicate task", JSON.stringify({ ...good, tasks: [task, task] }), /"tasks"/],
		["of a newer version", JSON.stringify({ ...good, version: 3 }), /newer version/],
	])("an invalid file is refused with its name and the reason when it is %s", async (_, text, message) => {
		await expect(opened(text)).rejects.toMatchObject({
			code: "unsupported",
			message: expect.stringMatching(message) as unknown,
			hint: expect.any(String) as unknown,
		});
	});

	it.each([
		{ type: "dangerFullAccess" },
		{ type: "readOnly", networkAcces: false },
		{ type: "readOnly", networkAccess: "no" },
		{ type: "readOnly", limits: { cpuSecond: 1 } },
		{ type: "workspaceWrite", excludeTmpdirEnvVar: true },
		{ type: "workspaceWrite", writableRoots: ["/a"] },
		{ type: "paths", paths: [{ path: "a", access: "read" }] },
		{ type: "paths", paths: [{ path: "/a", access: "all" }] },
		"readOnly",
	])("a file with an invalid required sandbox is refused: %j", async (sandbox) => {
		await expect(opened(withSandbox(sandbox))).rejects.toThrow(/acme\.json .*invalid "sandbox"/);
	});
});

it("after a kill during writes, all confirmed changes are stored, and none partially", async () => {
	const directory = await temporaryDirectory();
	const program = fileURLToPath(new URL("../fixtures/workspaces-writer.js", import.meta.url));
	const writer = fork(program, [directory]);
	let promised = 0;
	writer.on("message", (count) => {
		promised = Number(count);
		if (promised === 30) writer.kill("SIGKILL");
	});
	await once(writer, "exit");
	const store = await open(directory);
	// More may be stored: the writer was killed before it could confirm them.
	const { length } = store.tasks("acme");
	expect(length).toBeGreaterThanOrEqual(Math.max(30, promised));
	expect(store.tasks("acme").map(({ id }) => id)).toEqual(Array.from({ length }, (_, n) => `t${length - n}`));
});

describe("the roots of a workspace", () => {
	async function site(): Promise<{ root: string; store: StoredWorkspaces }> {
		const root = await realpath(await temporaryDirectory());
		await mkdir(join(root, "in", "deep"), { recursive: true });
		await mkdir(join(root, "in-between"));
		await mkdir(join(root, "out"));
		await symlink(join(root, "out"), join(root, "in", "escape"));
		await symlink("deep", join(root, "in", "inside"));
		await symlink(join(root, "in"), join(root, "alias"));
		const store = await open(join(root, "state"));
		await store.put("acme", { roots: [join(root, "in"), join(root, "absent")] });
		return { root, store };
	}

	it("roots admit directories inside them, by real path", async () => {
		const { root, store } = await site();
		const deep = join(root, "in", "deep");
		expect(await store.resolveDirectory("acme", join(root, "in"))).toBe(join(root, "in"));
		for (const path of ["in/deep", "in/inside", "alias/deep", "in/../in/./deep"]) {
			expect(await store.resolveDirectory("acme", `${root}/${path}`), path).toBe(deep);
		}
	});

	it("roots admit no neighbor, no parent, and no target of a link outside", async () => {
		const { root, store } = await site();
		for (const path of ["out", "in-between", "", "in/escape", "in/..", "in/escape/../in-between"]) {
			await expect(store.resolveDirectory("acme", `${root}/${path}`), path).rejects.toMatchObject({
				code: "permission_denied",
			});
		}
		for (const path of ["in/none", "absent/x"]) {
			await expect(store.resolveDirectory("acme", `${root}/${path}`), path).rejects.toMatchObject({
				code: "spawn_failed",
			});
		}
	});

	it("roots may be links, and without roots everything is admitted", async () => {
		const { root, store } = await site();
		await store.put("acme", { roots: [join(root, "alias")] });
		expect(await store.resolveDirectory("acme", join(root, "in", "inside"))).toBe(join(root, "in", "deep"));
		await store.put("acme", { roots: ["/"] });
		expect(await store.resolveDirectory("acme", join(root, "out"))).toBe(join(root, "out"));
		await store.put("acme", { roots: [] });
		expect(await store.resolveDirectory("acme", join(root, "in", "inside"))).toBe(join(root, "in", "inside"));
		expect(await store.resolveDirectory("never-declared", "/not/there")).toBe("/not/there");
	});
});

it("starts are counted by the workspace's rate, and an unrelated change does not reset the count", async () => {
	const clock = new FakeClock();
	const store = await open(await temporaryDirectory(), writeAtomically, clock);
	await store.put("acme", { roots: [], limits: { startsPerSecond: 2 } });
	for (let i = 0; i < 10; i++) expect(store.countStart("acme")).toBe(0);
	expect(store.countStart("acme")).toBe(500);
	await store.put("acme", { roots: ["/"], limits: { startsPerSecond: 2 } });
	expect(store.countStart("acme")).toBe(500);
	clock.advance(500);
	expect(store.countStart("acme")).toBe(0);
	for (let i = 0; i < 100; i++) expect(store.countStart("other")).toBe(0);
});
