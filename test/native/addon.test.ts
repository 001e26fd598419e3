/** What the addon promises, call by call. */

import { execFileSync } from "node:child_process";
import {
	closeSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	rmSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import {
	candidates,
	growSendBuffer,
	lockFile,
	type NativeSpawn,
	poll,
	type Reaped,
	resize,
	type Spawned,
	signalProcess,
	spawn,
	spawnDetached,
	terminal,
	wait,
} from "../../src/native/addon.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-native-"));
afterAll(() => rmSync(folder, { recursive: true }));

function start(argv: readonly string[], options: Partial<NativeSpawn> = {}): Spawned {
	const path = process.env.PATH;
	return spawn({
		files: candidates(argv[0] ?? "", path),
		argv,
		env: [`PATH=${path}`],
		cwd: "/",
		stdio: "pipe",
		...options,
	});
}

/** Runs a program to its end: its output, and how it ended. All descriptors are closed. */
async function run(
	argv: readonly string[],
	options: Partial<NativeSpawn> = {},
): Promise<{ text: string; reaped: Reaped | null }> {
	const spawned = start(argv, options);
	await new Promise<void>((resolve) => poll(spawned.pidfd, "read", resolve));
	const reaped = wait(spawned.pid);
	if (spawned.slave >= 0) closeSync(spawned.slave);
	const text = readAll(spawned.output);
	for (const fd of [spawned.input, spawned.output, spawned.error, spawned.wake, spawned.pidfd])
		if (fd >= 0) closeSync(fd);
	return { text, reaped };
}

function readAll(fd: number): string {
	const chunks: Buffer[] = [];
	const buffer = Buffer.alloc(65_536);
	try {
		for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer))
			chunks.push(Buffer.from(buffer.subarray(0, length)));
	} catch {
		// EIO, the end of a terminal.
	}
	return Buffer.concat(chunks).toString("latin1").replaceAll("\r\n", "\n");
}

function failure(call: () => unknown): unknown {
	try {
		call();
	} catch (thrown) {
		const { code, step } = thrown as { code: string; step: string };
		return `${step} ${code}`;
	}
	return "none";
}

const openFds = () => readdirSync("/proc/self/fd").length;

describe.each(["pty", "pipe"] as const)("starting on a %s", (stdio) => {
	test("fails with the step and the reason, and leaves nothing behind", async () => {
		const file = join(folder, `plain-${stdio}`);
		writeFileSync(file, "text", { mode: 0o644 });
		await run(["true"], { stdio });
		const before = openFds();
		const failures = [
			failure(() => start(["no-such-program"], { stdio })),
			failure(() => start(["/no/such/program"], { stdio })),
			failure(() => start([file], { stdio })),
			failure(() => start(["/"], { stdio })),
			failure(() => start(["true"], { stdio, cwd: "/no/such/folder" })),
			failure(() => start(["true"], { stdio, cwd: file })),
			failure(() => start(["true"], { stdio, limits: { nofile: 2 ** 40 } })),
			failure(() => start(["tr\0ue"], { stdio })),
			failure(() => start(["true", "x".repeat(4_000_000)], { stdio })),
		];
		expect(failures).toEqual([
			"exec ENOENT",
			"exec ENOENT",
			"exec EACCES",
			"exec EACCES",
			"chdir ENOENT",
			"chdir ENOTDIR",
			"limits EPERM",
			"arguments EINVAL",
			"exec E2BIG",
		]);
		expect(openFds()).toBe(before);
		expect(zombies()).toEqual([]);
	});

	test("makes a session with a group of its own", async () => {
		const { text, reaped } = await run(["sh", "-c", "cut -d' ' -f5,6 /proc/$$/stat"], { stdio });
		expect(text).toBe(`${reaped?.pid} ${reaped?.pid}\n`);
	});

	test("resets what signals do and which are blocked", async () => {
		const { text } = await run(["cat", "/proc/self/status"], { stdio });
		expect(text.match(/Sig(Blk|Ign|Cgt):\t0{16}/g)?.length).toBe(3);
	});

	test("gives no descriptor above 2, whatever was opened and closed before", async () => {
		// A linear congruential generator; the seed is the test's.
		let state = 20_261_115;
		const random = (below: number) => {
			state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
			return state % below;
		};
		const opened: number[] = [];
		const programs: Spawned[] = [];
		for (let i = 0; i < 50; i++) {
			if (random(3) === 0 && opened.length > 0) closeSync(opened.splice(random(opened.length), 1)[0] ?? -1);
			else if (random(2) === 0) opened.push(openSync("/dev/null", "r"));
			else programs.push(start(["cat"], { stdio: random(2) === 0 ? "pty" : "pipe" }));
			if (i % 10 === 9)
				expect((await run(["sh", "-c", "ls /proc/$$/fd; true"], { stdio })).text.split(/\s+/)).toEqual([
					"0",
					"1",
					"2",
					"",
				]);
		}
		for (const fd of opened) closeSync(fd);
		await Promise.all(programs.map(end));
	});

	test("sets limits, and the name a program sees", async () => {
		const limits = { nofile: 123, core: 0, fsize: 4096, cpu: 77 };
		const { text } = await run([], {
			stdio,
			files: ["/bin/bash"],
			argv: ["myself", "-c", "ulimit -n; ulimit -Hn; ulimit -c; ulimit -t; echo $0"],
			limits,
		});
		expect(text.split("\n")).toEqual(["123", "123", "0", "77", "myself", ""]);
	});

	test("gives a script without a first line to the shell", async () => {
		const file = join(folder, `script-${stdio}`);
		writeFileSync(file, 'echo "got $1"\n', { mode: 0o755 });
		expect((await run([file, "it"], { stdio })).text).toBe("got it\n");
	});

	test("passes over what PATH has not, and remembers what it may not run", async () => {
		const file = join(folder, `ls-${stdio}`);
		writeFileSync(file, "", { mode: 0o644 });
		expect((await run(["echo", "x"], { stdio, files: ["/no/echo", `${file}/echo`, file, "/bin/echo"] })).text).toBe(
			"x\n",
		);
		expect(failure(() => start(["x"], { stdio, files: [file, "/no/x"] }))).toBe("exec EACCES");
	});

	test("becomes another user, without our groups", async () => {
		const { text } = await run(["sh", "-c", "id -u; id -g; id -G"], { stdio, uid: 65534, gid: 65534 });
		expect(text).toBe("65534\n65534\n65534\n");
		const grouped = await run(["id", "-G"], { stdio, uid: 65534, gid: 65534, groups: [4, 24] });
		expect(grouped.text).toBe("65534 4 24\n");
		expect(readFileSync("/proc/self/status", "latin1")).toMatch(/^Uid:\t0\t/m);
	});

	test("tells a code from a signal", async () => {
		expect((await run(["sh", "-c", "exit 200"], { stdio })).reaped).toMatchObject({ code: 200, signal: null });
		expect((await run(["sh", "-c", "kill -9 $$"], { stdio })).reaped).toMatchObject({ code: null, signal: 9 });
	});

	test("a thousand times leaves no zombie, no descriptor and no thread", async () => {
		await run(["true"], { stdio });
		const threads = () => readdirSync("/proc/self/task").length;
		const before = [openFds(), threads()];
		for (let batch = 0; batch < 50; batch++)
			await Promise.all(Array.from({ length: 20 }, () => run(["true"], { stdio })));
		expect([openFds(), threads()]).toEqual(before);
		expect(zombies()).toEqual([]);
	});
});

