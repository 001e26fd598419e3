// @module-tag slow

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { killKeepers } from "../../support/crashing-server.ts";
import { result, TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

// Concurrent: each has its own sessions, and one waits for a program that does not end.
describe.concurrent("run in a pipeline", () => {
	it("run sends stdin to the program up to its end", async () => {
		const [few, many] = await Promise.all([
			hawser.run(["run", "--", "cat"], { input: "x\n" }),
			hawser.run(["run", "--", "wc", "-c"], { input: "x".repeat(3_000_000) }),
		]);
		expect(few).toEqual({ code: 0, stdout: "x\n", stderr: "" });
		expect(many.stderr).toBe("");
		expect(many.stdout.trim()).toBe("3000000");
	});

	it("run loses nothing of a large output", async () => {
		const { stdout } = await hawser.run(["run", "--", "seq", "300000"]);
		expect(stdout).toBe(Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join(""));
	});

	it("run does not wait for a stdin that is neither read nor closed", async () => {
		const child = hawser.start(["run", "--", "sh", "-c", "exit 5"]);
		expect(await result(child)).toMatchObject({ code: 5 });
	});

	it("run detects terminals and pipes, and flags override that", async () => {
		const script = "test -t 0 && test -t 1 && echo tty || echo pipe";
		expect((await hawser.run(["run", "--", "sh", "-c", script])).stdout).toBe("pipe\n");
		expect((await hawser.run(["run", "--tty", "--", "sh", "-c", script])).stdout).toBe("tty\r\n");
		const { stdout: id } = await hawser.run(["run", "--detach", "--", "sh", "-c", script]);
		expect((await hawser.run(["logs", "-f", id.trim()])).stdout).toBe("tty\r\n");
		expect(await hawser.run(["run", "--tty", "--pipe", "true"])).toMatchObject({ code: 255 });
	});

	it.each([
		["piped", ["yes"]],
		["on-a-terminal", ["--tty", "--", "yes"]],
		["that-ignores-SIGPIPE", ["--", "sh", "-c", "trap '' PIPE; while echo y; do :; done"]],
	])("run ends a program whose output pipe is closed, and reports that: %s", async (name, argv) => {
		const child = hawser.start(["run", "--name", name, ...argv]);
		if (!child.stdout || !child.stderr) throw new Error("no pipes");
		const said = text(child.stderr);
		const exited = once(child, "exit");
		await once(child.stdout, "data");
		child.stdout.destroy();
		await exited;
		expect(child.exitCode).toBe(141);
		expect(await said).toMatch(/^hawser: output closed; the program was ended with SIGPIPE\n$/);
		const sessions = await (await hawser.client()).sessions.list();
		expect(sessions.find((session) => session.name === name)?.exit).toMatchObject({ reason: "killed" });
	});

	it("run --rm removes the session", async () => {
		await hawser.run(["run", "--rm", "--name", "brief", "--", "true"]);
		expect((await hawser.run(["ls", "--all", "--json"])).stdout).not.toContain("brief");
	});
});

describe("run in a pipeline during a restart of the server", () => {
	it("run continues where it was after the server is killed and restarted", async () => {
		const script = "for i in $(seq 40); do echo $i; sleep 0.03; done; cat; exit 3";
		const child = hawser.start(["run", "--", "sh", "-c", script]);
		if (!child.stdout || !child.stderr || !child.stdin) throw new Error("no pipes");
		const done = result(child);
		await once(child.stdout, "data");
		const noticed = once(child.stderr, "data");
		await hawser.stopServer("SIGKILL");
		await noticed;
		child.stdin.end("typed while it was away\n");
		await hawser.startServer();
		const numbers = Array.from({ length: 40 }, (_, index) => `${index + 1}\n`).join("");
		expect(await done).toEqual({
			code: 3,
			stdout: `${numbers}typed while it was away\n`,
			stderr: "hawser: server unreachable; reconnecting\nhawser: reconnected\n",
		});
	});
});

describe("run in a terminal", () => {
	it("run in a terminal passes size, keys and exit code like attach", async () => {
		const script = 'stty size; read -r line; echo "[$line]"; exit 9';
		const terminal = await Terminal.start(hawser, ["run", "--", "sh", "-c", script], { cols: 97, rows: 31 });
		await terminal.attached();
		await terminal.shows("31 97");
		await terminal.type("hello\r");
		await terminal.shows("[hello]");
		expect(await terminal.ended()).toEqual({ code: 9, isRestored: true });
	});

	it("run lets the program query the terminal in its first output", async () => {
		const script = "stty raw -echo; printf '\\033[6n.'; printf '[%s]' \"$(head -c 6 | od -An -c | tr -d ' ')\"";
		const terminal = await Terminal.start(hawser, ["run", "--", "sh", "-c", script]);
		await terminal.shows("\u001b[6n.");
		await terminal.type("\u001b[5;7R");
		await terminal.shows("[033[5;7R]");
		expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
	});

	it("run in a terminal can detach from the program", async () => {
		const terminal = await Terminal.start(hawser, ["run", "--name", "left", "--", "sleep", "60"]);
		await terminal.attached();
		await terminal.type("~.");
		expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
		expect((await hawser.run(["ls"])).stdout).toContain("left");
	});

	it.each(["SIGKILL", "SIGTERM"] as const)(
		"run in a terminal continues after the server ends by %s and starts again",
		async (signal) => {
			const script = 'stty -echo; i=0; while read -r line; do i=$((i+1)); echo "<$i $line>"; done';
			const terminal = await Terminal.start(hawser, ["run", "--", "bash", "-c", script]);
			await terminal.attached();
			await terminal.type("one\r");
			await terminal.shows("<1 one>");
			await hawser.stopServer(signal);
			await terminal.shows("server unreachable");
			await terminal.type("two\r");
			await hawser.startServer();
			await terminal.shows("reconnected");
			await terminal.type("three\r");
			await terminal.shows("<3 three>");
			await terminal.type("~.");
			expect(await terminal.ended()).toEqual({ code: 0, isRestored: true });
			const said = terminal.output.match(/<\d \w+>/g);
			expect(said).toEqual(["<1 one>", "<2 two>", "<3 three>"]);
		},
	);
});

describe("run without a server", () => {
	async function emptyState(): Promise<NodeJS.ProcessEnv> {
		const stateDir = await mkdtemp(join(tmpdir(), "hawser-auto-"));
		const env = { HAWSER_STATE_DIR: stateDir, HAWSER_PORT: "0", HAWSER_SPARES: "0" };
		onTestFinished(async () => {
			await killKeepers(stateDir);
			await rm(stateDir, { recursive: true });
		});
		return env;
	}

	it("run without a server starts one, reports that, and leaves it running", async () => {
		const env = await emptyState();
		const first = await hawser.run(["run", "--", "echo", "hi"], { env });
		expect(first).toEqual({
			code: 0,
			stdout: "hi\n",
			stderr: expect.stringMatching(/^hawser: started a server at .*server\.log\)\n$/),
		});
		expect(await hawser.run(["run", "--", "echo", "again"], { env })).toEqual({
			code: 0,
			stdout: "again\n",
			stderr: "",
		});
		expect((await hawser.run(["ls", "--all", "--json"], { env })).stdout.match(/"id"/g)).toHaveLength(2);
	});

	it("concurrent runs start one server, and only the one that started it reports that", async () => {
		const env = await emptyState();
		const results = await Promise.all([1, 2, 3].map((each) => hawser.run(["run", "--", "echo", `${each}`], { env })));
		expect(results.map(({ code, stdout }) => ({ code, stdout }))).toEqual(
			[1, 2, 3].map((each) => ({ code: 0, stdout: `${each}\n` })),
		);
		expect(results.filter(({ stderr }) => stderr !== "")).toEqual([
			expect.objectContaining({ stderr: expect.stringContaining("started a server at") }),
		]);
		expect((await hawser.run(["ls", "--all", "--json"], { env })).stdout.match(/"id"/g)).toHaveLength(3);
	});

	it("run names a state directory that can't be made, even below /proc", async () => {
		const env = { HAWSER_STATE_DIR: "/proc/hawser/state", HAWSER_PORT: "0" };
		expect(await hawser.run(["run", "true"], { env })).toMatchObject({
			code: 255,
			stderr: "hawser: can't create /proc/hawser: no such file or directory\n",
		});
	});

	it("run names the log when the server fails to start, and starts none for a given address", async () => {
		const env = { HAWSER_STATE_DIR: "/dev/null/x", HAWSER_PORT: "0" };
		expect(await hawser.run(["run", "true"], { env })).toMatchObject({ code: 255 });
		const elsewhere = await hawser.run(["run", "--url", "http://127.0.0.1:1", "true"]);
		expect(elsewhere).toMatchObject({ code: 255, stderr: expect.stringContaining("can't reach a server") });
	});
});
