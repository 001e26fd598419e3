/** Files read in blocks: `fs/open`, `fs/readBlock`, `fs/close` (contract §10.2). */

import { execFileSync } from "node:child_process";
import { readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { FileHandles } from "../../../../src/fronts/dropins/codex-exec/files/handles.ts";
import { createFileMethods } from "../../../../src/fronts/dropins/codex-exec/files/methods.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { type Call, caller, uriBelow } from "./support/calls.ts";

const content = "0123456789";

async function opened(): Promise<{ call: Call; handles: FileHandles; directory: string; path: string }> {
	const directory = await temporaryDirectory();
	await writeFile(`${directory}/file`, content);
	const handles = new FileHandles();
	return { call: caller(createFileMethods(handles)), handles, directory, path: uriBelow(directory, "file") };
}

/** The number of descriptors this process has on a file. */
async function descriptors(file: string): Promise<number> {
	const links = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
	return (await Promise.all(links)).filter((target) => target === file).length;
}

const block = (text: string, eof: boolean) => ({ chunk: Buffer.from(text).toString("base64"), eof });
const unknown = { code: -32004, message: "unknown file read handle `h`" };

test("blocks are read at any offset, and eof marks a block that is not full", async () => {
	const { call, path } = await opened();
	const read = (offset: number, len: number) => call("fs/readBlock", { handleId: "h", offset, len });
	expect(await call("fs/open", { handleId: "h", path })).toEqual({ handleId: "h" });
	expect(await read(0, 4)).toEqual(block("0123", false));
	expect(await read(8, 2)).toEqual(block("89", false));
	expect(await read(8, 3)).toEqual(block("89", true));
	expect(await read(2, 1)).toEqual(block("2", false));
	expect(await read(10, 1)).toEqual(block("", true));
	expect(await read(2 ** 40, 1)).toEqual(block("", true));
	expect(await read(0, 1024 * 1024)).toEqual(block(content, true));
	expect(await call("fs/close", { handleId: "h" })).toEqual({});
});

test("a file opened by a handle is read-only: replacing it is refused, and it stays unchanged", async () => {
	const { call, path } = await opened();
	expect(await call("fs/open", { handleId: "h", path, mode: "replace" })).toMatchObject({ code: -32602 });
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 4 })).toEqual(unknown);
	for (const mode of ["write", null, 5, {}])
		expect(await call("fs/open", { handleId: "h", path, mode })).toMatchObject({ code: -32602 });
	expect(await call("fs/open", { handleId: "h", path, mode: "read" })).toEqual({ handleId: "h" });
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 10 })).toEqual(block(content, false));
	await call("fs/close", { handleId: "h" });
});

test("a block length outside 1 byte to 1 MiB, or an impossible offset, is refused", async () => {
	const { call, path } = await opened();
	await call("fs/open", { handleId: "h", path });
	for (const len of [0, 1024 * 1024 + 1]) {
		expect(await call("fs/readBlock", { handleId: "h", offset: 0, len })).toEqual({
			code: -32600,
			message: "file read block length must be between 1 and 1048576",
		});
	}
	expect(await call("fs/readBlock", { handleId: "h", offset: 2 ** 64, len: 1 })).toMatchObject({ code: -32600 });
	expect(await call("fs/readBlock", { handleId: "h", offset: -1, len: 1 })).toMatchObject({ code: -32602 });
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 1 })).toEqual(block("0", false));
	await call("fs/close", { handleId: "h" });
});

test("a handle keeps reading after its file is removed", async () => {
	const { call, path, directory } = await opened();
	await call("fs/open", { handleId: "h", path });
	await rm(`${directory}/file`);
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 2 })).toEqual(block("01", false));
	await call("fs/close", { handleId: "h" });
});

test("closing is idempotent, and a closed handle is unknown", async () => {
	const { call, path, directory } = await opened();
	await call("fs/open", { handleId: "h", path });
	expect(await descriptors(`${directory}/file`)).toBe(1);
	for (let time = 0; time < 2; time++) expect(await call("fs/close", { handleId: "h" })).toEqual({});
	expect(await descriptors(`${directory}/file`)).toBe(0);
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 1 })).toEqual(unknown);
});

