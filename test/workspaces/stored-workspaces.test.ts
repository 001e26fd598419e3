import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { writeAtomically } from "../../src/disk/write-atomically.ts";
import { StoredWorkspaces } from "../../src/workspaces/stored-workspaces.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

async function open(directory: string, write = writeAtomically, clock = new FakeClock()): Promise<StoredWorkspaces> {
	return StoredWorkspaces.open({ directory, write, clock });
}

it("finds again what was put, in a file that a person can read", async () => {
	const directory = join(await temporaryDirectory(), "workspaces");
	const store = await open(directory);
	const made = await store.put("acme", { name: "Acme", roots: ["/srv/acme"], limits: { sessions: 3 } });
	const first = await store.putTask("acme", "t1", { workDir: "/srv/acme/one", issueKey: "MUL-1", env: { A: "1" } });
	const second = await store.putTask("acme", "t2", { workDir: "/srv/acme/two" });
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

it("replaces what was said of a workspace, and keeps its tasks and its age", async () => {
	const clock = new FakeClock();
	const directory = await temporaryDirectory();
	const store = await open(directory, writeAtomically, clock);
	const { createdAt } = await store.put("acme", { name: "Acme", roots: ["/a"], limits: { sessions: 3 } });
	await store.putTask("acme", "t1", { workDir: "/a/1" });
	clock.advance(5_000);
	expect(await store.put("acme", { roots: [] })).toEqual({ id: "acme", name: null, roots: [], limits: {}, createdAt });
	await store.putTask("acme", "t2", { workDir: "/a/2" });
	await store.putTask("acme", "t1", { workDir: "/a/3" });
	expect((await open(directory)).tasks("acme").map(({ id, workDir }) => [id, workDir])).toEqual([
		["t2", "/a/2"],
		["t1", "/a/3"],
	]);
});

it("forgets a task, and a workspace with its tasks", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	await store.put("acme", { roots: [] });
	await store.putTask("acme", "t1", { workDir: "/a" });
	expect(await store.removeTask("acme", "t1")).toBe(true);
	expect(await store.removeTask("acme", "t1")).toBe(false);
	await store.putTask("acme", "t2", { workDir: "/a" });
	expect(await store.remove("acme")).toBe(true);
	expect(await store.remove("acme")).toBe(false);
	await store.put("acme", { roots: [] });
	expect(store.tasks("acme")).toEqual([]);
	await store.remove("acme");
	expect(await readdir(directory)).toEqual([]);
});

it("takes many changes at once without losing one", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	await store.put("acme", { roots: [] });
	const ids = Array.from({ length: 20 }, (_, i) => `t${i}`);
	await Promise.all(ids.map((id) => store.putTask("acme", id, { workDir: `/w/${id}` })));
	expect((await open(directory)).tasks("acme").map(({ id }) => id)).toEqual(ids.reverse());
});

it("leaves everything as it was when the disk refuses a change", async () => {
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
	await expect(store.putTask("acme", "t", { workDir: "/a" })).rejects.toMatchObject({ code: "ENOSPC" });
	expect(store.get("acme")?.roots).toEqual(["/a"]);
	expect(store.tasks("acme")).toEqual([]);
	isFull = false;
	await store.putTask("acme", "t", { workDir: "/a" });
	expect((await open(directory)).get("acme")?.roots).toEqual(["/a"]);
});

it("refuses what can't be an id or a directory, tasks of nobody, and more than a file may hold", async () => {
	const store = await open(await temporaryDirectory());
	for (const id of ["", ".", "..", "a/b", "a b", "../x", "x".repeat(65)]) {
		expect(() => store.put(id, { roots: [] }), id).toThrow(expect.objectContaining({ code: "invalid_argument" }));
	}
	expect(() => store.put("a", { roots: ["srv"] })).toThrow(/absolute/);
	await expect(store.putTask("a", "t", { workDir: "/a" })).rejects.toMatchObject({ code: "not_found" });
	await store.put("a", { roots: [] });
	expect(() => store.putTask("a", "t", { workDir: "a" })).toThrow(/absolute/);
	const env = { BIG: "x".repeat(1024 ** 2) };
	await expect(store.putTask("a", "t", { workDir: "/a", env })).rejects.toMatchObject({ code: "limit_exceeded" });
	expect(store.tasks("a")).toEqual([]);
});

