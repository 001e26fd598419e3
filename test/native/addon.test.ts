// @module-tag apart

/** The contract of the addon, call by call. */

import { execFileSync } from "node:child_process";
import {
	closeSync,
	constants,
	cpSync,
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
import { afterAll, describe, expect, test } from "vitest";
import {
	growSendBuffer,
	lockFile,
	poll,
	type Reaped,
	resize,
	signalProcess,
	spawnDetached,
	terminal,
} from "../../src/native/addon.ts";
import type { Order } from "../../src/native/minder.ts";
import { type Started, startProgram } from "../support/programs.ts";
import { eventually } from "../support/run-program.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-native-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program to its end and closes all descriptors; returns its output and exit. */
async function run(
	argv: readonly string[],
	options: Partial<Order> = {},
): Promise<{ text: string; reaped: Reaped | undefined }> {
	const started = await startProgram(argv, options);
	const reaped = await started.exited;
	if (started.slave >= 0) closeSync(started.slave);
	const text = readAll(started.output);
	await started.end([started.input, started.output, started.error, started.wake]);
	return { text, reaped };
}

function readAll(fd: number): string {
	const chunks: Buffer[] = [];
	const buffer = Buffer.alloc(65_536);
	try {
		for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer))
			chunks.push(Buffer.from(buffer.subarray(0, length)));
	} catch {
		// EIO marks the end of a terminal.
	}
	return Buffer.concat(chunks).toString("latin1").replaceAll("\r\n", "\n");
}

async function failure(call: () => unknown): Promise<unknown> {
	try {
		await call();
	} catch (thrown) {
		const { code, step } = thrown as { code: string; step: string };
		return `${step} ${code}`;
	}
	return "none";
}

const openFds = () => readdirSync("/proc/self/fd").length;

