import { execFileSync } from "node:child_process";
import { lstat, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

it("export saves a durable session whose server was killed, and writes no partial file", async () => {
	const folder = await temporaryDirectory();
	await hawser.run(["run", "--detach", "--name", "demo", "--", "sh", "-c", "echo hello; exit 4"]);
	await hawser.run(["wait", "demo"]);
	await hawser.stopServer("SIGKILL");
	await hawser.startServer();
	const file = join(folder, "demo.cast");
	const args = ["export", "demo", "--format", "asciicast-v3", "--idle-limit", "2s"];
	expect(await hawser.run([...args, "-o", file])).toEqual({ code: 0, stdout: "", stderr: "" });
	const saved = await readFile(file, "utf8");
	const [header, ...events] = saved
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	expect(header).toMatchObject({
		version: 3,
		title: "demo",
		command: "sh -c 'echo hello; exit 4'",
		idle_time_limit: 2,
	});
	const [[, ...last] = [], ...shown] = events.reverse();
	expect(last).toEqual(["x", "4"]);
	// A line and its newline may arrive separately.
	expect(shown.every(([, code]) => code === "o")).toBe(true);
	expect(shown.reduce((after, [, , data]) => data + after, "")).toBe("hello\r\n");
	expect((await hawser.run(args)).stdout).toBe(saved);
	// A directory is not replaced by a file.
	const pipe = join(folder, "pipe");
	execFileSync("mkfifo", [pipe]);
	const [read] = await Promise.all([readFile(pipe, "utf8"), hawser.run([...args, "-o", pipe])]);
	expect(read).toBe(saved);
	expect((await lstat(pipe)).isFIFO()).toBe(true);
	await rm(pipe);
	const nowhere = join(folder, "no", "x.cast");
	expect(await hawser.run([...args, "-o", nowhere])).toEqual({
		code: 1,
		stdout: "",
		stderr: `hawser: can't open ${nowhere}: no such file or directory\n`,
	});
	expect(await readdir(folder)).toEqual(["demo.cast"]);
});

it("export prints the session's id and the file it wrote", async () => {
	expect(await hawser.run(["export", "--from", "noon"])).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("2026-01-31T12:00:00Z"),
	});
});

it("import restores an exported recording, and reports an invalid one", async () => {
	const folder = await temporaryDirectory();
	await hawser.run(["run", "--detach", "--name", "again", "--", "sh", "-c", "echo hello; exit 4"]);
	await hawser.run(["wait", "again"]);
	const saved = (await hawser.run(["export", "again", "--format", "asciicast-v3"])).stdout;
	const file = join(folder, "again.cast");
	await writeFile(file, saved);
	const { stdout: id } = await hawser.run(["import", file, "--name", "taken"]);
	expect((await hawser.run(["screen", "taken"])).stdout).toBe("hello\n");
	expect((await hawser.run(["grep", "-F", "ell", id.trim()])).stdout).toBe("hello\n");
	const again = (await hawser.run(["export", "taken", "--format", "asciicast-v3"])).stdout;
	expect(again).toBe(saved.replace('"title":"again"', '"title":"taken"'));
	await writeFile(file, `${saved}{`);
	const lines = saved.trimEnd().split("\n").length;
	expect(await hawser.run(["import", file])).toMatchObject({
		code: 1,
		stderr: `hawser: line ${lines + 1} of ${file}: is not JSON\n`,
	});
	expect((await hawser.run(["import", join(folder, "none")])).stderr).toContain("ENOENT");
});
