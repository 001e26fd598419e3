/** `hawser agent` and `hawser run --agent`. */

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

const SETTINGS = '{\n  "model": "opus" // mine\n}\n';

/** A home in which Claude Code has been started once. */
async function homeWithClaude() {
	const home = await temporaryDirectory();
	await mkdir(join(home, ".claude"));
	const file = join(home, ".claude", "settings.json");
	await writeFile(file, SETTINGS);
	const run = (...args: string[]) => hawser.run(["agent", ...args], { env: { HOME: home } });
	return { home, file, run };
}

test("install shows the change and writes it only after a confirmation", async () => {
	const { file, run } = await homeWithClaude();
	const asked = await run("install", "claude");
	expect(asked).toMatchObject({ code: 1, stderr: "hawser: nothing was written: confirm with --yes\n" });
	expect(asked.stdout).toContain(`${file}\n`);
	expect(asked.stdout).toMatch(/^- {3}"model": "opus" \/\/ mine$/m);
	expect(asked.stdout).toMatch(/^\+ {3}"hooks": \{$/m);
	expect(await run("install", "claude", "--dry-run")).toMatchObject({ code: 0, stderr: "" });
	expect(await readFile(file, "utf8")).toBe(SETTINGS);
	const written = await run("install", "claude", "--yes");
	expect(written).toMatchObject({ code: 0, stderr: expect.stringContaining(`${file}.before-hawser`) });
	expect((await run("install", "claude", "--yes")).stderr).toContain("are installed in");
	const removed = await run("remove", "claude", "--yes");
	expect(removed).toMatchObject({ code: 0, stderr: `hawser: removed the hooks of claude from ${file}\n` });
	expect(await readFile(file, "utf8")).toBe(SETTINGS);
	expect((await run("remove", "claude", "--yes")).stderr).toContain("no hooks of hawser are installed for claude");
});

test("list says where hooks are installed, also beside a file that is broken", async () => {
	const { home, run } = await homeWithClaude();
	await run("install", "claude", "--yes");
	await mkdir(join(home, ".gemini"));
	await writeFile(join(home, ".gemini", "settings.json"), "{");
	const rows = JSON.parse((await run("list", "--json")).stdout) as { name: string; state: string }[];
	expect(rows.map(({ name, state }) => [name, state])).toEqual([
		["claude", "installed"],
		["codex", "absent"],
		["gemini", "unknown"],
		["opencode", "absent"],
		["copilot", "absent"],
	]);
	expect((await run("list")).stdout).toMatch(/^claude +installed +\/.*settings\.json$/m);
	expect((await run("install", "gemini", "--yes")).stderr).toMatch(/line 1 is not valid JSON; correct it first/);
	expect((await run("install", "nosuch")).stderr).toContain("choices: claude, codex");
});

test("run --agent passes the hooks without a change of any file", async () => {
	const { home, file } = await homeWithClaude();
	await mkdir(join(home, "bin"));
	await writeFile(join(home, "bin", "claude"), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
	await chmod(join(home, "bin", "claude"), 0o755);
	const env = { HOME: home, PATH: `${join(home, "bin")}:${process.env.PATH}` };
	const { stdout, code } = await hawser.run(["run", "--agent", "claude", "--", "--continue"], { env });
	expect(code).toBe(0);
	expect(stdout).toMatch(/^--settings\n\/.*\/agents\/claude\.json\n--continue\n$/);
	expect(await readFile(file, "utf8")).toBe(SETTINGS);
	const gemini = await hawser.run(["run", "--agent", "gemini"], { env });
	expect(gemini).toMatchObject({ code: 255, stderr: expect.stringContaining("hawser agent install gemini") });
});