describe.each(["pty", "pipe"] as const)("starting on a %s", (stdio) => {
	test("a failed start reports the step and the reason, and leaves nothing behind", async () => {
		const file = join(folder, `plain-${stdio}`);
		writeFileSync(file, "text", { mode: 0o644 });
		await run(["true"], { stdio });
		const before = openFds();
		const failures: [readonly string[], Partial<Order>, string][] = [
			[["no-such-program"], {}, "exec ENOENT"],
			[["/no/such/program"], {}, "exec ENOENT"],
			[[file], {}, "exec EACCES"],
			[["/"], {}, "exec EACCES"],
			[["true"], { cwd: "/no/such/folder" }, "chdir ENOENT"],
			[["true"], { cwd: file }, "chdir ENOTDIR"],
			[["true"], { limits: { nofile: { soft: 2 ** 40, hard: 2 ** 40 } } }, "limits EPERM"],
			[["true", "x".repeat(4_000_000)], {}, "exec E2BIG"],
		];
		for (const [argv, options, expected] of failures)
			expect(await failure(() => startProgram(argv, { stdio, ...options }))).toBe(expected);
		expect(() => startProgram(["tr\0ue"], { stdio })).toThrow("invariant");
		expect(openFds()).toBe(before);
		expect(zombies()).toEqual([]);
	});

	test("a program gets a session and a process group of its own", async () => {
		const { text, reaped } = await run(["sh", "-c", "cut -d' ' -f5,6 /proc/$$/stat"], { stdio });
		expect(text).toBe(`${reaped?.pid} ${reaped?.pid}\n`);
	});

	test("signal handlers and the signal mask are reset", async () => {
		const { text } = await run(["cat", "/proc/self/status"], { stdio });
		expect(text.match(/Sig(Blk|Ign|Cgt):\t0{16}/g)?.length).toBe(3);
	});

	test("a program gets no descriptor above 2, whatever was opened and closed before", async () => {
		// A linear congruential generator; the seed is the test's.
		let state = 20_261_115;
		const random = (below: number) => {
			state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
			return state % below;
		};
		const opened: number[] = [];
		const programs: Started[] = [];
		for (let i = 0; i < 50; i++) {
			if (random(3) === 0 && opened.length > 0) closeSync(opened.splice(random(opened.length), 1)[0] ?? -1);
			else if (random(2) === 0) opened.push(openSync("/dev/null", "r"));
			else programs.push(await startProgram(["cat"], { stdio: random(2) === 0 ? "pty" : "pipe" }));
			if (i % 10 === 9)
				expect((await run(["sh", "-c", "ls /proc/$$/fd; true"], { stdio })).text.split(/\s+/)).toEqual([
					"0",
					"1",
					"2",
					"",
				]);
		}
		for (const fd of opened) closeSync(fd);
		await Promise.all(programs.map((program) => program.end()));
	});

	test("a start sets limits and the program's name", async () => {
		const limits = Object.fromEntries(
			Object.entries({ nofile: 123, core: 0, fsize: 4096, cpu: 77 }).map(([name, hard]) => [
				name,
				{ soft: hard, hard },
			]),
		);
		const { text } = await run([], {
			stdio,
			files: ["/bin/bash"],
			argv: ["myself", "-c", "ulimit -n; ulimit -Hn; ulimit -c; ulimit -t; echo $0"],
			limits,
		});
		expect(text.split("\n")).toEqual(["123", "123", "0", "77", "myself", ""]);
	});

	test("a script without a first line runs in the shell", async () => {
		const file = join(folder, `script-${stdio}`);
		writeFileSync(file, 'echo "got $1"\n', { mode: 0o755 });
		expect((await run([file, "it"], { stdio })).text).toBe("got it\n");
	});

	test("a PATH search skips missing files, and remembers files without permission", async () => {
		const file = join(folder, `ls-${stdio}`);
		writeFileSync(file, "", { mode: 0o644 });
		expect((await run(["echo", "x"], { stdio, files: ["/no/echo", `${file}/echo`, file, "/bin/echo"] })).text).toBe(
			"x\n",
		);
		expect(await failure(() => startProgram(["x"], { stdio, files: [file, "/no/x"] }))).toBe("exec EACCES");
	});

	test("a program can run as another user, without our groups", async () => {
		const { text } = await run(["sh", "-c", "id -u; id -g; id -G"], { stdio, uid: 65534, gid: 65534 });
		expect(text).toBe("65534\n65534\n65534\n");
		const grouped = await run(["id", "-G"], { stdio, uid: 65534, gid: 65534, groups: [4, 24] });
		expect(grouped.text).toBe("65534 4 24\n");
		expect(readFileSync("/proc/self/status", "latin1")).toMatch(/^Uid:\t0\t/m);
	});

	test("an exit code differs from a signal", async () => {
		expect((await run(["sh", "-c", "exit 200"], { stdio })).reaped).toMatchObject({ code: 200, signal: null });
		expect((await run(["sh", "-c", "kill -9 $$"], { stdio })).reaped).toMatchObject({ code: null, signal: 9 });
	});

	test("a thousand starts leave no zombie, no descriptor and no thread", async () => {
		await run(["true"], { stdio });
		const threads = () => readdirSync("/proc/self/task").length;
		const before = [openFds(), threads()];
		for (let batch = 0; batch < 50; batch++)
			await Promise.all(Array.from({ length: 20 }, () => run(["true"], { stdio })));
		expect([openFds(), threads()]).toEqual(before);
		expect(zombies()).toEqual([]);
	});
});

test("starts that an unprivileged server is not allowed are reported as such", () => {
	// A path that such a user may read.
	const copy = join(folder, "copy");
	for (const part of ["dist", "native/build", "native/platform.js"])
		cpSync(new URL(`../../${part}`, import.meta.url), join(copy, part), { recursive: true });
	writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
	execFileSync("chmod", ["-R", "a+rX", folder]);
	const script = `
		import { Minder } from ${JSON.stringify(join(copy, "dist/native/minder.js"))};
		const order = { session: "s", stdio: "pipe", size: { cols: 80, rows: 24 }, files: ["/bin/true"], argv: ["true"], env: [], cwd: "/", startMs: 10_000 };
		for (const ids of [{ uid: 0 }, { gid: 0 }, { uid: 65534 }])
			await Minder.start({ ...order, ...ids }, () => console.log("started")).catch((error) => console.log(error.step, error.errno));`;
	const text = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
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
		{ stdio: "pty", size: { cols: 101, rows: 33 } },
	);
	const [size, name, again, group, utf8] = text.split("\n");
	expect([size, again, utf8]).toEqual(["33 101", "33 101", " iutf8"]);
	expect(name).toMatch(/^\/dev\/pts\/\d+$/);
	expect(Number(group)).toBeGreaterThan(1);
});

test("a terminal's state is read and its size changed from our side", async () => {
	const spawned = await startProgram(["cat"], { stdio: "pty" });
	expect(terminal(spawned.input)).toEqual({
		cols: 80,
		rows: 24,
		foreground: spawned.pid,
		leader: spawned.pid,
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
		leader: spawned.pid,
		echo: false,
		canonical: true,
		eof: 24,
	});
	await spawned.end();
});

