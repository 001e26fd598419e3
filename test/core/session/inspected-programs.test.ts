/** The states of real programs, each inspected twenty times. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const SAMPLES = 20;
/** Required matches in a row before the test counts. */
const SETTLED = 20;
/** Between two samples, so that they are of different moments. */
const SAMPLE_MS = 5;

const home = mkdtempSync(join(tmpdir(), "hawser-home-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const settings = ["env", `HOME=${home}`, `TMUX_TMPDIR=${home}`, "TERM=xterm-256color", "LESS=", "PS1=$ "];
const python = (script: string) => ["/usr/bin/python3", "-c", script];
const bash = (script: string) => ["bash", "-c", script];
const node = (script: string) => ["node", "-e", script];

/** The number of programs in tmux's window. */
function panes(server: string): number {
	const env = { ...process.env, TMUX_TMPDIR: home };
	return spawnSync("tmux", ["-L", server, "list-panes"], { env }).stdout.toString().split("\n").length - 1;
}

const RAW_MODE = "import sys, tty; tty.setraw(0)";
/** Waits for a key, while a child that has left the terminal computes. */
const WITH_BUSY_CHILD = `
import os, select, tty
tty.setraw(0)
if os.fork() == 0:
    os.setsid()
    while True: pass
select.select([0], [], [])
`;

type Example = {
	readonly argv: readonly string[];
	/** The input that brings it to this state. */
	readonly act?: (session: Session) => Promise<unknown>;
	readonly mode?: "pty" | "pipe";
	/** The expected foreground program. Default: the first word of the name. */
	readonly front?: string;
};

const line = "waiting line";
const secret = "waiting secret";
const key = "waiting key";

/** By what each waits for, and its expected foreground program. */
const programs: Readonly<Record<string, Readonly<Record<string, Example>>>> = {
	[line]: {
		"bash: read": { argv: bash("read -p 'name? ' x") },
		"bash: select": { argv: bash("select x in a b; do :; done") },
		cat: { argv: ["cat"] },
		"cat: a pipe": { argv: ["cat"], mode: "pipe" },
		"perl: STDIN": { argv: ["perl", "-e", "$x = <STDIN>"] },
		"python3: input": { argv: python("input('name? ')") },
		"python3: input in a thread": { argv: python("import threading as t; t.Thread(target=input).start()") },
		rm: { argv: ["rm", "-i", "/etc/passwd"] },
		"cat: in a recorder": { argv: ["script", "-qc", "cat", "/dev/null"] },
		"cat: in tmux": { argv: ["tmux", "-L", "line", "new", "cat"] },
		"git: user name": { argv: bash("printf 'protocol=https\\nhost=x.test\\n\\n' | git credential fill") },
		"ssh-keygen: file": { argv: ["ssh-keygen", "-t", "ed25519"] },
	},
	[secret]: {
		"bash: read -s": { argv: bash("read -s x") },
		"bash: read -s with a timeout": { argv: bash("read -s -t 600 x") },
		"python3: getpass": { argv: python("import getpass; getpass.getpass()") },
		"ssh-keygen: passphrase": { argv: ["ssh-keygen", "-t", "ed25519", "-f", join(home, "key")] },
		"su: another user": { argv: ["setpriv", "--reuid=65534", "--clear-groups", "su"] },
		"bash: read -s in a recorder": { argv: ["script", "-qc", "bash -c 'read -s x'", "/dev/null"] },
		"git: password": {
			argv: bash("printf 'protocol=https\\nhost=x.test\\nusername=u\\n\\n' | git credential fill"),
		},
	},
	[key]: {
		"bash: read -n1": { argv: bash("read -n1 x") },
		"less: a file": { argv: ["less", "/etc/passwd"] },
		"less: git's pager": { argv: ["git", "-c", "core.pager=less", "-p", "help", "-a"] },
		more: { argv: bash("seq 200 | more") },
		nano: { argv: ["nano", "--ignorercfiles"] },
		top: { argv: ["top", "-d", "1000"] },
		"python3: prompt": { argv: ["/usr/bin/python3", "-q"] },
		gdb: { argv: ["gdb", "-q", "-nx"] },
		"python3: with a child that has left the terminal": { argv: python(WITH_BUSY_CHILD) },
		sqlite3: { argv: ["sqlite3"] },
		bc: { argv: ["bc", "-q"] },
		"node: prompt": { argv: ["node"] },
		"node: question": {
			argv: node("require('readline').createInterface(process.stdin, process.stdout).question('? ', () => {})"),
		},
	},
	"waiting reply": {
		"python3: where the cursor is": {
			argv: python(`${RAW_MODE}; print(end='\\033[6n', flush=True); sys.stdin.read(1)`),
		},
		"python3: among other things": {
			argv: python(`${RAW_MODE}; print(end='\\033[c', flush=True); import select; select.select([0], [], [])`),
		},
	},
	tui: {
		vim: { argv: ["vim", "-u", "NONE"] },
		htop: {
			// Each refresh looks through all processes, for most of the usual interval if the machine is busy. Z pauses that.
			argv: ["htop", "-d", "100"],
			act: (session) => write(session, "Z"),
		},
		nvim: { argv: ["nvim", "--clean"] },
	},
	prompt: {
		bash: { argv: ["bash", "--norc"] },
		fish: { argv: ["fish", "--no-config"] },
		zsh: { argv: ["zsh", "-f"] },
		dash: { argv: ["dash", "-i"] },
		"dash: in a recorder": { argv: ["script", "-qc", "dash", "/dev/null"] },
		"bash: over a job that wants to read": {
			// With -b it reports job changes at once.
			argv: ["bash", "--norc", "-b"],
			async act(session) {
				await session.untilWaiting(0);
				await write(session, "cat &\r");
				await outputUntil(session, /Stopped/);
			},
		},
	},
	listening: {
		"node: a server that takes commands": {
			argv: node("process.stdin.on('data', () => {}); require('http').createServer().listen(0, '127.0.0.1')"),
		},
	},
	"sleeping sleep": {
		sleep: { argv: ["sleep", "1000"] },
		"python3: a thread sleeps": {
			argv: python(
				"import threading as t, time; x = t.Thread(target=time.sleep, args=[1000]); x.start(); time.sleep(1000)",
			),
		},
		"sleep: of a script": { argv: bash("sleep 1000; true") },
		"sleep: in a recorder": { argv: ["script", "-qc", "sleep 1000", "/dev/null"] },
		"sleep: in a recorder, without line mode": {
			argv: ["script", "-qc", "stty raw; echo raw; sleep 1000; true", "/dev/null"],
			act: (session) => outputUntil(session, /raw/),
		},
		"sleep: of a progress bar": {
			argv: bash("for i in 1 2 3; do printf '\r%s %%' $i; sleep 0.05; done; printf over; sleep 1000; true"),
			act: (session) => outputUntil(session, /over/),
		},
	},
	"sleeping socket": {
		"python3: a server": {
			argv: python("import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()"),
		},
		"python3: a silent peer": { argv: python("import socket; a, b = socket.socketpair(); a.recv(1)") },
	},
	"sleeping events": {
		"node: a server": { argv: node("require('http').createServer().listen(0, '127.0.0.1')") },
		tail: { argv: ["tail", "-f", "/etc/passwd"] },
	},
	"sleeping lock": {
		flock: {
			argv: bash(
				`setsid flock ${home}/lock sleep 1000 & until ! flock -n ${home}/lock true; do :; done; flock ${home}/lock true`,
			),
		},
	},
	"sleeping read": {
		"tail: of a pipe": { argv: bash("sleep 1000 | tail") },
	},
	"sleeping signal": {
		perl: { argv: ["perl", "-e", "use POSIX; POSIX::pause()"] },
	},
	running: {
		bash: { argv: bash("while :; do :; done") },
		// As in a recorder between two system calls, which take long on a busy machine.
		"python3: with a child that will take another terminal": {
			argv: python(`import os; terminals = os.openpty(); ${WITH_BUSY_CHILD}`),
		},
	},
	"unknown relay": {
		"tmux: with two windows": {
			argv: ["tmux", "-L", "relay", "new", "cat", ";", "split-window", "cat"],
			// With one of them present, that one is in the foreground.
			act: () => eventually("two windows", () => panes("relay") === 2),
			front: "tmux: client",
		},
	},
	disk: {
		// A process whose child borrows its memory (vfork) can't be woken either; the kernel calls that disk sleep.
		python3: { argv: python("import ctypes, time; ctypes.CDLL(None).vfork(); time.sleep(1000)") },
	},
	stopped: {
		bash: { argv: bash("kill -STOP $$") },
	},
	busy: {
		"sleep: with input": { argv: ["sleep", "1000"], act: (session) => write(session, "too early\r") },
	},
	"flow-stopped key": {
		bash: {
			argv: bash("while :; do echo y; done"),
			act: (session) => write(session, "\x13"),
		},
	},
};

const examples = Object.entries(programs).flatMap(([expected, some]) =>
	Object.entries(some).map(([name, example]) => ({ expected, name, ...example })),
);

describe.concurrent("the state of a program, from the kernel", () => {
	test.each(examples)(
		"the state is $expected, 20 times of 20: $name",
		async ({ expected, name, argv, act, mode = "pty", front = name.replace(/:.*/, "") }) => {
			const start = startOf([...settings, ...argv], { mode, cwd: home });
			const session = await LocalSession.start(start, { spawn, clock: systemClock });
			try {
				await act?.(session);
				const told = async () => {
					const { state, kind, program } = await session.inspect();
					return { what: kind === null ? state : `${state} ${kind}`, program };
				};
				// While it starts, it may be in this state for a moment and then run on.
				let inARow = 0;
				const isThere = async () => {
					const { what, program } = await told();
					inARow = what === expected && program === front ? inARow + 1 : 0;
					return inARow >= SETTLED;
				};
				await eventually(expected, isThere).catch(() => {});
				const samples = [await told()];
				while (samples.length < SAMPLES) {
					await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
					samples.push(await told());
				}
				expect(new Set(samples.map(({ what }) => what))).toEqual(new Set([expected]));
				expect(new Set(samples.map(({ program }) => program))).toEqual(new Set([front]));
			} finally {
				await session.kill({ graceMs: 0 });
			}
		},
	);
});

describe.concurrent("a shell does not wait before it has answered typed input", () => {
	const shells = [
		["zsh -f", (i: number) => `echo $((${i} + 1000))`],
		["fish --no-config", (i: number) => `echo (math ${i} + 1000)`],
	] as const;
	test.each(shells)("a command in %s is answered before the next wait", async (shell, command) => {
		const start = startOf([...settings, ...shell.split(" ")], { cwd: home });
		const session = await LocalSession.start(start, { spawn, clock: systemClock });
		await session.untilWaiting(0);
		for (let i = 0; i < 50; i++) {
			await write(session, `${command(i)}\r`);
			const { offset } = await session.untilWaiting(0);
			const shown = await outputUntil(session, new RegExp(`${i + 1000}\r\n`));
			expect(offset).toBeGreaterThan(shown.indexOf(`${i + 1000}\r\n`));
		}
		await session.kill({ graceMs: 0 });
	});
});