test("what an unprivileged server may not do is said so", () => {
	const addon = new URL("../../native/build/linux-x64/hawser.node", import.meta.url).pathname.replace(
		"linux-x64",
		`${process.platform}-${process.arch}`,
	);
	const copy = join(folder, "hawser.node");
	writeFileSync(copy, readFileSync(addon), { mode: 0o755 });
	execFileSync("chmod", ["755", folder]);
	const script = `
		const addon = require(process.argv[1]);
		for (const ids of [{ uid: 0 }, { gid: 0 }, { uid: 65534 }])
			try { addon.spawn({ files: ["/bin/true"], argv: ["true"], env: [], cwd: "/", stdio: "pipe", ...ids }); console.log("started"); }
			catch (error) { console.log(error.step, error.errno); }`;
	const text = execFileSync(process.execPath, ["-e", script, copy], {
		uid: 65534,
		gid: 65534,
		cwd: "/",
		encoding: "utf8",
	});
	expect(text).toBe("setgroups 1\nsetgroups 1\nstarted\n");
});

test("a terminal controls its session and has its size before the program runs", async () => {
	const { text } = await run(
		["sh", "-c", "stty size; tty; stty size < /dev/tty; ps -o tpgid= -p $$ | tr -d ' '; stty -a | grep -o ' iutf8'"],
		{ stdio: "pty", cols: 101, rows: 33 },
	);
	const [size, name, again, group, utf8] = text.split("\n");
	expect([size, again, utf8]).toEqual(["33 101", "33 101", " iutf8"]);
	expect(name).toMatch(/^\/dev\/pts\/\d+$/);
	expect(Number(group)).toBeGreaterThan(1);
});

test("a terminal's state is seen and its size changed from our side", async () => {
	const spawned = start(["cat"], { stdio: "pty", cols: 80, rows: 24 });
	expect(terminal(spawned.input)).toEqual({
		cols: 80,
		rows: 24,
		foreground: spawned.pid,
		echo: true,
		canonical: true,
		eof: 4,
	});
	resize(spawned.input, 200, 50);
	execFileSync("stty", ["-echo", "eof", "^X"], { stdio: [spawned.slave, "ignore", "inherit"] });
	expect(terminal(spawned.input)).toEqual({
		cols: 200,
		rows: 50,
		foreground: spawned.pid,
		echo: false,
		canonical: true,
		eof: 24,
	});
	await end(spawned);
});

test("a full pipe becomes writable when it is read, and not before", async () => {
	const spawned = start(["sh", "-c", "read -r go < /dev/fd/0; exec cat > /dev/null"], {});
	try {
		for (;;) writeSync(spawned.input, Buffer.alloc(65_536, 10));
	} catch (thrown) {
		expect((thrown as NodeJS.ErrnoException).code).toBe("EAGAIN");
	}
	await new Promise<void>((resolve) => poll(spawned.input, "write", resolve));
	await end(spawned);
});

