import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

async function detached(...args: string[]): Promise<string> {
	const { code, stdout, stderr } = await hawser.run(["run", "--detach", ...args]);
	expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
	return stdout.trim();
}

async function listed(...args: string[]): Promise<{ id: string; state: string; [key: string]: unknown }[]> {
	return JSON.parse((await hawser.run(["ls", "--json", ...args])).stdout);
}

describe("run", () => {
	it("run prints the output and exits with the program's code", async () => {
		expect(await hawser.run(["run", "--pipe", "--", "sh", "-c", "echo out; echo err >&2; exit 7"])).toEqual({
			code: 7,
			stdout: "out\n",
			stderr: "err\n",
		});
		expect(await hawser.run(["run", "--tty", "--", "sh", "-c", "kill -9 $$"])).toMatchObject({ code: 137 });
	});

	it("run starts in the caller's directory, sets the given variables, and passes options on to the program", async () => {
		const args = ["run", "--env", "A=1 2", "--env", "B", "sh", "-c", 'pwd; echo "$A $B $1"', "x", "--detach"];
		const { stdout } = await hawser.run(args, { env: { B: "from here" } });
		expect(stdout).toBe("/tmp\n1 2 from here --detach\n");
	});

	it("run's own failures have other exit codes than the program's", async () => {
		expect(await hawser.run(["run", "/no/such/program"])).toEqual({
			code: 255,
			stdout: "",
			stderr: expect.stringMatching(/^hawser: .*no such/i),
		});
		expect(await hawser.run(["run", "--nonsense"])).toMatchObject({
			code: 255,
			stderr: expect.stringMatching(/^hawser: unknown option.*\n$/),
		});
		expect(await hawser.run(["run", "--timeout", "soon", "true"])).toMatchObject({
			code: 255,
			stderr: expect.stringContaining("10s"),
		});
		expect(await hawser.run(["run", "--env", "=x", "true"])).toMatchObject({
			code: 255,
			stderr: expect.stringContaining("K=V"),
		});
	});

	it("run --timeout ends the program and reports that", async () => {
		const { code, stderr } = await hawser.run(["run", "--timeout", "300ms", "--", "sleep", "60"]);
		expect(code).toBeGreaterThan(128);
		expect(stderr).toContain("timeout");
	});

	it.each([[["--tty"]], [["--pipe"]]])("run sends Ctrl-C to the program (%j)", async (options) => {
		const script = "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.05; done";
		const child = hawser.start(["run", ...options, "--", "sh", "-c", script]);
		if (!child.stdout) throw new Error("no stdout");
		const done = result(child);
		await once(child.stdout, "data");
		child.kill("SIGINT");
		const { code, stdout } = await done;
		expect(code).toBe(9);
		expect(stdout).toContain("interrupted");
	});

	it.each(["TERM", "HUP", "QUIT"] as const)("run forwards SIG%s to the program", async (signal) => {
		const script = `trap 'echo told; exit 9' ${signal}; echo ready; while :; do sleep 0.05; done`;
		const child = hawser.start(["run", "--", "sh", "-c", script]);
		if (!child.stdout) throw new Error("no stdout");
		const done = result(child);
		await once(child.stdout, "data");
		child.kill(`SIG${signal}`);
		expect(await done).toMatchObject({ code: 9, stdout: "ready\ntold\n" });
	});
});

describe("ls", () => {
	it("ls lists running sessions, and with --all ended ones with their exit", async () => {
		const id = await detached("--name", "lister", "--", "sleep", "60");
		expect((await hawser.run(["ls"])).stdout).toMatch(
			new RegExp(
				`^ID +NAME +STATE +AGE +IDLE +ATTACHED +SIZE +DIRECTORY +COMMAND\n(.*\n)*${id} +lister +running +\\d+\\w+ +\\d+\\w+ +0 +80x24 +~ +sleep 60\n`,
			),
		);
		await hawser.run(["kill", "lister"]);
		expect((await hawser.run(["ls"])).stdout).not.toContain(id);
		expect((await hawser.run(["ls", "--all"])).stdout).toMatch(new RegExp(`${id} +lister +SIG\\w+ \\(killed\\)`));
	});

	it("ls escapes control sequences in session names and commands", async () => {
		await detached("--", "sh", "-c", "sleep 60", "\u001b]0;owned\u0007\u202e\n");
		const { stdout } = await hawser.run(["ls"]);
		expect(stdout).toContain("\\x1b]0;owned\\x07\\u202e\\n");
		expect(stdout).not.toContain("\u001b");
	});
});

