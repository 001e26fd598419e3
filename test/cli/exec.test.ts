/** `hawser exec`, `hawser commands` and `hawser send --wait`, as people have them. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { Installation, result } from "./hawser.ts";

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

it("exec prints what a command writes while it runs, each byte once, and characters whole", async () => {
	const go = join(await temporaryDirectory(), "go");
	const wait = `while [ ! -e ${go} ]; do sleep 0.02; done`;
	// The first half of a character, and the rest of it later.
	const child = hawser.start(["exec", "work", `echo first; printf 'gr\\303'; ${wait}; printf '\\274n\\n'; (exit 3)`]);
	child.stdin?.end();
	let early = "";
	child.stdout?.on("data", (chunk: Buffer) => {
		early += chunk.toString();
	});
	const exited = once(child, "exit");
	await eventually("what it wrote first", () => early === "first\ngr");
	await writeFile(go, "");
	expect(await exited).toEqual([3, null]);
	expect(early).toBe("first\ngrün\n");
});

it("exec in a shell without hooks prints what is seen, and does not pretend to know how it ended", async () => {
	await hawser.run(["run", "--detach", "--name", "plain", "--", "dash"]);
	const answer = await hawser.run(["exec", "plain", "printf 'a-%s\\n' b; false"]);
	expect(answer).toMatchObject({ code: 125, stdout: expect.stringContaining("a-b\n") });
	expect(answer.stderr).toMatch(/has ended; how is not known/);
});

it("exec says when a command runs on, waits for somebody, or makes no sense", async () => {
	const gate = join(await temporaryDirectory(), "gate");
	execFileSync("mkfifo", [gate]);
	const patient = result(hawser.start(["exec", "work", `cat ${gate}; echo late`]));
	const { sessions } = await hawser.client();
	const shell = sessions.at((await sessions.list()).find(({ name }) => name === "work")?.id ?? "");
	await eventually("cat", async () => (await shell.inspect()).program === "cat");
	const seq = String((await shell.commands()).commands.at(-1)?.seq);
	const late = await hawser.run(["exec", "--timeout", "50ms", "work", "--resume", seq]);
	expect(late).toMatchObject({
		code: 124,
		stderr: `hawser: it still runs; to go on waiting: hawser exec work --resume ${seq}\n`,
	});
	expect(await hawser.run(["exec", "work", "echo no"])).toMatchObject({
		code: 255,
		stderr: expect.stringMatching(/busy \(cat\)/),
	});
	await writeFile(gate, "");
	expect(await patient).toMatchObject({ code: 0, stdout: "late\n" });
	expect(await hawser.run(["exec", "work", "--resume", seq])).toMatchObject({ code: 0, stdout: "late\n" });
	const asked = await hawser.run(["exec", "work", "sh -c 'read line'"]);
	expect(asked).toMatchObject({ code: 124, stderr: expect.stringMatching(/: hawser exec work --resume \d+\n$/) });
	expect(asked.stderr).toContain("to answer: hawser send work TEXT --enter");
	await hawser.run(["send", "work", "--enter", "yes", "--wait"]);
	expect(await hawser.run(["exec", "work", "echo )"])).toMatchObject({
		code: 255,
		stderr: expect.stringContaining("would not run"),
	});
	expect(await hawser.run(["exec", "work", "if true"])).toMatchObject({
		code: 255,
		stdout: "",
		stderr: expect.stringContaining("not whole"),
	});
});

it("commands lists what the shell has run", async () => {
	await hawser.run(["exec", "work", "false"]);
	const { stdout } = await hawser.run(["commands", "work", "-n", "1"]);
	expect(stdout).toMatch(/^NUMBER +EXIT +TOOK +OFFSET +COMMAND\n\d+ +1 +\d+\.\ds +\d+ +false\n$/);
	const { proven } = JSON.parse((await hawser.run(["commands", "work", "--json"])).stdout) as { proven: boolean };
	expect(proven).toBe(true);
});

it("send --wait prints what came of it, and its exit code says how the wait ended", async () => {
	const answer = await hawser.run(["send", "work", "echo a-$((1+1))", "--enter", "--wait"]);
	expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("a-2") });
	const late = ["send", "work", "true", "--enter", "--wait", "--match", "never", "--timeout", "50ms"];
	expect(await hawser.run(late)).toMatchObject({ code: 2, stderr: expect.stringContaining("the time was up") });
	expect(await hawser.run(["send", "work", "x", "--match", "x"])).toMatchObject({ code: 1 });
});
