/** `GET /files/search`, `/files/info` and `/directories/list`: contract of files, sections 3.1 to 3.3. */

import { execFileSync } from "node:child_process";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseGlob } from "../../../../src/fronts/dropins/opensandbox/files/glob.ts";
import { processorMs } from "../../../support/cpu-time.ts";
import { Files, type Info, query } from "./support/files-client.ts";

const search = (path: string, pattern?: string) =>
	`/files/search${query({ path, ...(pattern === undefined ? {} : { pattern }) })}`;
const list = (path: string, depth?: string) =>
	`/directories/list${query({ path, ...(depth === undefined ? {} : { depth }) })}`;

async function tree(files: Files): Promise<void> {
	await mkdir(files.at("b/inner/deep"), { recursive: true });
	await mkdir(files.at("empty"));
	for (const name of ["a.py", "Z.py", ".hidden", "b/c.py", "b/inner/d.txt", "b/inner/deep/e.py"])
		await writeFile(files.at(name), name);
	await symlink("b", files.at("to-b"));
	await symlink(".", files.at("b/loop"));
}

describe("scenario 17: patterns", () => {
	const rows: [pattern: string, matching: string[], other: string[]][] = [
		["*.py", ["a.py", ".py"], ["a.pyc", "a.PY"]],
		["**", ["anything", ".x"], []],
		["**/*.py", ["a.py"], ["a.txt"]],
		["a**b", ["ab", "axxb"], ["a"]],
		["?.py", ["a.py", "报.py", "🐢.py"], ["ab.py", ".py"]],
		["[abc].x", ["a.x"], ["d.x"]],
		["[a-c].x", ["b.x"], ["d.x", "-.x"]],
		["[!x]", ["a"], ["x"]],
		["[^x-z]", ["a"], ["y"]],
		["[a\\]]", ["]", "a"], ["b"]],
		["{a,b*,{c,d}}", ["a", "bxx", "c", "d"], ["e", "ax"]],
		["x{,y}", ["x", "xy"], ["xz"]],
		["\\*", ["*"], ["a"]],
		["!(*.log)", ["a.txt"], ["a.log"]],
		["!(*.{py,txt})", ["a.log"], ["a.py", "a.txt"]],
		["a!(b)c", ["a.py"], ["abc"]],
		["hello!.txt", ["hello!.txt"], ["hello.txt"]],
		["", [], ["a"]],
	];
	test.each(rows)("%s", (pattern, matching, other) => {
		const glob = parseGlob(pattern);
		expect(matching.filter((name) => !glob.matches(name))).toEqual([]);
		expect(other.filter((name) => glob.matches(name))).toEqual([]);
	});

	test.each(["[", "[a", "[]", "{a", "a}", "a\\", "!(a", "x".repeat(2000)])("%s is refused", async (pattern) => {
		const files = await Files.start();
		expect(await files.get(search(files.root, pattern))).toMatchObject({ status: 400, code: "INVALID_REQUEST_BODY" });
	});

	test("F-10: no pattern is slow", async () => {
		const patterns = [`${"*a".repeat(100)}b`, `${"{a,aa}".repeat(60)}b`, `${"!(a)*".repeat(50)}`];
		const match = () => patterns.map((pattern) => parseGlob(pattern).matches("a".repeat(255)));
		expect(await processorMs(match)).toBeLessThan(2_000);
	});

	test("F-10: no pattern is slow on a deep path of long names", async () => {
		const path = `${"a".repeat(240)}/`.repeat(14);
		const match = () => {
			const glob = parseGlob(`${"**a".repeat(20)}/b`);
			expect([glob.matches(`${path}c`), glob.matches(`${path}b`)]).toEqual([false, true]);
		};
		expect(await processorMs(match)).toBeLessThan(500);
	});

	test("* stays in its directory, ** does not", () => {
		const path = "a/b/c.py";
		const matching = ["a/**", "a/**/c.py", "a/*/c.py", "a/**/b/**/*.py", "a**py", "a/!(x)"];
		expect(matching.filter((pattern) => !parseGlob(pattern).matches(path))).toEqual([]);
		const other = ["a/*", "a/*.py", "*/c.py", "a/?/?/c.py", "a[/]b/c.py", "a/!(b/*)"];
		expect(other.filter((pattern) => parseGlob(pattern).matches(path))).toEqual([]);
	});
});

test("scenario 17, F-08: search lists files of all directories by name, and follows no link", async () => {
	const files = await Files.start();
	await tree(files);
	expect(await files.paths(search(files.root))).toEqual([
		".hidden",
		"Z.py",
		"a.py",
		"b/c.py",
		"b/inner/d.txt",
		"b/inner/deep/e.py",
		"b/loop",
		"to-b",
	]);
	expect(await files.paths(search(files.root, "*.py"))).toEqual(["Z.py", "a.py", "b/c.py", "b/inner/deep/e.py"]);
	expect(await files.paths(search(files.root, "b/*.py"))).toEqual(["b/c.py"]);
	expect(await files.paths(search(files.root, "b/**/*.py"))).toEqual(["b/c.py", "b/inner/deep/e.py"]);
	// An explicitly requested link is followed.
	expect(await files.paths(search(files.at("to-b"), "c*"))).toEqual(["to-b/c.py"]);
	expect(await files.paths(search(files.at("a.py"), "a*"))).toEqual(["a.py"]);
	expect((await files.get(search(files.at("empty")))).body).toEqual([]);
	expect(await files.get(search(files.at("missing")))).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
	expect(await files.get("/files/search")).toMatchObject({ status: 400, code: "MISSING_QUERY" });
});

