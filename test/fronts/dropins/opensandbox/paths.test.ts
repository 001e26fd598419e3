/** Directories in requests: expansion, creation and existence. */

import { mkdir, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	existingDirectory,
	expandPath,
	madeDirectory,
} from "../../../../src/fronts/dropins/opensandbox/working-directory.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

const around = { env: { HOME: "/home/me", A: "one", B_2: "two$A", EMPTY: "" }, cwd: "/base" };

describe("1.9: expansion", () => {
	test.each([
		["/abs", "/abs"],
		["rel/x", "/base/rel/x"],
		["$A", "/base/one"],
		[`/x/\${A}/$B_2/y`, "/x/one/two$A/y"],
		[`/\${A}b`, "/oneb"],
		["/x$EMPTY/y", "/x/y"],
		["~", "/home/me"],
		["~/x", "/home/me/x"],
		["~other/x", "/base/~other/x"],
		["/x/~", "/x/~"],
		["/cost$", "/cost$"],
		["/$5", "/$5"],
	])("%s expands to %s", (path, expected) => {
		expect(expandPath(path, around)).toBe(expected);
	});

	test("~ is the daemon's home also without HOME", () => {
		expect(expandPath("~/x", { env: {}, cwd: "/" })).toBe(join(homedir(), "x"));
	});

	test("an undefined variable is an error, not an empty string", () => {
		for (const path of ["$NOT", `/x/\${NOT}`, `/x/\${}`, "$toString"])
			expect(() => expandPath(path, around)).toThrow(/undefined variable/);
	});
});

describe("1.9: a missing directory", () => {
	test("an empty path means no directory", async () => {
		expect(await existingDirectory("", around)).toBeUndefined();
		expect(await madeDirectory("", around)).toBeUndefined();
	});

	test("a run's directory must exist: 400", async () => {
		const directory = await temporaryDirectory();
		await writeFile(join(directory, "file"), "");
		const here = { env: {}, cwd: directory };
		await mkdir(join(directory, "there"));
		expect(await existingDirectory("there", here)).toBe(join(directory, "there"));
		for (const path of ["missing", "file", "file/x", "$NOT"])
			await expect(existingDirectory(path, here)).rejects.toMatchObject({ status: 400, code: "INVALID_REQUEST_BODY" });
	});

	test("a session's directory is created: 500 if it can't be", async () => {
		const directory = await temporaryDirectory();
		await writeFile(join(directory, "file"), "");
		const here = { env: {}, cwd: directory };
		expect(await madeDirectory("a/b/c", here)).toBe(join(directory, "a/b/c"));
		expect((await stat(join(directory, "a/b/c"))).isDirectory()).toBe(true);
		expect(await madeDirectory("a", here)).toBe(join(directory, "a"));
		for (const path of ["file", "file/x", "$NOT"])
			await expect(madeDirectory(path, here)).rejects.toMatchObject({ status: 500, code: "RUNTIME_ERROR" });
	});
});
