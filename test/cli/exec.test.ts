/** `hawser exec`, `hawser commands` and `hawser send --wait`, as people have them. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { Installation } from "./hawser.ts";

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
	await hawser.run(["run", "--detach", "--name", "work", "--env", "HOME=/nonexistent", "--", "bash"]);
});
afterAll(() => hawser.remove());

it("exec ends with the command's exit code and prints what it wrote, in the shell that stays", async () => {
	expect(await hawser.run(["exec", "work", "cd /usr; X='a b'"])).toEqual({ code: 0, stdout: "", stderr: "" });
	expect(await hawser.run(["exec", "work", "pwd; (exit 3)"])).toEqual({ code: 3, stdout: "/usr\n", stderr: "" });
	expect(await hawser.run(["exec", "work", "--", "printf", "%s|", "a  b", "it's", "\\", "$X"])).toEqual({
		code: 0,
		stdout: "a  b|it's|\\|$X|",
		stderr: "",
	});
});

it("exec says when a command runs on, waits for somebody, or makes no sense", async () => {
	const late = await hawser.run(["exec", "--timeout", "300ms", "work", "sleep 1.5; echo late"]);
	expect(late).toMatchObject({ code: 124, stderr: expect.stringMatching(/--resume \d+/) });
	expect(await hawser.run(["exec", "work", "echo no"])).toMatchObject({
		code: 255,
		stderr: expect.stringMatching(/busy \(sleep\)/),
	});
	const [, seq = ""] = /--resume (\d+)/.exec(late.stderr) ?? [];
	expect(await hawser.run(["exec", "work", "--resume", seq])).toMatchObject({ code: 0, stdout: "late\n" });
	expect(await hawser.run(["exec", "work", "echo )"])).toMatchObject({
		code: 255,
		stderr: expect.stringContaining("would not run"),
	});
});

it("commands lists what the shell has run", async () => {
	await hawser.run(["exec", "work", "false"]);
	const { stdout } = await hawser.run(["commands", "work", "-n", "1"]);
	expect(stdout).toMatch(/^ +\d+ +1 +\d+\.\ds +\d+ {2}false\n$/);
	const { proven } = JSON.parse((await hawser.run(["commands", "work", "--json"])).stdout) as { proven: boolean };
	expect(proven).toBe(true);
});

it("send --wait prints what came of it, and its exit code says how the wait ended", async () => {
	const answer = await hawser.run(["send", "work", "echo a-$((1+1))", "--enter", "--wait"]);
	expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("a-2") });
	const late = ["send", "work", "true", "--enter", "--wait", "--match", "never", "--timeout", "50ms"];
	expect(await hawser.run(late)).toMatchObject({ code: 2 });
	expect(await hawser.run(["send", "work", "x", "--match", "x"])).toMatchObject({ code: 1 });
});
