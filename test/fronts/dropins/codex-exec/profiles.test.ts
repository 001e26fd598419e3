/** Custom permission profiles of Codex users: deny patterns and restricted reads. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { directoryOf, users } from "../../../sandbox/support.ts";
import type { ExecClient } from "./support/exec-client.ts";
import { sh, startExec } from "./support/exec-harness.ts";

type Entry = { readonly path: object; readonly access: string };

const special = (kind: string, access: string): Entry => ({ path: { type: "special", value: { kind } }, access });
const at = (path: string, access: string): Entry => ({
	path: { type: "path", path: pathToFileURL(path).href },
	access,
});
const pattern = (text: string, access = "deny"): Entry => ({ path: { type: "glob_pattern", pattern: text }, access });

function sandboxOf(work: string, entries: readonly Entry[], more: object = {}): object {
	return {
		permissions: {
			type: "managed",
			file_system: { type: "restricted", entries, ...more },
			network: "restricted",
		},
		cwd: pathToFileURL(work).href,
		workspaceRoots: [pathToFileURL(work).href],
		windowsSandboxLevel: "disabled",
	};
}

let client: ExecClient;
let work: string;
let outside: string;
beforeEach(async () => {
	client = await (await startExec()).client();
	const [user] = users;
	if (!user) throw new Error("no user to run as");
	work = await directoryOf(user);
	outside = await directoryOf(user);
	await mkdir(join(work, "sub"));
	for (const name of ["plain", "a.env", "sub/b.env"]) await writeFile(join(work, name), `content of ${name}\n`);
	await writeFile(join(outside, "key"), "content of the key\n");
});

async function run(script: string, sandbox: object): Promise<{ text: string; exitCode: number | null }> {
	const log = await client.start("p", sh(script), { cwd: pathToFileURL(work).href, sandbox });
	await log.closed();
	return { text: log.text(), exitCode: log.exitCode ?? null };
}

async function read(path: string, sandbox: object): Promise<unknown> {
	const answer = await client
		.request("fs/readFile", { path: pathToFileURL(path).href, sandbox })
		.catch((error: { code: number; message: string }) => ({ code: error.code, message: error.message }));
	const { dataBase64 } = answer as { dataBase64?: string };
	return dataBase64 === undefined ? answer : Buffer.from(dataBase64, "base64").toString();
}

const denied = { code: -32600, message: "Permission denied (os error 13)" };

describe("a profile with a deny pattern", () => {
	const entries = (...patterns: Entry[]) => [special("root", "read"), special("project_roots", "write"), ...patterns];

	test.each([
		["in the workspace, as the real client names it", () => pattern("codex-project-roots://**/*.env")],
		["in the workspace, relative", () => pattern("**/*.env")],
		["of absolute paths", () => pattern(`${work}/**/*.env`)],
		["with access none", () => pattern("**/*.env", "none")],
	])("a deny pattern hides what matches %s from commands and from fs/*, and nothing else", async (_name, deny) => {
		const sandbox = sandboxOf(work, entries(deny()));
		const script = "exec 2>&1; cat plain; cat a.env; cat sub/b.env; echo new > made; cat made";
		expect(await run(script, sandbox)).toMatchObject({
			text: expect.stringMatching(
				/^content of plain\ncat: a\.env: Permission denied\ncat: sub\/b\.env: Permission denied\nnew\n$/,
			),
		});
		expect(await read(join(work, "plain"), sandbox)).toBe("content of plain\n");
		expect(await read(join(work, "a.env"), sandbox)).toEqual(denied);
		expect(await read(join(work, "sub/b.env"), sandbox)).toEqual(denied);
		expect(await readFile(join(work, "a.env"), "utf8")).toBe("content of a.env\n");
	});

	test("a deny pattern searches no deeper than glob_scan_max_depth", async () => {
		const sandbox = sandboxOf(work, entries(pattern("**/*.env")), { glob_scan_max_depth: 1 });
		expect(await run("exec 2>&1; cat a.env; cat sub/b.env", sandbox)).toMatchObject({
			text: "cat: a.env: Permission denied\ncontent of sub/b.env\n",
		});
	});

	test("a deny pattern of an unknown form is refused", async () => {
		const sandbox = sandboxOf(work, entries(pattern("codex-elsewhere://**/*.env")));
		await expect(run("true", sandbox)).rejects.toMatchObject({
			code: -32602,
			message: "sandbox intent cannot be enforced on this executor",
		});
	});

	test.each(["read", "write"])("a pattern with the access %s is refused", async (access) => {
		const sandbox = sandboxOf(work, entries(pattern("**/*.env", access)));
		await expect(run("true", sandbox)).rejects.toMatchObject({
			code: -32602,
			message: "sandbox intent cannot be enforced on this executor",
		});
	});
});

