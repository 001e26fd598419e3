/** The content of files: `fs/readFile` and `fs/writeFile` (contract §10.2). */

import { chmod, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { below, uriBelow } from "./support/calls.ts";
import { addSocket, base64, call, everything, loop, notDirectory, notFound, notText } from "./support/file-fixtures.ts";

describe("fs/readFile", () => {
	test("fs/readFile reads bytes, through links and from names that are not UTF-8", async () => {
		const directory = await everything();
		const read = (name: string | Buffer) => call("fs/readFile", { path: uriBelow(directory, name) });
		expect(await read("file")).toEqual({ dataBase64: base64("content") });
		expect(await read("to-dir/inner/leaf")).toEqual({ dataBase64: base64("leaf") });
		expect(await read("to-file")).toEqual({ dataBase64: base64("content") });
		expect(await read(notText)).toEqual({ dataBase64: base64("bytes") });
	});

	test("fs/readFile reports the system's error", async () => {
		const directory = await everything();
		const read = (name: string) => call("fs/readFile", { path: uriBelow(directory, name) });
		expect(await read("nothing")).toEqual(notFound);
		expect(await read("broken")).toEqual(notFound);
		expect(await read("file/below")).toEqual(notDirectory);
		expect(await read("cycle")).toEqual(loop);
		expect(await read("x".repeat(300))).toEqual({ code: -32603, message: "File name too long (os error 36)" });
	});

	test.each(["dir", "pipe", "to-dir"])(
		"fs/readFile accepts only regular files, and waits for no other: %s",
		async (name) => {
			const directory = await everything();
			expect(await call("fs/readFile", { path: uriBelow(directory, name) })).toEqual({
				code: -32600,
				message: `path \`${directory}/${name}\` is not a file`,
			});
		},
	);

	test("fs/readFile reads neither devices nor sockets", async () => {
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

	test("fs/readFile reads files of /proc, whose size is given as zero", async () => {
		const answer = (await call("fs/readFile", { path: "file:///proc/self/status" })) as { dataBase64: string };
		expect(Buffer.from(answer.dataBase64, "base64").toString()).toContain("Name:");
	});

	test("fs/readFile never sends a frame above 16 MiB", async () => {
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

	test("fs/writeFile creates a file, or truncates an existing one", async () => {
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

	test("fs/writeFile creates no directories, and reports the system's error", async () => {
		const directory = await everything();
		expect(await write(uriBelow(directory, "no/new"), "")).toEqual(notFound);
		expect(await write(uriBelow(directory, "file/new"), "")).toEqual(notDirectory);
		expect(await write(uriBelow(directory, "dir"), "")).toEqual({
			code: -32603,
			message: "Is a directory (os error 21)",
		});
	});

	test("fs/writeFile neither waits for the reader of a pipe nor writes to devices", async () => {
		const directory = await everything();
		expect(await write(uriBelow(directory, "pipe"), "x")).toEqual({
			code: -32603,
			message: "No such device or address (os error 6)",
		});
		expect(await write("file:///dev/null", "x")).toEqual({ code: -32600, message: "path `/dev/null` is not a file" });
	});

	test("fs/writeFile refuses invalid base64 with -32600, and leaves the file unchanged", async () => {
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