it("is named by ids that are odd names for files", async () => {
	const directory = await temporaryDirectory();
	const store = await open(directory);
	const ids = ["...", "-", "a.json", "a.json.new", "x".repeat(64)];
	for (const id of ids) await store.put(id, { name: id, roots: [] });
	const again = await open(directory);
	expect(again.list().map(({ name }) => name)).toEqual([...ids].sort());
});

describe("a file that is not ours", () => {
	const good = { version: 1, id: "acme", name: null, roots: ["/a"], limits: {}, createdAt: 1, tasks: [] };
	const task = { id: "t", workDir: "/a", issueId: null, issueKey: null, priorSessionId: null, env: {}, createdAt: 1 };

	async function opened(text: string): Promise<StoredWorkspaces> {
		const directory = await temporaryDirectory();
		await writeFile(join(directory, "acme.json"), text);
		return open(directory);
	}

	it("is read when a person wrote it well", async () => {
		const store = await opened(JSON.stringify({ ...good, limits: { sessions: 1 }, tasks: [task] }));
		expect(store.get("acme")).toMatchObject({ roots: ["/a"], limits: { sessions: 1 } });
		expect(store.task("acme", "t")).toEqual({ ...task, workspace: "acme" });
	});

	it.each([
		["torn", JSON.stringify(good).slice(0, -9), /acme\.json .*not JSON/],
		["empty", "", /acme\.json .*not JSON/],
		["a list", "[]", /acme\.json .*"version"/],
		["of another workspace", JSON.stringify({ ...good, id: "evil" }), /"id"/],
		["without roots", JSON.stringify({ ...good, roots: undefined }), /"roots"/],
		["with a relative root", JSON.stringify({ ...good, roots: ["a"] }), /"roots"/],
		["with a misspelt limit", JSON.stringify({ ...good, limits: { session: 1 } }), /"limits"/],
		["with a limit of nothing", JSON.stringify({ ...good, limits: { sessions: 0 } }), /"limits"/],
		["with a task of no place", JSON.stringify({ ...good, tasks: [{ ...task, workDir: 3 }] }), /"tasks"/],
		["with a task twice", JSON.stringify({ ...good, tasks: [task, task] }), /"tasks"/],
		["of a newer version", JSON.stringify({ ...good, version: 2 }), /newer version/],
	])("is refused with its name and what is wrong when it is %s", async (_, text, message) => {
		await expect(opened(text)).rejects.toMatchObject({
			code: "unsupported",
			message: expect.stringMatching(message) as unknown,
			hint: expect.any(String) as unknown,
		});
	});
});

it("has all that was promised, and nothing torn, after its process was killed in the middle of writing", async () => {
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
	// More may be there: on disk, but their writer did not live to say so.
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

	it("admit what is in them, by its real path", async () => {
		const { root, store } = await site();
		const deep = join(root, "in", "deep");
		expect(await store.admit("acme", join(root, "in"))).toBe(join(root, "in"));
		for (const path of ["in/deep", "in/inside", "alias/deep", "in/../in/./deep"]) {
			expect(await store.admit("acme", `${root}/${path}`), path).toBe(deep);
		}
	});

	it("admit nothing else: no neighbour, no parent, nothing that a link leads to", async () => {
		const { root, store } = await site();
		for (const path of ["out", "in-between", "", "in/escape", "in/..", "in/escape/../in-between"]) {
			await expect(store.admit("acme", `${root}/${path}`), path).rejects.toMatchObject({ code: "permission_denied" });
		}
		for (const path of ["in/none", "absent/x"]) {
			await expect(store.admit("acme", `${root}/${path}`), path).rejects.toMatchObject({ code: "spawn_failed" });
		}
	});

	it("may be links themselves, and everything where there are none", async () => {
		const { root, store } = await site();
		await store.put("acme", { roots: [join(root, "alias")] });
		expect(await store.admit("acme", join(root, "in", "inside"))).toBe(join(root, "in", "deep"));
		await store.put("acme", { roots: ["/"] });
		expect(await store.admit("acme", join(root, "out"))).toBe(join(root, "out"));
		await store.put("acme", { roots: [] });
		expect(await store.admit("acme", join(root, "in", "inside"))).toBe(join(root, "in", "inside"));
		expect(await store.admit("never-declared", "/not/there")).toBe("/not/there");
	});
});

it("counts starts by a workspace's own rate, which another change of it does not begin anew", async () => {
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
