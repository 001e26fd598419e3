/** Directories, metadata, canonical names and removal (contract §10.2). */

import { mkdir, readdir, stat, symlink, utimes } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { listDirectory } from "../../../../src/fronts/dropins/codex-exec/files/directory.ts";
import { toPathUri } from "../../../../src/fronts/dropins/codex-exec/path-uri.ts";
import { below, outcome, uriBelow } from "./support/calls.ts";
import { call, everything, fileExists, loop, notDirectory, notFound, notText } from "./support/file-fixtures.ts";

describe("fs/createDirectory", () => {
	const create = (path: string, rest = {}) => call("fs/createDirectory", { path, ...rest });

	test("fs/createDirectory creates missing parents by default", async () => {
		const directory = await everything();
		expect(await create(uriBelow(directory, "a/b/c"))).toEqual({});
		expect(await create(uriBelow(directory, "a/b/c"))).toEqual({});
		expect(await create(uriBelow(directory, "to-dir/d"), { recursive: true })).toEqual({});
		expect((await stat(`${directory}/dir/d`)).isDirectory()).toBe(true);
		expect(await create(uriBelow(directory, "e/f"), { recursive: false })).toEqual(notFound);
		expect(await create(uriBelow(directory, "a"), { recursive: false })).toEqual(fileExists);
		expect(await create(uriBelow(directory, "e"), { recursive: false })).toEqual({});
		expect(await create("file:///")).toEqual({});
	});

	test("fs/createDirectory reports the system's error", async () => {
		const directory = await everything();
		expect(await create(uriBelow(directory, "file"))).toEqual(fileExists);
		expect(await create(uriBelow(directory, "broken"))).toEqual(fileExists);
		expect(await create(uriBelow(directory, "file/a"))).toEqual(fileExists);
	});
});

describe("fs/getMetadata", () => {
	const metadata = (path: string, rest = {}) => call("fs/getMetadata", { path, ...rest });

	test("fs/getMetadata follows a link, and states that it is one", async () => {
		const directory = await everything();
		await utimes(`${directory}/file`, 1, 1_700_000_000.25);
		const file = { isDirectory: false, isFile: true, isSymlink: false, size: 7, modifiedAtMs: 1_700_000_000_250 };
		expect(await metadata(uriBelow(directory, "file"))).toEqual({ ...file, createdAtMs: expect.any(Number) });
		expect(await metadata(uriBelow(directory, "to-file"))).toMatchObject({ ...file, isSymlink: true });
		expect(await metadata(uriBelow(directory, "to-dir"))).toMatchObject({
			isDirectory: true,
			isFile: false,
			isSymlink: true,
		});
		expect(await metadata(uriBelow(directory, "pipe"))).toMatchObject({ isDirectory: false, isFile: false });
		expect(await metadata(`${uriBelow(directory, "to-dir")}/`)).toMatchObject({ isSymlink: true });
	});

	test("fs/getMetadata has times in whole milliseconds, and zero for times before the epoch", async () => {
		const directory = await everything();
		// As a date: Node takes a negative number as the current time.
		await utimes(`${directory}/file`, 1, new Date(-5000));
		const found = (await metadata(uriBelow(directory, "file"))) as { createdAtMs: number; modifiedAtMs: number };
		expect(found.modifiedAtMs).toBe(0);
		expect(Number.isInteger(found.createdAtMs)).toBe(true);
	});

	test("fs/getMetadata of a broken link, a cycle or a missing path is an error", async () => {
		const directory = await everything();
		expect(await metadata(uriBelow(directory, "broken"))).toEqual(notFound);
		expect(await metadata(uriBelow(directory, "nothing"))).toEqual(notFound);
		expect(await metadata(uriBelow(directory, "cycle"))).toEqual(loop);
	});
});

test("fs/canonicalize follows all links, and keeps names that are not UTF-8", async () => {
	const directory = await everything();
	await symlink(notText, `${directory}/to-bytes`);
	const canonical = (name: string) => call("fs/canonicalize", { path: uriBelow(directory, name) });
	expect(await canonical("to-dir/inner")).toEqual({ path: uriBelow(directory, "dir/inner") });
	expect(await canonical("to-bytes")).toEqual({ path: `${toPathUri(directory)}/caf%E9` });
	expect(await canonical("broken")).toEqual(notFound);
	expect(await canonical("cycle")).toEqual(loop);
});

describe("fs/readDirectory", () => {
	test("fs/readDirectory lists entries with links resolved and broken links omitted", async () => {
		const directory = await everything();
		const answer = (await call("fs/readDirectory", { path: toPathUri(directory) })) as {
			entries: { fileName: string }[];
		};
		expect(answer.entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1))).toEqual([
			{ fileName: "caf\ufffd", isDirectory: false, isFile: true },
			{ fileName: "dir", isDirectory: true, isFile: false },
			{ fileName: "file", isDirectory: false, isFile: true },
			{ fileName: "pipe", isDirectory: false, isFile: false },
			{ fileName: "to-dir", isDirectory: true, isFile: false },
			{ fileName: "to-file", isDirectory: false, isFile: true },
		]);
	});

	test("fs/readDirectory refuses more entries than a client reads, not counting broken links", async () => {
		const directory = await everything();
		const list = (maxEntries: number) =>
			outcome(() => listDirectory(Buffer.from(directory), new AbortController().signal, maxEntries));
		expect(await list(6)).toHaveLength(6);
		expect(await list(5)).toEqual({ code: -32600, message: "directory has more than 5 entries" });
	});

	test("fs/readDirectory of a file is an error", async () => {
		const directory = await everything();
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "file") })).toEqual(notDirectory);
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "pipe") })).toEqual(notDirectory);
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "no") })).toEqual(notFound);
	});
});

describe("fs/remove", () => {
	const remove = (path: string, rest = {}) => call("fs/remove", { path, ...rest });

	test("fs/remove removes files, links and directories, and never the target of a link", async () => {
		const directory = await everything();
		await symlink("../file", below(`${directory}/dir`, notText));
		for (const name of ["to-dir", "to-file", "broken", "cycle", "pipe", "dir", notText]) {
			expect(await remove(uriBelow(directory, name))).toEqual({});
		}
		expect(await readdir(directory)).toEqual(["file"]);
	});

	test("fs/remove of a missing path is an error only without force", async () => {
		const directory = await everything();
		expect(await remove(uriBelow(directory, "nothing"))).toEqual({});
		expect(await remove(uriBelow(directory, "nothing"), { force: false })).toEqual(notFound);
		expect(await remove(uriBelow(directory, "file/below"))).toEqual(notDirectory);
	});

	test("fs/remove of a directory that is not empty requires recursive", async () => {
		const directory = await everything();
		expect(await remove(uriBelow(directory, "dir"), { recursive: false })).toEqual({
			code: -32603,
			message: "Directory not empty (os error 39)",
		});
		await mkdir(`${directory}/empty`);
		expect(await remove(uriBelow(directory, "empty"), { recursive: false })).toEqual({});
	});
});
