/** `fs/walk`: its entries, their order and its limits (contract §10.2, §6). */

import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { FileHandles } from "../../../../src/fronts/dropins/codex-exec/files/handles.ts";
import { createFileMethods } from "../../../../src/fronts/dropins/codex-exec/files/methods.ts";
import { toPathUri } from "../../../../src/fronts/dropins/codex-exec/path-uri.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { below, caller, uriBelow } from "./support/calls.ts";

const call = caller(createFileMethods(new FileHandles()));

const plenty = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: false };

type Answer = {
	entries: { path: string; kind: string }[];
	errors: { path: string; message: string }[];
	truncated: boolean;
};

/** Creates files and their parent directories. A name that ends with a slash is a directory. */
async function tree(...names: string[]): Promise<string> {
	const directory = await temporaryDirectory();
	for (const name of names) {
		const path = `${directory}/${name}`;
		if (name.endsWith("/")) await mkdir(path, { recursive: true });
		else {
			await mkdir(dirname(path), { recursive: true });
			await writeFile(path, "");
		}
	}
	return directory;
}

/** The entries as paths below the directory, directories with a slash, and whether the list is truncated. */
async function walked(directory: string, options: object = {}): Promise<{ found: string[]; truncated: boolean }> {
	const params = { path: toPathUri(directory), options: { ...plenty, ...options } };
	const { entries, errors, truncated } = (await call("fs/walk", params)) as Answer;
	expect(errors).toEqual([]);
	const start = toPathUri(directory).length + 1;
	return { found: entries.map(({ path, kind }) => path.slice(start) + (kind === "file" ? "" : "/")), truncated };
}

test("fs/walk goes breadth first, by name, and does not list the root", async () => {
	const directory = await tree("b/2/deep", "b/1", "a/x", "c", "B", "z é");
	expect(await walked(directory)).toEqual({
		found: ["B", "a/", "b/", "c", "z%20%C3%A9", "a/x", "b/1", "b/2/", "b/2/deep"],
		truncated: false,
	});
});

test("fs/walk answers with three members", async () => {
	const directory = await tree("root.txt", "nested/note.txt");
	expect(await call("fs/walk", { path: toPathUri(directory), options: plenty })).toEqual({
		entries: [
			{ path: uriBelow(directory, "nested"), kind: "directory" },
			{ path: uriBelow(directory, "root.txt"), kind: "file" },
			{ path: uriBelow(directory, "nested/note.txt"), kind: "file" },
		],
		errors: [],
		truncated: false,
	});
});

test("fs/walk skips links, pipes and broken links, and keeps names that are not UTF-8", async () => {
	const directory = await tree("dir/leaf");
	await symlink("dir", `${directory}/to-dir`);
	await symlink("dir/leaf", `${directory}/to-file`);
	await symlink("nowhere", `${directory}/broken`);
	await symlink("cycle", `${directory}/cycle`);
	execFileSync("mkfifo", [`${directory}/pipe`]);
	const notText = Buffer.from("\xe9", "latin1");
	await mkdir(below(directory, notText));
	await writeFile(below(directory, Buffer.concat([notText, Buffer.from("/in")])), "");
	expect((await walked(directory)).found).toEqual(["dir/", "%E9/", "dir/leaf", "%E9/in"]);
});

test("fs/walk follows directory links on request, each directory once, and never file links", async () => {
	const directory = await tree("dir/leaf");
	await symlink("..", `${directory}/dir/up`);
	await symlink("dir", `${directory}/again`);
	await symlink("dir/leaf", `${directory}/to-file`);
	expect(await walked(directory, { followDirectorySymlinks: true })).toEqual({
		found: ["again/", "dir/", "again/leaf", "again/up/"],
		truncated: false,
	});
});

test("fs/walk follows a root that is a link only on request", async () => {
	const directory = await tree("dir/leaf");
	await symlink("dir", `${directory}/link`);
	expect(await walked(`${directory}/link`)).toEqual({ found: [], truncated: false });
	expect((await walked(`${directory}/link`, { followDirectorySymlinks: true })).found).toEqual(["leaf"]);
});

test("fs/walk accepts / as the root", async () => {
	const params = { path: "file:///", options: { ...plenty, maxDepth: 0 } };
	const { entries } = (await call("fs/walk", params)) as Answer;
	expect(entries).toContainEqual({ path: "file:///proc", kind: "directory" });
});

test("fs/walk of a file is empty, and of a missing path an error", async () => {
	const directory = await tree("file");
	expect(await walked(`${directory}/file`)).toEqual({ found: [], truncated: false });
	expect(await call("fs/walk", { path: uriBelow(directory, "no"), options: plenty })).toMatchObject({ code: -32004 });
});

