/** A directory with files of all kinds, and the answers of the `fs/*` methods about it. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { onTestFinished } from "vitest";
import { FileHandles } from "../../../../../src/fronts/dropins/codex-exec/files/handles.ts";
import { createFileMethods } from "../../../../../src/fronts/dropins/codex-exec/files/methods.ts";
import { temporaryDirectory } from "../../../../support/temporary.ts";
import { below, caller } from "./calls.ts";

export const call = caller(createFileMethods(new FileHandles()));

export const notFound = { code: -32004, message: "No such file or directory (os error 2)" };
export const notDirectory = { code: -32603, message: "Not a directory (os error 20)" };
export const fileExists = { code: -32603, message: "File exists (os error 17)" };
export const loop = { code: -32603, message: "Too many levels of symbolic links (os error 40)" };

export const notText = Buffer.from("caf\xe9", "latin1");

export function base64(text: string): string {
	return Buffer.from(text).toString("base64");
}

/** A directory with one of every possible obstacle. */
export async function everything(): Promise<string> {
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

/** Creates a socket in a directory. */
export async function addSocket(path: string): Promise<void> {
	const server = createServer().listen(path);
	await once(server, "listening");
	onTestFinished(() => void server.close());
}
