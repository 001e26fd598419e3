import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { Installation } from "./hawser.ts";

let site: Installation;
beforeAll(async () => {
	site = await Installation.create();
});
afterAll(() => site.remove());

test("shows who did what, as a table or as JSON, and what is asked for alone", async () => {
	const { stdout: id } = await site.run(["run", "--detach", "--name", "shell", "--idle-timeout", "1h", "--", "cat"]);
	await site.run(["send", "shell", "hunter2", "--enter"]);
	await site.run(["kill", "shell"]);
	const shown = await site.run(["audit"]);
	expect(shown).toMatchObject({ code: 0, stderr: "" });
	expect(shown.stdout).toMatch(/^SEQ +TIME +WHO +FROM +ACTION +WORKSPACE +SESSION +DETAILS\n/);
	expect(shown.stdout).toMatch(new RegExp(`admin +local +open +default +${id.trim()} +program=cat`));
	expect(shown.stdout).not.toContain("hunter2");
	const { stdout } = await site.run(["audit", "ls", "--json", "--session", id.trim(), "--principal", "admin"]);
	const entries = stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as { action: string; bytes?: number });
	const actions = entries.map(({ action }) => action);
	expect([actions[0], actions.at(-1)]).toEqual(["open", "kill"]);
	expect(entries.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBe("hunter2\r".length);
	const byName = await site.run(["audit", "ls", "--json", "--session", "she", "--principal", "admin"]);
	expect(byName.stdout).toBe(stdout);
	expect(await site.run(["audit", "ls", "--session", "shelf"])).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("did you mean shell?"),
	});
	await site.run(["rm", "shell"]);
	expect((await site.run(["audit", "ls", "--json", "--session", id.trim()])).stdout).toContain('"remove"');
	const last = await site.run(["audit", "ls", "-n", "1", "--action", "open", "--json"]);
	expect(last.stdout.trim().split("\n")).toHaveLength(1);
});

test("checks the record, with the server and without, and ends with 1 where it was changed", async () => {
	const live = await site.run(["audit", "verify"]);
	expect(live).toMatchObject({ code: 0 });
	const [, head = ""] = /^ok: \d+ entries; head \d+ ([0-9a-f]{64})\n$/.exec(live.stdout) ?? [];
	await site.stopServer("SIGTERM");
	expect(await site.run(["audit", "verify", "--head", head])).toMatchObject({ code: 0 });
	expect(await site.run(["audit", "verify", "--head", "f".repeat(64)])).toMatchObject({ code: 1, stdout: "" });
	expect((await site.run(["audit", "verify", "--head", "f"])).stderr).toContain("expected 64 digits");
	const directory = join(site.stateDir, "audit");
	const [name = ""] = await readdir(directory);
	const file = join(directory, name);
	expect(await site.run(["audit", "verify", file])).toMatchObject({ code: 0 });
	await writeFile(file, (await readFile(file, "utf8")).replace('"program":"cat"', '"program":"dog"'));
	for (const where of [file, directory]) {
		const changed = await site.run(["audit", "verify", where]);
		expect(changed).toMatchObject({ code: 1, stdout: "" });
		expect(changed.stderr).toMatch(/audit-000001\.jsonl, line \d+: its hash does not match/);
	}
});

test("has nothing to say for a record that is not there, or empty", async () => {
	const empty = await temporaryDirectory();
	for (const where of [["--state-dir", join(empty, "none")], [empty]]) {
		const checked = await site.run(["audit", "verify", ...where]);
		expect(checked).toMatchObject({ code: 1, stdout: "" });
		expect(checked.stderr).toMatch(/: there is no entry in it, and so nothing to verify\n$/);
		expect(checked.stderr).toContain(empty);
	}
});

test("a doctor says whether it is recorded", async () => {
	await site.startServer();
	expect((await site.run(["doctor"])).stdout).toContain("audit: who does what is recorded");
	expect(site.serverRemarks).toContain("not as it was written");
});
