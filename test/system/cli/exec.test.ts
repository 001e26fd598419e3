/** `hawser exec`, `hawser commands` and `hawser send --wait`, as users run them. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
	await hawser.run(["run", "--detach", "--name", "work", "--env", "HOME=/nonexistent", "--", "bash"]);
});
afterAll(() => hawser.remove());

it("exec runs a command in a shell that stays, prints its output and exits with its code", async () => {
	expect(await hawser.run(["exec", "work", "cd /usr; X='a b'"])).toEqual({ code: 0, stdout: "", stderr: "" });
	expect(await hawser.run(["exec", "work", "pwd; (exit 3)"])).toEqual({ code: 3, stdout: "/usr\n", stderr: "" });
	expect(await hawser.run(["exec", "work", "--", "printf", "%s|", "a  b", "it's", "\\", "$X"])).toEqual({
		code: 0,
		stdout: "a  b|it's|\\|$X|",
		stderr: "",
	});
});

it("exec streams the output of a command, each byte once and characters whole", async () => {
	const go = join(await temporaryDirectory(), "go");
	const wait = `while [ ! -e ${go} ]; do sleep 0.02; done`;
	// The first half of a character, and the second half later.
	const child = hawser.start(["exec", "work", `echo first; printf 'gr\\303'; ${wait}; printf '\\274n\\n'; (exit 3)`]);
	child.stdin?.end();
	let early = "";
	child.stdout?.on("data", (chunk: Buffer) => {
		early += chunk.toString();
	});
	const exited = once(child, "exit");
	await eventually("the first output", () => early === "first\ngr");
	await writeFile(go, "");
	expect(await exited).toEqual([3, null]);
	expect(early).toBe("first\ngrün\n");
});

it.each([[], ["--no-shell-hooks"]])(
	"exec waits for a shell with a slow prompt, with options %s",
	async (...options) => {
		const home = await temporaryDirectory();
		await writeFile(join(home, ".bashrc"), "sleep 1.5; PS1='$ ' PROMPT_COMMAND='sleep 0.7'");
		const name = `slow${options.length}`;
		await hawser.run(["run", "--detach", "--name", name, "--env", `HOME=${home}`, ...options, "--", "bash"]);
		const early = await hawser.run(["exec", name, "--timeout", "300ms", "echo no"]);
		expect(early).toEqual({
			code: 255,
			stdout: "",
			stderr: "hawser: the shell is not at its prompt yet; nothing was sent; wait longer with --timeout\n",
		});
		for (const word of ["one", "two", "three"]) {
			const answer = await hawser.run(["exec", name, "--timeout", "20s", `echo x >>${home}/${word}; echo $((1+1))`]);
			expect(answer).toMatchObject({ code: options.length === 0 ? 0 : 125, stdout: expect.stringContaining("2\n") });
			expect(readFileSync(join(home, word), "utf8")).toBe("x\n");
		}
	},
);

it("exec prints all output in order and unchanged, unless --max-output cuts it", async () => {
	const folder = await temporaryDirectory();
	// Every byte except those that a terminal translates and the separator of this test.
	const bytes = Buffer.alloc(9 * 1024 * 1024, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
	await writeFile(join(folder, "bytes"), bytes);
	const child = hawser.start(["exec", "work", `cat ${folder}/bytes`]);
	child.stdin?.end();
	const chunks: Buffer[] = [];
	child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
	expect(await once(child, "close")).toEqual([0, null]);
	expect(Buffer.concat(chunks).equals(bytes)).toBe(true);

	const lines = Array.from({ length: 10_000 }, (_, index) => `${index + 1}\n`).join("");
	const cut = await hawser.run(["exec", "work", "--max-output", "1000", "seq 1 10000"]);
	expect(cut).toMatchObject({ code: 0, stdout: lines.slice(0, 1000) });
	expect(cut.stderr).toMatch(/^hawser: skipped 47894 bytes; show them with: hawser logs work --since \d+\n/);
	const json = await hawser.run(["exec", "work", "--json", "seq 1 10000"]);
	expect(JSON.parse(json.stdout)).toMatchObject({ text: lines, omitted: 0, exitCode: 0 });
	const cutJson = await hawser.run(["exec", "work", "--json", "--max-output", "1000", "seq 1 10000"]);
	expect(JSON.parse(cutJson.stdout)).toMatchObject({ text: lines.slice(0, 1000), omitted: 47_894 });
});

it("exec in a shell without hooks prints the output and reports an unknown exit code", async () => {
	await hawser.run(["run", "--detach", "--name", "plain", "--", "dash"]);
	const answer = await hawser.run(["exec", "plain", "printf 'a-%s\\n' b; false"]);
	expect(answer).toMatchObject({ code: 125, stdout: expect.stringContaining("a-b\n") });
	expect(answer.stderr).toMatch(/ended with unknown exit code/);
});

it("exec reports why a shell has no hooks", async () => {
	const home = await temporaryDirectory();
	await writeFile(join(home, ".bashrc"), "readonly PS1='$ '\n");
	await hawser.run(["run", "--detach", "--name", "fixed", "--env", `HOME=${home}`, "--", "bash"]);
	const answer = await hawser.run(["exec", "fixed", "echo $((40 + 2)); false"]);
	expect(answer).toMatchObject({
		code: 125,
		stdout: expect.stringMatching(/[\r\n]42\n/),
		stderr:
			"hawser: ended with unknown exit code: " + "can't add hooks to this shell, because its PS1 or PS0 is readonly\n",
	});
});

it("exec reports a command that still runs, one that waits for input, and one that is invalid", async () => {
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
		stderr: `hawser: still running; resume waiting with: hawser exec work --resume ${seq}\n`,
	});
	expect(await hawser.run(["exec", "work", "echo no"])).toMatchObject({
		code: 255,
		stderr:
			"hawser: the shell is busy (cat); nothing was sent; " +
			"type into the program with: hawser send work TEXT --enter --wait\n",
	});
	await writeFile(gate, "");
	expect(await patient).toMatchObject({ code: 0, stdout: "late\n" });
	expect(await hawser.run(["exec", "work", "--resume", seq])).toMatchObject({ code: 0, stdout: "late\n" });
	const asked = await hawser.run(["exec", "work", "sh -c 'read line'"]);
	expect(asked).toMatchObject({ code: 124, stderr: expect.stringMatching(/: hawser exec work --resume \d+\n$/) });
	expect(asked.stderr).toContain("answer with: hawser send work TEXT --enter");
	await hawser.run(["send", "work", "--enter", "yes", "--wait"]);
	expect(await hawser.run(["exec", "work", "echo )"])).toMatchObject({
		code: 255,
		stderr: expect.stringContaining("rejected"),
	});
	expect(await hawser.run(["exec", "work", "if true"])).toMatchObject({
		code: 255,
		stdout: "",
		stderr: expect.stringContaining("incomplete"),
	});
});

it("commands lists what the shell has run", async () => {
	await hawser.run(["exec", "work", "false"]);
	const { stdout } = await hawser.run(["commands", "work", "-n", "1"]);
	expect(stdout).toMatch(/^NUMBER +EXIT +DURATION +OFFSET +COMMAND\n\d+ +1 +\d+\.\ds +\d+ +false\n$/);
	const { proven } = JSON.parse((await hawser.run(["commands", "work", "--json"])).stdout) as { proven: boolean };
	expect(proven).toBe(true);
});

it("send --wait prints the output that follows, and its exit code tells how the wait ended", async () => {
	const answer = await hawser.run(["send", "work", "echo a-$((1+1))", "--enter", "--wait"]);
	expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("a-2") });
	const late = ["send", "work", "true", "--enter", "--wait", "--match", "never", "--timeout", "50ms"];
	expect(await hawser.run(late)).toMatchObject({ code: 2, stderr: expect.stringContaining("timed out after") });
	expect(await hawser.run(["send", "work", "x", "--match", "x"])).toMatchObject({ code: 1 });
});
