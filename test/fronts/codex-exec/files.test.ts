/** The `fs/*` methods on a real file system (contract §10.2). */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
	chmod,
	link,
	lstat,
	mkdir,
	readdir,
	readFile,
	readlink,
	stat,
	symlink,
	truncate,
	utimes,
	writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { listDirectory } from "../../../src/fronts/codex-exec/files/directory.ts";
import { errorText, fromSystem } from "../../../src/fronts/codex-exec/files/errors.ts";
import { FileHandles } from "../../../src/fronts/codex-exec/files/handles.ts";
import { createFileMethods } from "../../../src/fronts/codex-exec/files/methods.ts";
import { toPathUri } from "../../../src/fronts/codex-exec/path-uri.ts";
import { RpcError } from "../../../src/fronts/json-rpc/error.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { below, caller, outcome, uriBelow } from "./calls.ts";

const call = caller(createFileMethods(new FileHandles()));

const notFound = { code: -32004, message: "No such file or directory (os error 2)" };
const notDirectory = { code: -32603, message: "Not a directory (os error 20)" };
const fileExists = { code: -32603, message: "File exists (os error 17)" };
const loop = { code: -32603, message: "Too many levels of symbolic links (os error 40)" };

const notText = Buffer.from("caf\xe9", "latin1");

function base64(text: string): string {
	return Buffer.from(text).toString("base64");
}

/** A directory with one of everything that can be in the way. */
async function everything(): Promise<string> {
	const directory = await temporaryDirectory();
	await writeFile(`${directory}/file`, "content");
	await mkdir(`${directory}/dir/inner`, { recursive: true });
	await writeFile(`${directory}/dir/inner/leaf`, "leaf");
	await symlink("file", `${directory}/to-file`);
	await symlink("dir", `${directory}/to-dir`);
	await symlink("nowhere", `${directory}/broken`);
	await symlink("cycle", `${directory}/cycle`);
	await writeFile(below(directory, notText), "bytes");
	execFileSync("mkfifo", [`${directory}/pipe`]);
	return directory;
}

/** Puts a socket into a directory. */
async function addSocket(path: string): Promise<void> {
	const server = createServer().listen(path);
	await once(server, "listening");
	onTestFinished(() => void server.close());
}