test("an interest that was given up is never reported, even if its number is used again", async () => {
	const calls: string[] = [];
	const one = start(["true"], { stdio: "null" });
	const cancel = poll(one.pidfd, "read", () => calls.push("one"));
	// Ready by now for the thread that waits, and not yet handed over to us.
	execFileSync("sleep", ["0.05"]);
	cancel();
	cancel();
	wait(one.pid);
	closeSync(one.pidfd);
	const two = start(["sleep", "0.05"], { stdio: "null" });
	expect(two.pidfd).toBe(one.pidfd);
	await new Promise<void>((resolve) => {
		poll(two.pidfd, "read", () => {
			calls.push("two");
			resolve();
		});
		expect(failure(() => poll(two.pidfd, "read", () => {}))).toBe("poll EEXIST");
	});
	wait(two.pid);
	closeSync(two.pidfd);
	expect(calls).toEqual(["two"]);
});

test("a signal goes to the process that was meant, or to none", async () => {
	const spawned = start(["sleep", "1000"], { stdio: "null" });
	const startTime = Number(readFileSync(`/proc/${spawned.pid}/stat`, "latin1").split(" ")[21]);
	expect(signalProcess(spawned.pid, startTime + 1, 9)).toBe(false);
	expect(wait(spawned.pid)).toBeNull();
	expect(signalProcess(spawned.pid, startTime, 15)).toBe(true);
	await new Promise<void>((resolve) => poll(spawned.pidfd, "read", resolve));
	expect(wait(spawned.pid)).toEqual({ pid: spawned.pid, code: null, signal: 15 });
	closeSync(spawned.pidfd);
	expect(signalProcess(spawned.pid, startTime, 15)).toBe(false);
	expect(failure(() => signalProcess(1, 0, 15))).toBe("signal EINVAL");
	expect(failure(() => wait(spawned.pid))).toBe("wait ECHILD");
});

test("a detached program writes to the given file, and is reaped", async () => {
	const file = join(folder, "log");
	const output = openSync(file, "a");
	const { ended } = spawnDetached({
		argv: ["sh", "-c", "echo out; echo err >&2; cat; ls /proc/$$/fd; exit 6"],
		env: { PATH: process.env.PATH ?? "" },
		cwd: "/",
		output,
	});
	closeSync(output);
	expect(await ended).toMatchObject({ code: 6, signal: null });
	expect(readFileSync(file, "utf8")).toBe("out\nerr\n0\n1\n2\n");
	expect(zombies()).toEqual([]);
});

test("a lock is held by one, and free again when that one is gone", async () => {
	const path = join(folder, "lock");
	const held = lockFile(path);
	expect(held).toBeGreaterThan(2);
	expect(lockFile(path)).toBeNull();
	// A child started meanwhile must not keep it.
	const sleeper = start(["sleep", "1000"], { stdio: "null" });
	closeSync(held ?? -1);
	const again = lockFile(path);
	expect(again).toBeGreaterThan(2);
	closeSync(again ?? -1);
	await end(sleeper);
	expect(failure(() => lockFile("/no/such/lock"))).toBe("lock ENOENT");
});

test("a socket whose send buffer grew takes a chunk of a flooded terminal at once", async () => {
	const path = join(folder, "socket");
	const accepted: Socket[] = [];
	const server = createServer((socket) => accepted.push(socket)).listen(path);
	const clients = [connect(path), connect(path)];
	await vi.waitFor(() => expect(accepted).toHaveLength(2));
	const [usual, grown] = accepted as [Socket, Socket];
	// As the keeper finds it; see src/keeper/control.ts.
	const { fd } = (grown as unknown as { _handle: { fd: number } })._handle;
	growSendBuffer(fd, 1024 * 1024);
	for (const socket of accepted) socket.write(Buffer.alloc(256 * 1024 + 200));
	expect([usual.writableLength > 0, grown.writableLength]).toEqual([true, 0]);
	for (const socket of [...clients, ...accepted]) socket.destroy();
	await new Promise((resolve) => server.close(resolve));
	expect(failure(() => growSendBuffer(-1, 1024))).toBe("send buffer EBADF");
});

async function end(spawned: Spawned): Promise<void> {
	process.kill(spawned.pid, "SIGKILL");
	await new Promise<void>((resolve) => poll(spawned.pidfd, "read", resolve));
	wait(spawned.pid);
	for (const fd of [spawned.input, spawned.output, spawned.error, spawned.slave, spawned.wake, spawned.pidfd])
		if (fd >= 0) closeSync(fd);
}

/** Children of ours that wait to be reaped. */
function zombies(): number[] {
	const isZombie = (pid: string) => {
		try {
			const text = readFileSync(`/proc/${pid}/stat`, "latin1");
			return text.slice(text.lastIndexOf(")") + 2).startsWith(`Z ${process.pid} `);
		} catch {
			return false;
		}
	};
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && isZombie(name))
		.map(Number);
}
