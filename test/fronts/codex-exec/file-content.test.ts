/** What is in files: `fs/readFile` and `fs/writeFile` (contract §10.2). */

import { chmod, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { below, uriBelow } from "./calls.ts";
import { addSocket, base64, call, everything, loop, notDirectory, notFound, notText } from "./file-fixtures.ts";

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