test("scenario 18: list goes to the requested depth, directories before their content", async () => {
	const files = await Files.start();
	await tree(files);
	const top = [".hidden", "Z.py", "a.py", "b", "empty", "to-b"];
	expect(await files.paths(list(files.root))).toEqual(top);
	expect(await files.paths(list(files.root, ""))).toEqual(top);
	expect(await files.paths(list(files.root, "0"))).toEqual([]);
	expect(await files.paths(list(files.root, "2"))).toEqual([
		...top.slice(0, 4),
		"b/c.py",
		"b/inner",
		"b/loop",
		...top.slice(4),
	]);
	expect(await files.paths(list(files.root, "9"))).toContain("b/inner/deep/e.py");
	expect(await files.paths(list(files.at("to-b/inner")))).toEqual(["to-b/inner/d.txt", "to-b/inner/deep"]);
	for (const path of [files.at("to-b"), `${files.at("to-b")}/`])
		expect(await files.get(list(path))).toMatchObject({ status: 400, body: { message: /symbolic link/ } });
	expect(await files.get(list(files.at("a.py")))).toMatchObject({ status: 400, body: { message: /not a directory/ } });
	expect(await files.get(list(files.at("missing")))).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
	for (const depth of ["-1", "x", "1.5"]) expect((await files.get(list(files.root, depth))).status).toBe(400);
	const response = await files.server.request(list(files.root));
	expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
	expect(Number(response.headers.get("content-length"))).toBe((await response.arrayBuffer()).byteLength);
});

test("3.1: info reports the type of each path, a link as such, under the requested path", async () => {
	const files = await Files.start();
	await writeFile(files.at("file"), "12345", { mode: 0o640 });
	await chmod(files.at("file"), 0o1640);
	await symlink("nowhere", files.at("link"));
	execFileSync("mkfifo", [files.at("pipe")]);
	const { body } = await files.get(`/files/info${query({ path: ["file", files.at("link"), "./pipe", "."] })}`);
	const infos = body as Record<string, Info>;
	expect(Object.keys(infos)).toEqual(["file", files.at("link"), "./pipe", "."]);
	expect(infos.file).toMatchObject({ path: files.at("file"), type: "file", size: 5, mode: 640 });
	expect(infos[files.at("link")]).toMatchObject({ type: "symlink", size: 7 });
	expect(infos["./pipe"]).toMatchObject({ path: files.at("pipe"), type: "other" });
	expect(infos["."]).toMatchObject({ path: files.root, type: "directory" });
	for (const { modified_at: modified, created_at: created, owner, group } of Object.values(infos)) {
		expect(modified).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/);
		expect(Math.abs(Date.parse(modified) - Date.parse(created))).toBeLessThan(60_000);
		expect([owner, group].every((name) => name !== "")).toBe(true);
	}
	if (process.getuid?.() === 0) expect(infos.file).toMatchObject({ owner: "root", group: "root" });
	expect((await files.get("/files/info")).body).toEqual({});
	expect(await files.get(`/files/info?path=file&path=missing`)).toMatchObject({ status: 404, code: "FILE_NOT_FOUND" });
	expect(await files.get(`/files/info?path=file/x`)).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	expect(await files.get(`/files/info?path=a%00b`)).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	// An unreadable pair is skipped.
	expect((await files.get("/files/info?path=%zz")).body).toEqual({});
});

test("scenario 19, F-14: an unreadable directory does not hide the others", async () => {
	const files = await Files.start();
	const isRoot = process.getuid?.() === 0;
	await mkdir(files.at("closed"));
	await writeFile(files.at("closed/secret"), "");
	await chmod(files.at("closed"), isRoot ? 0o700 : 0);
	await writeFile(files.at("open"), "");
	await chmod(files.root, 0o755);
	const become = (uid: number) => void (isRoot && process.seteuid?.(uid));
	onTestFinished(() => become(0));
	become(65_534);
	const found = await files.paths(search(files.root));
	const listed = await files.paths(list(files.root, "5"));
	const root = await files.get(list(files.at("closed")));
	become(0);
	await chmod(files.at("closed"), 0o700);
	expect([found, listed]).toEqual([["open"], ["closed", "open"]]);
	expect(root).toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
});

test("F-15: a directory with many entries delays other requests only briefly", async () => {
	const files = await Files.start();
	const count = 20_000;
	execFileSync("sh", ["-c", `seq -f %06.0f 1 ${count} | xargs touch`], { cwd: files.root });
	// By CPU time as well, since other processes may delay this one for longer.
	let longestMs = 0;
	let last = { wall: performance.now(), cpu: process.cpuUsage() };
	const timer = setInterval(() => {
		const { user, system } = process.cpuUsage(last.cpu);
		longestMs = Math.max(longestMs, Math.min(performance.now() - last.wall, (user + system) / 1000));
		last = { wall: performance.now(), cpu: process.cpuUsage() };
	}, 1);
	const response = await files.server.request(list(files.root));
	const chunks: Uint8Array[] = [];
	for await (const chunk of response.body ?? []) chunks.push(chunk as Uint8Array);
	clearInterval(timer);
	expect(longestMs).toBeLessThan(100);
	const infos = JSON.parse(Buffer.concat(chunks).toString()) as Info[];
	expect(infos.length).toBe(count);
	expect(infos.map(({ path }) => path)).toEqual([...infos.map(({ path }) => path)].sort());
}, 30_000);
