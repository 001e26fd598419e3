import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let site: TestHawser;
beforeAll(async () => {
	site = await TestHawser.create();
});
afterAll(() => site.remove());

test("audit prints each action and its caller as a table or as JSON, and filters them", async () => {
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
		stderr: expect.stringContaining('did you mean "shell"?'),
	});
	await site.run(["rm", "shell"]);
	expect((await site.run(["audit", "ls", "--json", "--session", id.trim()])).stdout).toContain('"remove"');
	const last = await site.run(["audit", "ls", "-n", "1", "--action", "open", "--json"]);
	expect(last.stdout.trim().split("\n")).toHaveLength(1);
});

test("audit --verify checks the record with and without the server, and exits with 1 if it was changed", async () => {
	const live = await site.run(["audit", "verify"]);
	expect(live).toMatchObject({ code: 0 });
	const [, head = ""] = /^ok: \d+ entries; head \d+ ([0-9a-f]{64})\n$/.exec(live.stdout) ?? [];
	await site.stopServer("SIGTERM");
	expect(await site.run(["audit", "verify", "--head", head])).toMatchObject({ code: 0 });
	expect(await site.run(["audit", "verify", "--head", "f".repeat(64)])).toMatchObject({ code: 1, stdout: "" });
	expect((await site.run(["audit", "verify", "--head", "f"])).stderr).toContain("expected a hash of 64 hex digits");
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

test("audit prints nothing for a record that is missing or empty", async () => {
	const empty = await temporaryDirectory();
	for (const where of [["--state-dir", join(empty, "none")], [empty]]) {
		const checked = await site.run(["audit", "verify", ...where]);
		expect(checked).toMatchObject({ code: 1, stdout: "" });
		expect(checked.stderr).toMatch(/: there are no entries to verify\n$/);
		expect(checked.stderr).toContain(empty);
	}
});

test("doctor reports whether the audit log is on", async () => {
	await site.startServer();
	expect((await site.run(["doctor"])).stdout).toContain("audit: the audit log is on");
	expect(site.serverRemarks).toContain("the audit was damaged or changed");
});
