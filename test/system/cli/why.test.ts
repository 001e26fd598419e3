import { afterAll, beforeAll, expect, it } from "vitest";
import type { ProgramState, Session } from "../../../src/client/index.ts";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** A program in its own session. Only the command under test has processes. */
async function start(name: string, program: string): Promise<Session> {
	const env = { TMUX_TMPDIR: hawser.stateDir };
	const id = await hawser.detached(program, { name, cwd: "/usr", env });
	return (await hawser.client()).sessions.at(id);
}

/** The output of the command once the session is in this state. */
async function says(name: string, session: Session, state: Partial<ProgramState>): Promise<string> {
	await expect.poll(() => session.inspect()).toMatchObject(state);
	return (await hawser.run(["why", name])).stdout;
}

it("why prints in one line what a session in a keeper waits for", async () => {
	const [install, login] = await Promise.all([
		start("install", "printf 'Continue? [Y/n] '; read answer; sleep 1000"),
		start("login", "printf 'Password: '; read -s x"),
	]);
	const asked = { state: "waiting", kind: "line", lastLine: "Continue? [Y/n]" } as const;
	expect(await says("install", install, asked)).toMatch(
		/^install waits for a line · bash \(\d+\) in \/usr · "Continue\? \[Y\/n\]" · no output for \S+\n$/,
	);
	await install.keys(["Enter"]);
	expect(await says("install", install, { state: "sleeping", kind: "sleep" })).toMatch(
		/^install is sleeping · sleep \(\d+\)/,
	);
	const secret = { state: "waiting", kind: "secret", confidence: "sure", lastLine: "Password:" } as const;
	expect(await says("login", login, secret)).toMatch(/^login waits for a secret \(echo off\) · bash/);
	expect(JSON.parse((await hawser.run(["why", "login", "--json"])).stdout)).toMatchObject(secret);
});

type Stuck = {
	readonly program: string;
	/** Pressed once the program runs. */
	readonly key?: string;
	readonly line: RegExp;
	readonly fields: Partial<ProgramState>;
};

/** Programs by what blocks them. */
const stuck: Readonly<Record<string, Stuck>> = {
	"flow-stopped": {
		program: "while :; do echo y; done",
		key: "C-s",
		line: /output stopped by Ctrl-S; Ctrl-Q resumes it · bash \(\d+\)/,
		fields: { state: "flow-stopped", kind: "key", confidence: "sure" },
	},
	disk: {
		// A process whose child borrows its memory (vfork) can't be woken either; the kernel calls that disk sleep.
		program: "exec /usr/bin/python3 -c 'import ctypes, time; ctypes.CDLL(None).vfork(); time.sleep(1000)'",
		line: /waits for the disk · python3 \(\d+\)/,
		fields: { state: "disk", confidence: "sure", program: "python3" },
	},
	"stopped job": {
		program: "kill -STOP $$",
		line: /is stopped \(resume with SIGCONT\) · bash \(\d+\)/,
		fields: { state: "stopped", confidence: "sure" },
	},
	relay: {
		program: "exec tmux new cat ';' split-window cat",
		line: /runs on another machine \(ssh\) · tmux: client \(\d+\)/,
		fields: { state: "unknown", kind: "relay" },
	},
	"terminal reply": {
		// A query that has no known reply.
		program: `exec /usr/bin/python3 -c 'import os, tty; tty.setraw(0); os.write(1, b"\\033]4;1;?\\007"); os.read(0, 1)'`,
		line: /waits for a reply from the terminal · python3 \(\d+\)/,
		fields: { state: "waiting", kind: "reply", confidence: "sure" },
	},
	"unread input": {
		program: "sleep 1000",
		key: "Enter",
		line: /has unread input · sleep \(\d+\)/,
		fields: { state: "busy", confidence: "sure", program: "sleep" },
	},
};

it.each(Object.entries(stuck))(
	"why prints why a program is stuck, as one line and as JSON fields: %s",
	async (what, { program, key, line, fields }) => {
		const name = what.replace(" ", "-");
		const session = await start(name, program);
		if (key !== undefined) await session.keys([key]);
		await expect.poll(() => session.inspect()).toMatchObject(fields);
		// Concurrent, because a missing reply is reported for some seconds only.
		const [said, json] = await Promise.all([[], ["--json"]].map((flags) => hawser.run(["why", name, ...flags])));
		expect(said?.stdout).toMatch(line);
		expect(said?.stdout).toMatch(/^[^\n]{10,200}\n$/);
		expect(JSON.parse(json?.stdout ?? "")).toMatchObject(fields);
		await session.kill({ killSignal: "SIGKILL" });
	},
);

it("why prints how a session ended", async () => {
	await (await start("over", "exit 3")).wait({ exit: true });
	expect((await hawser.run(["why", "over"])).stdout).toBe("over has ended: exit 3\n");
});

it("logs --text prints a log as compact text", async () => {
	const program = 'for i in 1 2 3; do printf "\\r$i %%"; done; echo; for i in $(seq 2000); do echo line $i; done';
	await (await start("build", program)).wait({ exit: true });
	const { stdout } = await hawser.run(["logs", "--text", "--max", "1000", "build"]);
	expect(stdout).toMatch(/^3 %\nline 1\n/);
	expect(stdout).toMatch(/\n\[… [\d,]+ bytes left out: since=\d+ limit=\d+\]\n/);
	expect(stdout).toMatch(/\nline 2000\n$/);
	expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(1000);
	expect(await hawser.run(["logs", "--max", "5", "build"])).toMatchObject({ code: 1 });
});
