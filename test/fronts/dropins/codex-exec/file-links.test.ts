/** Paths that must not contain links: `followSymlinks: false` (contract §10.2). */

import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { toPathUri } from "../../../../src/fronts/dropins/codex-exec/path-uri.ts";
import { uriBelow } from "./support/calls.ts";
import {
	base64,
	call,
	everything,
	fileExists,
	loop,
	notDirectory,
	notFound,
	notText,
} from "./support/file-fixtures.ts";

describe("followSymlinks: false", () => {
	const without = (name: string, path: string, rest = {}) => call(name, { path, followSymlinks: false, ...rest });

	test("every method works without links", async () => {
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
		expect(await without("fs/remove", uriBelow(directory, "a/d"), { recursive: false })).toEqual({});
		expect(await without("fs/remove", uriBelow(directory, "a/d"), { recursive: false })).toEqual({});
		expect(await without("fs/readFile", uriBelow(directory, notText))).toEqual({ dataBase64: base64("bytes") });
		expect(await without("fs/readFile", uriBelow(directory, "nothing"))).toEqual(notFound);
	});

	test("recursive removal is refused, whether the directory exists or not", async () => {
		const directory = await everything();
		const refused = { code: -32603, message: "recursive no-follow removal is unsupported" };
		for (const name of ["dir", "file", "to-dir", "nothing"])
			expect(await without("fs/remove", uriBelow(directory, name))).toEqual(refused);
		expect(await readdir(`${directory}/dir`)).toEqual(["inner"]);
	});

	test("a refusal names the file as the caller did", async () => {
		const directory = await everything();
		expect(await without("fs/readFile", uriBelow(directory, "pipe"))).toEqual({
			code: -32600,
			message: `path \`${directory}/pipe\` is not a file`,
		});
	});

	test("the last component is not followed", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "to-file");
		expect(await without("fs/readFile", path)).toEqual(loop);
		expect(await without("fs/writeFile", path, { dataBase64: "" })).toEqual(loop);
		expect(await without("fs/getMetadata", path)).toEqual({ code: -32600, message: "path contains a symbolic link" });
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir"))).toEqual(fileExists);
		expect(await without("fs/createDirectory", uriBelow(directory, "broken"), { recursive: false })).toEqual(
			fileExists,
		);
		expect(await without("fs/remove", path, { recursive: false })).toEqual({
			code: -32600,
			message: "path contains a symbolic link",
		});
		expect(await readFile(`${directory}/file`, "utf8")).toBe("content");
	});

	test("a link in the middle of the path is not followed, and nothing beyond it changes", async () => {
		const directory = await everything();
		const path = uriBelow(directory, "to-dir/inner/leaf");
		for (const name of ["fs/readFile", "fs/getMetadata", "fs/remove"])
			expect(await without(name, path, { recursive: false })).toEqual(notDirectory);
		expect(await without("fs/writeFile", path, { dataBase64: "" })).toEqual(notDirectory);
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir/new"))).toEqual(fileExists);
		expect(await without("fs/createDirectory", uriBelow(directory, "to-dir/new"), { recursive: false })).toEqual(
			notDirectory,
		);
		expect(await readFile(`${directory}/dir/inner/leaf`, "utf8")).toBe("leaf");
		expect(await readdir(`${directory}/dir`)).toEqual(["inner"]);
	});

	test.each(["..", "."])("%s as a component is refused", async (name) => {
		const directory = await everything();
		const path = toPathUri(`${directory}/new/${name}/file`);
		expect(await without("fs/readFile", path)).toMatchObject({ code: -32600 });
		expect(await without("fs/createDirectory", path)).toMatchObject({ code: -32600 });
		expect(await readdir(directory)).not.toContain("new");
	});
});