describe("every method about a path", () => {
	const methods: [string, Record<string, unknown>][] = [
		["fs/readFile", {}],
		["fs/writeFile", { dataBase64: "" }],
		["fs/createDirectory", {}],
		["fs/getMetadata", {}],
		["fs/canonicalize", {}],
		["fs/readDirectory", {}],
		["fs/walk", { options: { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false } }],
		["fs/remove", {}],
		["fs/copy", { recursive: true }],
		["fs/open", { handleId: "h" }],
	];
	const about = (name: string, uri: string) =>
		name === "fs/copy" ? { sourcePath: uri, destinationPath: uri } : { path: uri };
	const managed = (file_system: unknown) => ({
		permissions: { type: "managed", file_system, network: "restricted" },
		windowsSandboxLevel: "disabled",
	});
	const root = { type: "special", value: { kind: "root" } };

	test.each(methods)(
		"%s refuses with -32602 what is no URI, and does not need more than its members",
		async (name, rest) => {
			expect(await call(name, { ...rest, ...about(name, "/native") })).toEqual({
				code: -32602,
				message: "invalid URI: relative URL without a base",
			});
			expect(await call(name, rest)).toMatchObject({ code: -32602, message: expect.stringMatching(/^missing field/) });
			expect(await call(name, null)).toMatchObject({ code: -32602 });
		},
	);

	test.each(methods)("%s refuses with -32600 the path of another kind of host", async (name, rest) => {
		expect(await call(name, { ...rest, ...about(name, "file:///C:/x") })).toEqual({
			code: -32600,
			message: "'file:///C:/x' is invalid on 'linux'",
		});
	});

	test.each(methods)("%s refuses to run without the sandbox it was to run in", async (name, rest) => {
		const entries = [
			{ path: root, access: "read" },
			{ path: { type: "path", path: "file:///w" }, access: "write" },
		];
		const sandbox = managed({ type: "restricted", entries });
		expect(await call(name, { ...rest, ...about(name, "file:///no/such"), sandbox })).toEqual({
			code: -32600,
			message: "sandboxed filesystem operations require configured runtime paths",
		});
	});

	const harmless: [string, unknown][] = [
		["null", null],
		["disabled", { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" }],
		["external", { permissions: { type: "external", network: "enabled" }, windowsSandboxLevel: "elevated" }],
		["unrestricted", managed({ type: "unrestricted" })],
		["restricted to everything", managed({ type: "restricted", entries: [{ path: root, access: "write" }] })],
	];
	test.each(harmless)("a sandbox that restricts nothing changes nothing: %s", async (_, sandbox) => {
		expect(await call("fs/getMetadata", { path: "file:///no/such", sandbox })).toEqual(notFound);
	});

	const exceptions: [string, unknown[]][] = [
		["nothing allowed", []],
		[
			"something denied",
			[
				{ path: root, access: "write" },
				{ path: { type: "glob_pattern", pattern: "*" }, access: "deny" },
			],
		],
		["another special place", [{ path: { type: "special", value: { kind: "tmpdir" } }, access: "write" }]],
	];
	test.each(exceptions)("a sandbox that restricts anything is refused: %s", async (_, entries) => {
		const sandbox = managed({ type: "restricted", entries });
		expect(await call("fs/getMetadata", { path: "file:///", sandbox })).toMatchObject({ code: -32600 });
	});

	const malformed: [string, unknown][] = [
		["missing field `windowsSandboxLevel`", { permissions: { type: "disabled" } }],
		["missing field `permissions`", { windowsSandboxLevel: "disabled" }],
		["missing field `entries`", managed({ type: "restricted" })],
		["missing field `file_system`", managed(undefined)],
		[
			"unknown variant `none`, expected one of `managed`, `disabled`, `external`",
			{ permissions: { type: "none" }, windowsSandboxLevel: "disabled" },
		],
	];
	test.each(malformed)("a sandbox that is not understood is refused: %s", async (message, sandbox) => {
		expect(await call("fs/getMetadata", { path: "file:///", sandbox })).toEqual({ code: -32602, message });
	});

	test("captured request of the real client: metadata of what is not there", async () => {
		const directory = await temporaryDirectory();
		expect(await call("fs/getMetadata", { path: uriBelow(directory, ".git"), sandbox: null })).toEqual(notFound);
	});
});

describe("fs/readFile", () => {
	test("reads bytes, through links and from names that are no text", async () => {
		const directory = await everything();
		const read = (name: string | Buffer) => call("fs/readFile", { path: uriBelow(directory, name) });
		expect(await read("file")).toEqual({ dataBase64: base64("content") });
		expect(await read("to-dir/inner/leaf")).toEqual({ dataBase64: base64("leaf") });
		expect(await read("to-file")).toEqual({ dataBase64: base64("content") });
		expect(await read(notText)).toEqual({ dataBase64: base64("bytes") });
	});

	test("says what is in the way", async () => {
		const directory = await everything();
		const read = (name: string) => call("fs/readFile", { path: uriBelow(directory, name) });
		expect(await read("nothing")).toEqual(notFound);
		expect(await read("broken")).toEqual(notFound);
		expect(await read("file/below")).toEqual(notDirectory);
		expect(await read("cycle")).toEqual(loop);
		expect(await read("x".repeat(300))).toEqual({ code: -32603, message: "File name too long (os error 36)" });
	});

	test.each(["dir", "pipe", "to-dir"])("is for regular files only, and waits for none: %s", async (name) => {
		const directory = await everything();
		expect(await call("fs/readFile", { path: uriBelow(directory, name) })).toEqual({
			code: -32600,
			message: `path \`${directory}/${name}\` is not a file`,
		});
	});

	test("does not read devices, nor sockets", async () => {
		const directory = await temporaryDirectory();
		await addSocket(`${directory}/socket`);
		expect(await call("fs/readFile", { path: "file:///dev/zero" })).toEqual({
			code: -32600,
			message: "path `/dev/zero` is not a file",
		});
		expect(await call("fs/readFile", { path: uriBelow(directory, "socket") })).toEqual({
			code: -32603,
			message: "No such device or address (os error 6)",
		});
	});

	test("reads files of /proc, which say that they are empty", async () => {
		const answer = (await call("fs/readFile", { path: "file:///proc/self/status" })) as { dataBase64: string };
		expect(Buffer.from(answer.dataBase64, "base64").toString()).toContain("Name:");
	});

	test("never makes a frame of more than 16 MiB", async () => {
		const directory = await temporaryDirectory();
		const limit = 12 * 1024 * 1024 - 48 * 1024;
		await writeFile(`${directory}/large`, "");
		await truncate(`${directory}/large`, limit);
		const answer = (await call("fs/readFile", { path: uriBelow(directory, "large") })) as { dataBase64: string };
		expect(Buffer.byteLength(answer.dataBase64, "base64")).toBe(limit);
		expect(JSON.stringify({ id: 1, result: answer }).length).toBeLessThan(16 * 1024 * 1024);
		await truncate(`${directory}/large`, limit + 1);
		expect(await call("fs/readFile", { path: uriBelow(directory, "large") })).toMatchObject({
			code: -32600,
			message: expect.stringContaining(`limit is ${limit} bytes`),
		});
	});
});

describe("fs/writeFile", () => {
	const write = (path: string, text: string, rest = {}) =>
		call("fs/writeFile", { path, dataBase64: base64(text), ...rest });

	test("makes a file, or empties the one that is there", async () => {
		const directory = await everything();
		expect(await write(uriBelow(directory, "new"), "1")).toEqual({});
		expect(await readFile(`${directory}/new`, "utf8")).toBe("1");
		await chmod(`${directory}/file`, 0o600);
		expect(await write(uriBelow(directory, "to-file"), "2")).toEqual({});
		expect(await readFile(`${directory}/file`, "utf8")).toBe("2");
		expect((await stat(`${directory}/file`)).mode & 0o777).toBe(0o600);
		expect(await write(uriBelow(directory, notText), "")).toEqual({});
		expect(await readFile(below(directory, notText), "utf8")).toBe("");
	});

	test("makes no directories, and says what is in the way", async () => {
		const directory = await everything();
		expect(await write(uriBelow(directory, "no/new"), "")).toEqual(notFound);
		expect(await write(uriBelow(directory, "file/new"), "")).toEqual(notDirectory);
		expect(await write(uriBelow(directory, "dir"), "")).toEqual({
			code: -32603,
			message: "Is a directory (os error 21)",
		});
	});

	test("does not wait for the reader of a pipe, nor write to devices", async () => {
		const directory = await everything();
		expect(await write(uriBelow(directory, "pipe"), "x")).toEqual({
			code: -32603,
			message: "No such device or address (os error 6)",
		});
		expect(await write("file:///dev/null", "x")).toEqual({ code: -32600, message: "path `/dev/null` is not a file" });
	});

	test("refuses bad base64 with -32600, and leaves the file alone", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "file");
		for (const dataBase64 of ["YQ", "Y!==", "YQ==\n"]) {
			expect(await call("fs/writeFile", { path, dataBase64 })).toMatchObject({
				code: -32600,
				message: expect.stringMatching(/^fs\/writeFile requires valid base64 dataBase64: /),
			});
		}
		expect(await readFile(`${directory}/file`, "utf8")).toBe("content");
	});
});