test("a handle id is chosen by the client: up to 32 bytes, and unique while open", async () => {
	const { call, path } = await opened();
	expect(await call("fs/open", { handleId: "é".repeat(16), path })).toEqual({ handleId: "é".repeat(16) });
	expect(await call("fs/open", { handleId: "é".repeat(16), path })).toEqual({
		code: -32600,
		message: `file read handle \`${"é".repeat(16)}\` is already open`,
	});
	expect(await call("fs/open", { handleId: "x".repeat(33), path })).toMatchObject({ code: -32600 });
	await call("fs/close", { handleId: "é".repeat(16) });
	expect(await call("fs/open", { handleId: "é".repeat(16), path })).toEqual({ handleId: "é".repeat(16) });
	await call("fs/close", { handleId: "é".repeat(16) });
});

test("of two concurrent opens with the same id one succeeds", async () => {
	const { call, path, handles, directory } = await opened();
	const answers = await Promise.all([1, 2].map(() => call("fs/open", { handleId: "h", path })));
	expect(answers).toEqual([{ handleId: "h" }, { code: -32600, message: "file read handle `h` is already open" }]);
	await handles.closeAll();
	expect(await descriptors(`${directory}/file`)).toBe(0);
});

test("at most 128 handles are open at a time", async () => {
	const { call, path, handles } = await opened();
	const open = (id: number) => call("fs/open", { handleId: `${id}`, path });
	const answers = await Promise.all(Array.from({ length: 129 }, (_, id) => open(id)));
	expect(answers.slice(0, 128)).toEqual(Array.from({ length: 128 }, (_, id) => ({ handleId: `${id}` })));
	expect(answers[128]).toEqual({ code: -32600, message: "at most 128 file reads may be open per connection" });
	await call("fs/close", { handleId: "5" });
	expect(await open(128)).toEqual({ handleId: "128" });
	await handles.closeAll();
});

test("an id is free again after its file could not be opened", async () => {
	const { call, path, directory } = await opened();
	execFileSync("mkfifo", [`${directory}/pipe`]);
	await symlink("nowhere", `${directory}/broken`);
	const open = (name: string) => call("fs/open", { handleId: "h", path: uriBelow(directory, name) });
	expect(await open("broken")).toEqual({ code: -32004, message: "No such file or directory (os error 2)" });
	expect(await open("pipe")).toEqual({ code: -32600, message: `path \`${directory}/pipe\` is not a file` });
	expect(await open(".")).toEqual({ code: -32600, message: `path \`${directory}/.\` is not a file` });
	expect(await call("fs/open", { handleId: "h", path })).toEqual({ handleId: "h" });
	await call("fs/close", { handleId: "h" });
});

test("a read error closes the handle", async () => {
	const { call } = await opened();
	expect(await call("fs/open", { handleId: "h", path: "file:///proc/self/mem" })).toEqual({ handleId: "h" });
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 1 })).toEqual({
		code: -32603,
		message: "Input/output error (os error 5)",
	});
	expect(await call("fs/readBlock", { handleId: "h", offset: 0, len: 1 })).toEqual(unknown);
});

test("all handles close with the connection, also those still opening, and no more are opened", async () => {
	const { call, path, handles, directory } = await opened();
	await call("fs/open", { handleId: "a", path });
	const opening = call("fs/open", { handleId: "b", path });
	await handles.closeAll();
	await opening;
	expect(await descriptors(`${directory}/file`)).toBe(0);
	expect(await call("fs/open", { handleId: "c", path })).toMatchObject({ code: -32600 });
	expect(await descriptors(`${directory}/file`)).toBe(0);
});

test("closing a handle during a read is safe for both", async () => {
	const { call, path, directory } = await opened();
	await call("fs/open", { handleId: "h", path });
	const [answer] = await Promise.all([
		call("fs/readBlock", { handleId: "h", offset: 0, len: 4 }),
		call("fs/close", { handleId: "h" }),
	]);
	expect([block("0123", false), unknown]).toContainEqual(answer);
	expect(await descriptors(`${directory}/file`)).toBe(0);
});
