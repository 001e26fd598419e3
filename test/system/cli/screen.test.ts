import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/run-program.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

it("screen prints the current or an earlier screen as text, with colors or as JSON", async () => {
	await hawser.run(["run", "--detach", "--name", "demo", "--", "sh", "-c", "printf 'one\\033[31m two'; read -r x"]);
	await hawser.run(["wait", "demo", "--match", "two"]);
	expect(await hawser.run(["screen", "demo"])).toEqual({ code: 0, stdout: "one two\n", stderr: "" });
	expect((await hawser.run(["screen", "demo", "--color"])).stdout).toBe("one\u001b[38;5;1m two\u001b[0m\n");
	expect((await hawser.run(["screen", "demo", "--at", "3"])).stdout).toBe("one\n");
	expect(JSON.parse((await hawser.run(["screen", "demo", "--json"])).stdout)).toMatchObject({ lines: ["one two"] });
	expect((await hawser.run(["screen", "demo", "--at", "soon"])).code).not.toBe(0);
});

it("screen prints the same after the server was killed, with checkpoints and without", async () => {
	const script =
		"printf '\\033[?1049h\\033[3;7H\\033[7mpicture\\033[0m\\033]2;title\\007\\033[2;5r\\033[4;2H'; read -r x; printf more; read -r x";
	const args = ["run", "--detach", "--name", "full", "--", "sh", "-c", script];
	const { stdout } = await hawser.run(args);
	const id = stdout.trim();
	await hawser.run(["wait", "full", "--match", "picture"]);
	const before = (await hawser.run(["screen", "full", "--json"])).stdout;
	expect(JSON.parse(before)).toMatchObject({ alternate: true, title: "title", cursor: { row: 3, col: 1 } });
	const file = join(hawser.stateDir, "sessions", id, "screens");
	await eventually(async () => (await readFile(file, "utf8").catch(() => "")).includes('"snapshot"'));
	await hawser.stopServer("SIGKILL");
	await hawser.startServer();
	expect((await hawser.run(["screen", "full", "--json"])).stdout).toBe(before);
	await hawser.stopServer("SIGKILL");
	await rm(file);
	await hawser.startServer();
	expect((await hawser.run(["screen", "full", "--json"])).stdout).toBe(before);
	await hawser.run(["send", "full", "--enter"]);
	await eventually(async () => (await hawser.run(["screen", "full"])).stdout.includes("more"));
	await hawser.run(["kill", "full"]);
	expect((await hawser.run(["screen", "full"])).stdout).toContain("picture");
});