describe("fs/createDirectory", () => {
	const create = (path: string, rest = {}) => call("fs/createDirectory", { path, ...rest });

	test("makes all directories on the way unless told otherwise", async () => {
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

	test("says what is in the way", async () => {
		const directory = await everything();
		expect(await create(uriBelow(directory, "file"))).toEqual(fileExists);
		expect(await create(uriBelow(directory, "broken"))).toEqual(fileExists);
		expect(await create(uriBelow(directory, "file/a"))).toEqual(fileExists);
	});
});

describe("fs/getMetadata", () => {
	const metadata = (path: string, rest = {}) => call("fs/getMetadata", { path, ...rest });

	test("is of what a link leads to, except that it is a link", async () => {
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

	test("has times in whole milliseconds, and zero for those before the epoch", async () => {
		const directory = await everything();
		// As a date: a negative number would mean now to Node.
		await utimes(`${directory}/file`, 1, new Date(-5000));
		const found = (await metadata(uriBelow(directory, "file"))) as { createdAtMs: number; modifiedAtMs: number };
		expect(found.modifiedAtMs).toBe(0);
		expect(Number.isInteger(found.createdAtMs)).toBe(true);
	});

	test("of a broken link, a cycle or nothing is an error", async () => {
		const directory = await everything();
		expect(await metadata(uriBelow(directory, "broken"))).toEqual(notFound);
		expect(await metadata(uriBelow(directory, "nothing"))).toEqual(notFound);
		expect(await metadata(uriBelow(directory, "cycle"))).toEqual(loop);
	});
});

test("fs/canonicalize follows all links, and keeps names that are no text", async () => {
	const directory = await everything();
	await symlink(notText, `${directory}/to-bytes`);
	const canonical = (name: string) => call("fs/canonicalize", { path: uriBelow(directory, name) });
	expect(await canonical("to-dir/inner")).toEqual({ path: uriBelow(directory, "dir/inner") });
	expect(await canonical("to-bytes")).toEqual({ path: `${toPathUri(directory)}/caf%E9` });
	expect(await canonical("broken")).toEqual(notFound);
	expect(await canonical("cycle")).toEqual(loop);
});

describe("fs/readDirectory", () => {
	test("lists what is there, with links resolved and broken ones left out", async () => {
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

	test("of more entries than a client reads is refused; links that lead nowhere do not count", async () => {
		const directory = await everything();
		const list = (maxEntries: number) =>
			outcome(() => listDirectory(Buffer.from(directory), new AbortController().signal, maxEntries));
		expect(await list(6)).toHaveLength(6);
		expect(await list(5)).toEqual({ code: -32600, message: "directory has more than 5 entries" });
	});

	test("of what is no directory is an error", async () => {
		const directory = await everything();
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "file") })).toEqual(notDirectory);
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "pipe") })).toEqual(notDirectory);
		expect(await call("fs/readDirectory", { path: uriBelow(directory, "no") })).toEqual(notFound);
	});
});