test("a full pipe becomes writable only once it is read", async () => {
	const spawned = await startProgram(["sh", "-c", "read -r go < /dev/fd/0; exec cat > /dev/null"]);
	try {
		for (;;) writeSync(spawned.input, Buffer.alloc(65_536, 10));
	} catch (thrown) {
		expect((thrown as NodeJS.ErrnoException).code).toBe("EAGAIN");
	}
	await new Promise<void>((resolve) => poll(spawned.input, "write", resolve));
	await spawned.end();
});

test("a canceled interest is never reported, even if its number is reused", async () => {
	const calls: string[] = [];
	const ready = () => openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
	const fifo = join(folder, "fifo");
	execFileSync("mkfifo", [fifo]);
	const one = ready();
	const cancel = poll(one, "write", () => calls.push("one"));
	// Ready for the waiting thread by now, and not yet passed to us.
	execFileSync("sleep", ["0.05"]);
	cancel();
	cancel();
	closeSync(one);
	const two = ready();
	expect(two).toBe(one);
	await new Promise<void>((resolve) => {
		poll(two, "write", () => {
			calls.push("two");
			resolve();
		});
		expect(() => poll(two, "write", () => {})).toThrow("poll: File exists");
	});
	closeSync(two);
	expect(calls).toEqual(["two"]);
});

test("a signal goes to the intended process or to none", async () => {
	const spawned = await startProgram(["sleep", "1000"]);
	const startTime = Number(readFileSync(`/proc/${spawned.pid}/stat`, "latin1").split(" ")[21]);
	expect(signalProcess(spawned.pid, startTime + 1, 9)).toBe(false);
	expect(signalProcess(spawned.pid, startTime, 15)).toBe(true);
	expect(await spawned.exited).toEqual({ pid: spawned.pid, code: null, signal: 15 });
	await spawned.end();
	expect(signalProcess(spawned.pid, startTime, 15)).toBe(false);
	expect(await failure(() => signalProcess(1, 0, 15))).toBe("signal EINVAL");
});

test("a detached program writes to the given file, and is reaped", async () => {
	const file = join(folder, "log");
	const output = openSync(file, "a");
	const { ended } = spawnDetached({
		argv: ["/bin/sh", "-c", "echo out; echo err >&2; cat; ls /proc/$$/fd; exit 6"],
		env: { PATH: process.env.PATH ?? "" },
		output,
	});
	closeSync(output);
	expect(await ended).toMatchObject({ code: 6, signal: null });
	expect(readFileSync(file, "utf8")).toBe("out\nerr\n0\n1\n2\n");
	expect(zombies()).toEqual([]);
});

test("a lock has one holder, and is free once the holder is gone", async () => {
	const path = join(folder, "lock");
	const held = lockFile(path);
	expect(held).toBeGreaterThan(2);
	expect(lockFile(path)).toBeNull();
	// A child started meanwhile must not keep it.
	const sleeper = await startProgram(["sleep", "1000"]);
	closeSync(held ?? -1);
	const again = lockFile(path);
	expect(again).toBeGreaterThan(2);
	closeSync(again ?? -1);
	await sleeper.end();
	expect(await failure(() => lockFile("/no/such/lock"))).toBe("lock ENOENT");
});

test("a socket with a larger send buffer takes a chunk of a flooded terminal at once", async () => {
	const path = join(folder, "socket");
	const accepted: Socket[] = [];
	const server = createServer((socket) => accepted.push(socket)).listen(path);
	const clients = [connect(path), connect(path)];
	await eventually(() => accepted.length === 2);
	const [usual, grown] = accepted as [Socket, Socket];
	// The descriptor as the keeper gets it.
	const { fd } = (grown as unknown as { _handle: { fd: number } })._handle;
	growSendBuffer(fd, 1024 * 1024);
	for (const socket of accepted) socket.write(Buffer.alloc(256 * 1024 + 200));
	expect([usual.writableLength > 0, grown.writableLength]).toEqual([true, 0]);
	for (const socket of [...clients, ...accepted]) socket.destroy();
	await new Promise((resolve) => server.close(resolve));
	expect(await failure(() => growSendBuffer(-1, 1024))).toBe("send buffer EBADF");
});

/** Our children that are not reaped yet. */
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