test("fs/walk can list hidden directories without entering them, and hidden files are files", async () => {
	const directory = await tree(".git/config", ".env", "src/.cache/x");
	expect((await walked(directory, { pruneHiddenDirectories: true })).found).toEqual([
		".env",
		".git/",
		"src/",
		"src/.cache/",
	]);
	expect((await walked(directory, { pruneHiddenDirectories: null })).found).toContain(".git/config");
});

describe("fs/walk budgets", () => {
	test("depth: deeper directories are not entered, which is no truncation", async () => {
		const directory = await tree("a/b/c/d");
		expect(await walked(directory, { maxDepth: 0 })).toEqual({ found: ["a/"], truncated: false });
		expect(await walked(directory, { maxDepth: 2 })).toEqual({ found: ["a/", "a/b/", "a/b/c/"], truncated: false });
	});

	test("directories: excess ones are listed and not entered", async () => {
		const directory = await tree("a/1", "b/2", "c/");
		expect(await walked(directory, { maxDirectories: 2 })).toEqual({
			found: ["a/", "b/", "c/", "a/1"],
			truncated: true,
		});
		expect((await walked(directory, { maxDirectories: 4 })).truncated).toBe(false);
	});

	test("entries: skipped ones count", async () => {
		const directory = await tree("a", "c", "d");
		await symlink("a", `${directory}/b`);
		expect(await walked(directory, { maxEntries: 3 })).toEqual({ found: ["a", "c"], truncated: true });
		expect(await walked(directory, { maxEntries: 4 })).toEqual({ found: ["a", "c", "d"], truncated: false });
	});

	test("bytes: an answer stays below about 4 MiB", async () => {
		const directory = await temporaryDirectory();
		// Few files with long URIs, because creating files is slow.
		const deep = `${directory}${`/${"\u00e9".repeat(125)}`.repeat(14)}`;
		await mkdir(deep, { recursive: true });
		const names = Array.from({ length: 400 }, (_, at) => `${at + 1000}`);
		for (const name of names) await writeFile(`${deep}/${name}`, "");
		const answer = (await call("fs/walk", { path: toPathUri(deep), options: plenty })) as Answer;
		const each = uriBelow(deep, "1000").length + 64;
		expect(answer.truncated).toBe(true);
		expect(answer.entries).toHaveLength(Math.floor((4 * 1024 * 1024) / each));
	});

	const wrong: [string, object][] = [
		["no directories", { maxDirectories: 0 }],
		["no entries", { maxEntries: 0 }],
		["too deep", { maxDepth: 65 }],
		["too many directories", { maxDirectories: 10_001 }],
		["too many entries", { maxEntries: 50_001 }],
	];
	test.each(wrong)("an impossible limit is refused: %s", async (_, options) => {
		expect(await call("fs/walk", { path: "file:///", options: { ...plenty, ...options } })).toMatchObject({
			code: -32600,
			message: expect.stringMatching(/^filesystem walk limits/),
		});
	});

	test("a limit that is not a number is invalid", async () => {
		const { maxDepth, ...rest } = plenty;
		expect(await call("fs/walk", { path: "file:///", options: rest })).toMatchObject({ code: -32602 });
		expect(await call("fs/walk", { path: "file:///", options: { ...rest, maxDepth: -maxDepth } })).toMatchObject({
			code: -32602,
		});
	});
});

test("an unreadable entry is reported, and the rest is walked", async () => {
	const directory = await tree("b/leaf");
	// A path too long to open, since root can be denied nothing else here.
	const deep = `${directory}/a/${"x".repeat(250)}`;
	await mkdir(deep, { recursive: true });
	execFileSync("sh", [
		"-c",
		'cd "$1" && for i in $(seq 16); do mkdir "$2" && cd -P "$2"; done',
		"sh",
		deep,
		"y".repeat(250),
	]);
	const answer = (await call("fs/walk", { path: toPathUri(directory), options: plenty })) as Answer;
	expect(answer.errors).toEqual([
		{ path: expect.stringContaining("yyy"), message: "File name too long (os error 36)" },
	]);
	expect(answer.entries.map(({ path }) => path)).toContain(uriBelow(directory, "b/leaf"));
	expect(answer.truncated).toBe(false);
	execFileSync("rm", ["-rf", `${directory}/a`]);
});

test("fs/walk stops when the connection closes", async () => {
	const directory = await tree("a");
	const gone = caller(createFileMethods(new FileHandles()), AbortSignal.abort());
	await expect(gone("fs/walk", { path: toPathUri(directory), options: plenty })).rejects.toThrow("aborted");
});