describe("fs/remove", () => {
	const remove = (path: string, rest = {}) => call("fs/remove", { path, ...rest });

	test("removes files, links and directories, and never what a link leads to", async () => {
		const directory = await everything();
		await symlink("../file", below(`${directory}/dir`, notText));
		for (const name of ["to-dir", "to-file", "broken", "cycle", "pipe", "dir", notText]) {
			expect(await remove(uriBelow(directory, name))).toEqual({});
		}
		expect(await readdir(directory)).toEqual(["file"]);
	});

	test("of what is not there is an error only without force", async () => {
		const directory = await everything();
		expect(await remove(uriBelow(directory, "nothing"))).toEqual({});
		expect(await remove(uriBelow(directory, "nothing"), { force: false })).toEqual(notFound);
		expect(await remove(uriBelow(directory, "file/below"))).toEqual(notDirectory);
	});

	test("of a directory that is not empty needs recursive", async () => {
		const directory = await everything();
		expect(await remove(uriBelow(directory, "dir"), { recursive: false })).toEqual({
			code: -32603,
			message: "Directory not empty (os error 39)",
		});
		await mkdir(`${directory}/empty`);
		expect(await remove(uriBelow(directory, "empty"), { recursive: false })).toEqual({});
	});
});

describe("fs/copy", () => {
	const copy = (directory: string, source: string | Buffer, destination: string, recursive = true) =>
		call("fs/copy", {
			sourcePath: uriBelow(directory, source),
			destinationPath: uriBelow(directory, destination),
			recursive,
		});

	test("needs to be told whether it is recursive", async () => {
		expect(await call("fs/copy", { sourcePath: "file:///a", destinationPath: "file:///b" })).toEqual({
			code: -32602,
			message: "missing field `recursive`",
		});
	});

	test("copies a file with its rights, over what is there", async () => {
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

	test("of a file onto itself leaves it as it is", async () => {
		const directory = await everything();
		await link(`${directory}/file`, `${directory}/same`);
		for (const target of ["file", "same", "to-file"]) {
			expect(await copy(directory, "file", target)).toEqual({});
			expect(await readFile(`${directory}/file`, "utf8")).toBe("content");
		}
	});

	test("copies a link as a link", async () => {
		const directory = await everything();
		expect(await copy(directory, "broken", "broken-2", false)).toEqual({});
		expect(await readlink(`${directory}/broken-2`)).toBe("nowhere");
		expect(await copy(directory, "to-dir", "to-dir-2", false)).toEqual({});
		expect(await readlink(`${directory}/to-dir-2`)).toBe("dir");
		expect(await copy(directory, "broken", "file")).toEqual(fileExists);
	});

	test("copies a directory into one that is there or not, with names that are no text, and without pipes", async () => {
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

	test("of a directory needs recursive", async () => {
		const directory = await everything();
		expect(await copy(directory, "dir", "new", false)).toEqual({
			code: -32600,
			message: "fs/copy requires recursive: true when sourcePath is a directory",
		});
	});

	test.each(["dir", "dir/inner", "dir/new/deeper", "to-dir/new", "to-dir"])(
		"never copies a directory into itself: %s",
		async (target) => {
			const directory = await everything();
			expect(await copy(directory, "dir", target)).toEqual({
				code: -32600,
				message: "fs/copy cannot copy a directory to itself or one of its descendants",
			});
			expect(await readdir(`${directory}/dir`)).toEqual(["inner"]);
		},
	);

	test("may copy a directory beside itself, to a name that begins the same", async () => {
		const directory = await everything();
		expect(await copy(directory, "dir", "dir-2")).toEqual({});
		expect(await readFile(`${directory}/dir-2/inner/leaf`, "utf8")).toBe("leaf");
	});

	test("says what is in the way, and waits for no pipe", async () => {
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

	test("ends when the connection does", async () => {
		const directory = await everything();
		const gone = caller(createFileMethods(new FileHandles()), AbortSignal.abort());
		const sourcePath = uriBelow(directory, "file");
		const request = { sourcePath, destinationPath: uriBelow(directory, "new"), recursive: false };
		await expect(gone("fs/copy", request)).rejects.toThrow("aborted");
	});
});

describe("followSymlinks: false", () => {
	const without = (name: string, path: string, rest = {}) => call(name, { path, followSymlinks: false, ...rest });

	test("does everything where there are no links", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "dir/inner/leaf");
		expect(await without("fs/readFile", path)).toEqual({ dataBase64: base64("leaf") });
		expect(await without("fs/writeFile", path, { dataBase64: base64("new") })).toEqual({});
		expect(await readFile(`${directory}/dir/inner/leaf`, "utf8")).toBe("new");
		expect(await without("fs/getMetadata", path)).toMatchObject({ isFile: true, isSymlink: false, size: 3 });
		expect(await without("fs/getMetadata", "file:///")).toMatchObject({ isDirectory: true });
		expect(await without("fs/createDirectory", uriBelow(directory, "a/b/c"))).toEqual({});
		expect(await without("fs/createDirectory", uriBelow(directory, "a/b/c"))).toEqual({});
		expect(await without("fs/createDirectory", uriBelow(directory, "a/d"), { recursive: false })).toEqual({});
		expect((await readdir(`${directory}/a`)).sort()).toEqual(["b", "d"]);
		expect(await without("fs/remove", uriBelow(directory, "a"))).toEqual({});
		expect(await without("fs/remove", uriBelow(directory, "a/b"))).toEqual({});
		expect(await without("fs/readFile", uriBelow(directory, notText))).toEqual({ dataBase64: base64("bytes") });
		expect(await without("fs/readFile", uriBelow(directory, "nothing"))).toEqual(notFound);
	});

	test("names a file in a refusal as the caller does", async () => {
		const directory = await everything();
		expect(await without("fs/readFile", uriBelow(directory, "pipe"))).toEqual({
			code: -32600,
			message: `path \`${directory}/pipe\` is not a file`,
		});
	});

	test("does not follow the last link", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "to-file");
		expect(await without("fs/readFile", path)).toEqual(loop);
		expect(await without("fs/writeFile", path, { dataBase64: "" })).toEqual(loop);
		expect(await without("fs/getMetadata", path)).toEqual({ code: -32600, message: "path contains a symbolic link" });
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir"))).toEqual(fileExists);
		expect(await without("fs/createDirectory", uriBelow(directory, "broken"), { recursive: false })).toEqual(
			fileExists,
		);
		expect(await without("fs/remove", path)).toEqual({});
		expect(await readFile(`${directory}/file`, "utf8")).toBe("content");
	});

	test("does not follow a link on the way, and changes nothing beyond it", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "to-dir/inner/leaf");
		for (const name of ["fs/readFile", "fs/getMetadata", "fs/remove"])
			expect(await without(name, path)).toEqual(notDirectory);
		expect(await without("fs/writeFile", path, { dataBase64: "" })).toEqual(notDirectory);
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir/new"))).toEqual(fileExists);
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir/new"), { recursive: false })).toEqual(
			notDirectory,
		);
		expect(await readFile(`${directory}/dir/inner/leaf`, "utf8")).toBe("leaf");
		expect(await readdir(`${directory}/dir`)).toEqual(["inner"]);
	});

	test.each(["..", "."])("refuses %s as a component", async (name) => {
		const directory = await everything();
		const path = toPathUri(`${directory}/new/${name}/file`);
		expect(await without("fs/readFile", path)).toMatchObject({ code: -32600 });
		expect(await without("fs/createDirectory", path)).toMatchObject({ code: -32600 });
		expect(await readdir(directory)).not.toContain("new");
	});
});