describe("logs", () => {
	it("logs writes the exact bytes to a pipe, from any offset, of the named session", async () => {
		const id = await detached("--name", "bytes", "--pipe", "--", "printf", "\\000\\377\\033[31mred");
		await hawser.run(["logs", "--follow", id]);
		const child = hawser.start(["logs", "--since", "2", "bytes"]);
		expect((await result(child)).stdout).toBe("\u001b[31mred");
		expect((await hawser.run(["logs", "--since", "7", id.slice(0, 6)])).stdout).toBe("red");
		expect((await hawser.run(["logs", "--since", "7"])).stdout).toBe("red");
	});

	it("logs on a terminal shows text and colors and drops other sequences", async () => {
		const id = await detached("--pipe", "--", "printf", "\\033[31mred\\033[0m \\033]52;c;aGk=\\007\\033[6nplain");
		await hawser.run(["logs", "-f", id]);
		// The command runs in a session, which is its terminal.
		const inside = ["run", "--tty", "--env", "HAWSER_STATE_DIR", "--", process.execPath, "dist/cli/main.js"];
		const cwd = ["--cwd", process.cwd()];
		const { stdout } = await hawser.run([...inside.slice(0, 1), ...cwd, ...inside.slice(1), "logs", id]);
		expect(stdout).toBe("\u001b[31mred\u001b[0m plain");
		const raw = await hawser.run([...inside.slice(0, 1), ...cwd, ...inside.slice(1), "logs", "--raw", id]);
		expect(raw.stdout).toContain("\u001b]52;c;aGk=\u0007");
	});

	it("logs exits quietly when its reader closes the pipe", async () => {
		await detached("--name", "flood", "--pipe", "--", "sh", "-c", "yes | head -c 5000000");
		const child = hawser.start(["logs", "--follow", "flood"]);
		const exited = once(child, "exit");
		if (!child.stdout || !child.stderr) throw new Error("no pipes");
		let stderr = "";
		child.stderr.on("data", (chunk: Buffer) => {
			stderr += chunk.toString();
		});
		await once(child.stdout, "data");
		child.stdout.destroy();
		await exited;
		expect(stderr).toBe("");
	});
});

describe("send", () => {
	it("send types text and presses keys in order", async () => {
		const id = await detached(
			"--name",
			"typed",
			"--",
			"sh",
			"-c",
			'read line; echo "got <$line>"; read line; echo "got <$line>"; cat',
		);
		expect(await hawser.run(["send", "typed", "hello world", "--enter"])).toEqual({ code: 0, stdout: "", stderr: "" });
		await hawser.run(["send", id, "-", "--key", "Enter"], { input: "from stdin" });
		await hawser.run(["send", id, "--key", "ctrl+d"]);
		expect((await hawser.run(["logs", "-f", id])).stdout).toContain("got <from stdin>");
		expect((await hawser.run(["logs", id])).stdout).toContain("got <hello world>");
		expect(await hawser.run(["send", id, "too late"])).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/^hawser: .*ended.*\n$/),
		});
	});

	it("send refuses a key that does not exist and sends nothing", async () => {
		expect(await hawser.run(["send", "x", "--key", "Hyper-9"])).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("C-c"),
		});
		expect(await hawser.run(["send", "x"])).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("nothing to send"),
		});
	});
});

describe("kill and rm", () => {
	it("kill and rm handle several sessions, and continue after one that does not exist", async () => {
		const first = await detached("--", "sleep", "60");
		const second = await detached("--", "sleep", "60");
		const { code, stderr } = await hawser.run(["kill", "--signal", "int", "--grace", "5s", first, "nosuch", second]);
		expect({ code, stderr }).toEqual({
			code: 3,
			stderr: expect.stringMatching(/^hawser: no session "nosuch" .*\n$/),
		});
		const states = (await listed("--all")).filter(({ id }) => id === first || id === second);
		expect(states).toMatchObject([{ exit: { signal: "SIGINT" } }, { exit: { signal: "SIGINT" } }]);
		expect(await hawser.run(["rm", first, second])).toEqual({ code: 0, stdout: "", stderr: "" });
		expect((await listed("--all")).map(({ id }) => id)).not.toContain(first);
	});

	it("rm keeps a running session unless --force is given", async () => {
		const id = await detached("--", "sleep", "60");
		expect(await hawser.run(["rm", id])).toMatchObject({ code: 1, stderr: expect.stringContaining("is running") });
		expect(await hawser.run(["rm", "--force", id])).toMatchObject({ code: 0 });
	});
});
