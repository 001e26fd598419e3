import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
	await hawser.run(["run", "--detach", "--name", "called", "--", "cat"]);
});
afterAll(() => hawser.remove());

describe("messages for refusals of the server", () => {
	it("a refusal names a session by the user's name for it", async () => {
		await hawser.run(["run", "--name", "over", "--", "true"]);
		const { stdout } = await hawser.run(["token", "create", "--scope", "workspace:default:read"]);
		const env = { HAWSER_TOKEN: stdout.trim() };
		const sentences = await Promise.all([
			hawser.run(["send", "over", "x"]),
			hawser.run(["send", "calle", "x"], { env }),
		]);
		expect(sentences.map(({ stderr }) => stderr)).toEqual([
			expect.stringContaining('session "over" has ended'),
			expect.stringContaining('this token may not operate session "called"'),
		]);
	});

	it.each([
		[["workspace", "show", "a b"], "workspace ID: must be 1 to 64 of A-Z, a-z, 0-9, _ . -"],
		[["workspace", "set", "acme", "--max-sessions", "0"], "expected a positive integer"],
		[["workspace", "set", "acme", "--max-journals", "0"], "--max-journals: must be at least 1, not 0"],
		[["run", "--label", "a b=c", "true"], "--label a b: its name must match"],
		[["run", "--name", "", "true"], "--name: must not be empty"],
		[["token", "create", "--name", "x".repeat(65)], "--name: must have at most 64 characters"],
	])("a refusal is worded for the command line: %j", async (args, sentence) => {
		const { code, stderr } = await hawser.run(args);
		expect(code).not.toBe(0);
		expect(stderr).toContain(`${sentence}`);
	});

	it("a refusal for lack of disk space suggests flags of run", async () => {
		await hawser.run(["workspace", "set", "small", "--max-journals", "1MiB"]);
		const run = (...flags: string[]) => hawser.run(["run", "--workspace", "small", ...flags, "--", "echo", "hi"]);
		expect(await run()).toMatchObject({ code: 255, stderr: expect.stringContaining("--journal or --no-durable") });
		expect(await run("--journal", "512KiB")).toEqual({ code: 0, stdout: "hi\n", stderr: "" });
		expect(await run("--no-durable")).toEqual({ code: 0, stdout: "hi\n", stderr: "" });
	});
});

it("an invalid command line is refused in one sentence with a valid form", async () => {
	const lines = [
		["frobnicate"],
		["token", "frobnicate"],
		["send", "--frobnicate"],
		["logs", "--since", "bogus"],
		["run", "--timeout", "bogus", "true"],
		["wait", "--match", "("],
		["attach"],
	];
	const said = await Promise.all(lines.map((args) => hawser.run(args, { env: { HAWSER_ESCAPE: "ab" } })));
	expect(said.map(({ stderr }) => stderr)).toEqual([
		"hawser: unknown command 'frobnicate' (see hawser --help)\n",
		"hawser: unknown command 'frobnicate' (see hawser token --help)\n",
		"hawser: unknown option '--frobnicate' (see hawser send --help)\n",
		'hawser: --since <offset>: expected a non-negative integer, not "bogus"\n',
		'hawser: --timeout <duration>: expected a duration such as 500ms, 10s, 5m or 1h30m, not "bogus"\n',
		'hawser: --match <regexp>: expected a regular expression (Unterminated group), not "("\n',
		'hawser: HAWSER_ESCAPE: expected a character such as ~, a control key such as ^] or C-a, or "none", not "ab"\n',
	]);
});

it("a system error is a sentence that names the file", async () => {
	expect((await hawser.run(["ls"], { env: { HAWSER_STATE_DIR: "/dev/null/x" } })).stderr).toBe(
		"hawser: can't open /dev/null/x/server.json: not a directory\n",
	);
});

it("run --json prints the exit last, separate from the program's output", async () => {
	const { code, stdout, stderr } = await hawser.run([
		"run",
		"--json",
		"--",
		"sh",
		"-c",
		"echo out; echo err >&2; exit 3",
	]);
	const [first, last = ""] = stderr.trim().split("\n");
	expect({ code, stdout, first }).toEqual({ code: 3, stdout: "out\n", first: "err" });
	expect(JSON.parse(last)).toEqual({ id: expect.any(String), kind: "exited", exit: { code: 3, signal: null } });
});