describe("errors of the kernel", () => {
	const failure = (code: string, errno: number) => Object.assign(new Error(`${code}: …`), { code, errno });
	const said: [string, number, number, string][] = [
		["EACCES", -13, -32600, "Permission denied (os error 13)"],
		["EPERM", -1, -32600, "Operation not permitted (os error 1)"],
		["EINVAL", -22, -32600, "Invalid argument (os error 22)"],
		["ENOENT", -2, -32004, "No such file or directory (os error 2)"],
		["EROFS", -30, -32603, "Read-only file system (os error 30)"],
		["ENOSPC", -28, -32603, "No space left on device (os error 28)"],
		["ENOSYS", -38, -32603, "function not implemented (os error 38)"],
		["EWHAT", -999, -32603, "EWHAT (os error 999)"],
	];
	test.each(said)("%s (%i) is %i %s", async (name, errno, code, message) => {
		expect(await outcome(() => Promise.reject(fromSystem(failure(name, errno))))).toEqual({ code, message });
		expect(errorText(failure(name, errno))).toBe(message);
	});

	test("what is no error of the kernel is left as it is", () => {
		const bug = new TypeError("not a function");
		expect(fromSystem(bug)).toBe(bug);
		expect(() => errorText(bug)).toThrow(bug);
		const refusal = new RpcError(-32600, "no");
		expect(fromSystem(refusal)).toBe(refusal);
	});
});