describe("a profile without the root", () => {
	const minimal = () => [special("minimal", "read"), special("project_roots", "write")];

	test("system programs run, write to the workspace, and read nothing else", async () => {
		const sandbox = sandboxOf(work, minimal());
		const script = `/bin/cat plain; echo new > made && cat made; cat ${outside}/key; ls /; touch /usr/x /new; test -r /etc/passwd && echo "etc is readable"`;
		const { text } = await run(script, sandbox);
		expect(text).toContain("content of plain\nnew\n");
		expect(text).toContain(`cat: ${outside}/key: No such file or directory\n`);
		expect(text).toMatch(/touch: cannot touch '\/usr\/x': Read-only file system\n/);
		expect(text).toMatch(/touch: cannot touch '\/new': Read-only file system\n/);
		// The program has two pipes, so its errors may arrive before or after its output.
		expect(text).toContain("etc is readable\n");
		expect(text).not.toMatch(/^(root|home|srv|opt)$/m);
		expect(await readFile(join(work, "made"), "utf8")).toBe("new\n");
	});

	test("a profile is enforced for fs/* as for commands", async () => {
		const sandbox = sandboxOf(work, minimal());
		expect(await read(join(work, "plain"), sandbox)).toBe("content of plain\n");
		expect(await read(join(outside, "key"), sandbox)).toMatchObject({ code: -32004 });
		const path = pathToFileURL(join(outside, "new")).href;
		const written = client.request("fs/writeFile", { path, dataBase64: "", sandbox });
		await expect(written).rejects.toMatchObject({ code: expect.any(Number) });
	});

	test("a profile reads the paths it names, without the ones it denies below them", async () => {
		await mkdir(join(outside, "private"));
		await writeFile(join(outside, "private/key"), "");
		const more = [at(outside, "read"), at(join(outside, "private"), "deny"), pattern(`${work}/*.env`)];
		const sandbox = sandboxOf(work, [...minimal(), ...more]);
		const { text } = await run(`cat ${outside}/key; ls ${outside}/private; cat a.env; touch ${outside}/new`, sandbox);
		expect(text).toContain("content of the key\n");
		expect(text).toContain(`ls: cannot open directory '${outside}/private': Permission denied\n`);
		expect(text).toContain("cat: a.env: Permission denied\n");
		expect(text).toMatch(/touch: cannot touch '[^']+': Read-only file system\n$/);
	});

	test.each([
		["root denied", () => [special("root", "deny"), ...minimal()]],
		["root with access none", () => [special("root", "none"), ...minimal()]],
	])("the profile is enforced the same with %s", async (_name, entries) => {
		const sandbox = sandboxOf(work, entries());
		const { text } = await run(`cat plain; cat ${outside}/key`, sandbox);
		expect(text).toBe(`content of plain\ncat: ${outside}/key: No such file or directory\n`);
	});

	test("a profile that makes system files writable is refused", async () => {
		const sandbox = sandboxOf(work, [special("minimal", "write")]);
		await expect(run("true", sandbox)).rejects.toMatchObject({
			code: -32602,
			message: "sandbox intent cannot be enforced on this executor",
		});
	});
});
