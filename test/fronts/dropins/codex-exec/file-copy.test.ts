/** `fs/copy` (contract §10.2). */

import { execFileSync } from "node:child_process";
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { FileHandles } from "../../../../src/fronts/dropins/codex-exec/files/handles.ts";
import { createFileMethods } from "../../../../src/fronts/dropins/codex-exec/files/methods.ts";
import { below, caller, uriBelow } from "./support/calls.ts";
import { call, everything, fileExists, notFound, notText } from "./support/file-fixtures.ts";

describe("fs/copy", () => {
	const copy = (directory: string, source: string | Buffer, destination: string, recursive = true) =>
		call("fs/copy", {
			sourcePath: uriBelow(directory, source),
			destinationPath: uriBelow(directory, destination),
			recursive,
		});

	test("fs/copy requires the member recursive", async () => {
		expect(await call("fs/copy", { sourcePath: "file:///a", destinationPath: "file:///b" })).toEqual({
			code: -32602,
			message: "missing field `recursive`",
		});
	});

	test("fs/copy copies a file with its mode over an existing one", async () => {
		const directory = await everything();
		await chmod(`${directory}/file`, 0o751);
		await writeFile(`${directory}/over`, "something longer than the content");
		expect(await copy(directory, "file", "over", false)).toEqual({});
		expect(await readFile(`${directory}/over`, "utf8")).toBe("content");
		expect((await stat(`${directory}/over`)).mode & 0o777).toBe(0o751);
		const large = Buffer.alloc(1_000_003, "large");
		await writeFile(`${directory}/large`, large);
		expect(await copy(directory, "large", "large-2")).toEqual({});
		expect(large.equals(await readFile(`${directory}/large-2`))).toBe(true);
	});

	test("fs/copy of a file onto itself leaves it unchanged", async () => {
		const directory = await everything();
		await link(`${directory}/file`, `${directory}/same`);
		for (const target of ["file", "same", "to-file"]) {
			expect(await copy(directory, "file", target)).toEqual({});
			expect(await readFile(`${directory}/file`, "utf8")).toBe("content");
		}
	});

	test("fs/copy copies a link as a link", async () => {
		const directory = await everything();
		expect(await copy(directory, "broken", "broken-2", false)).toEqual({});
		expect(await readlink(`${directory}/broken-2`)).toBe("nowhere");
		expect(await copy(directory, "to-dir", "to-dir-2", false)).toEqual({});
		expect(await readlink(`${directory}/to-dir-2`)).toBe("dir");
		expect(await copy(directory, "broken", "file")).toEqual(fileExists);
	});

	test("fs/copy merges a directory into an existing or new one, with names that are not UTF-8, and without pipes", async () => {
		const directory = await everything();
		await writeFile(below(`${directory}/dir`, notText), "bytes");
		await symlink("..", `${directory}/dir/up`);
		execFileSync("mkfifo", [`${directory}/dir/pipe`]);
		expect(await copy(directory, "dir", "new/copy")).toEqual({});
		expect((await readdir(`${directory}/new/copy`)).sort()).toEqual(["caf\ufffd", "inner", "up"]);
		expect(await readFile(`${directory}/new/copy/inner/leaf`, "utf8")).toBe("leaf");
		expect(await readFile(below(`${directory}/new/copy`, notText), "utf8")).toBe("bytes");
		expect((await lstat(`${directory}/new/copy/up`)).isSymbolicLink()).toBe(true);
		await mkdir(`${directory}/there`);
		expect(await copy(directory, "dir/inner", "there")).toEqual({});
		expect(await readdir(`${directory}/there`)).toEqual(["leaf"]);
	});

	test("fs/copy of a directory requires recursive", async () => {
		const directory = await everything();
		expect(await copy(directory, "dir", "new", false)).toEqual({
			code: -32600,
			message: "fs/copy requires recursive: true when sourcePath is a directory",
		});
	});

	test.each(["dir", "dir/inner", "dir/new/deeper", "to-dir/new", "to-dir"])(
		"fs/copy never copies a directory into itself: %s",
		async (target) => {
			const directory = await everything();
			expect(await copy(directory, "dir", target)).toEqual({
				code: -32600,
				message: "fs/copy cannot copy a directory to itself or one of its descendants",
			});
			expect(await readdir(`${directory}/dir`)).toEqual(["inner"]);
		},
	);

	test("fs/copy copies a directory to a sibling whose name has the same prefix", async () => {
		const directory = await everything();
		expect(await copy(directory, "dir", "dir-2")).toEqual({});
		expect(await readFile(`${directory}/dir-2/inner/leaf`, "utf8")).toBe("leaf");
	});

	test("fs/copy reports the system's error, and waits for no pipe", async () => {
		const directory = await everything();
		expect(await copy(directory, "nothing", "new")).toEqual(notFound);
		expect(await copy(directory, "file", "no/new")).toEqual(notFound);
		expect(await copy(directory, "dir", "file")).toEqual(fileExists);
		expect(await copy(directory, "pipe", "new")).toEqual({
			code: -32600,
			message: "fs/copy only supports regular files, directories, and symlinks",
		});
		expect(await copy(directory, "file", "pipe")).toEqual({
			code: -32603,
			message: "No such device or address (os error 6)",
		});
	});

	test("fs/copy stops when the connection closes", async () => {
		const directory = await everything();
		const gone = caller(createFileMethods(new FileHandles()), AbortSignal.abort());
		const sourcePath = uriBelow(directory, "file");
		const request = { sourcePath, destinationPath: uriBelow(directory, "new"), recursive: false };
		await expect(gone("fs/copy", request)).rejects.toThrow("aborted");
	});
});
