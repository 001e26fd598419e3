/** The contract of every backend. */

import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SESSION_VARIABLE } from "../../src/backends/environment.ts";
import { createSpawn, spawn as inProcess } from "../../src/backends/spawn.ts";
import type { Command, Spawn } from "../../src/core/process/process.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { eventually, Run } from "../support/run-program.ts";

/** Makes a terminal pass bytes unchanged; a pipe does so anyway. */
const raw = "if [ -t 0 ]; then stty raw -echo; fi; echo ready; ";

export function testBackend(mode: "pty" | "pipe"): void {
	const start = (script: string, options: Partial<Command> = {}, spawn: Spawn = inProcess) =>
		Run.start(spawn, ["bash", "-c", script], { mode, ...options });
	const newline = mode === "pty" ? "\r\n" : "\n";

	/** A program that prints "ready" and then echoes its input. */
	async function echoing(): Promise<Run> {
		const run = await start(`${raw}exec cat`);
		await run.until(() => /ready\r?\n/.test(run.text()));
		return run;
	}
	const afterReady = (run: Run) => run.bytes().subarray(run.bytes().indexOf("\n") + 1);

	describe(`a program on a ${mode}`, () => {
		test("a program gets and returns all 256 byte values unchanged", async () => {
			const run = await echoing();
			const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => i % 256));
			await run.process.write(bytes);
			await run.until(() => afterReady(run).byteLength >= bytes.byteLength);
			expect(afterReady(run)).toEqual(bytes);
			await run.process.kill({ signal: "SIGKILL" });
		});

		test("a program returns megabytes while they are being written", async () => {
			const run = await echoing();
			const bytes = randomBytes(3_000_000);
			for (let at = 0; at < bytes.byteLength; at += 65_536) await run.process.write(bytes.subarray(at, at + 65_536));
			await run.until(() => afterReady(run).byteLength >= bytes.byteLength);
			expect(digest(afterReady(run))).toBe(digest(bytes));
			await run.process.kill({ signal: "SIGKILL" });
		});

		test("a program's exit code is reported after its output and before the end", async () => {
			const run = await (await start("echo done; exit 7")).closed();
			expect(run.text()).toBe(`done${newline}`);
			expect(run.facts.filter((fact) => fact.kind !== "output")).toEqual([
				{ kind: "exited", exit: { code: 7, signal: null } },
				{ kind: "closed" },
			]);
		});

		test("the signal that ended a program is reported", async () => {
			const run = await (await start("kill -USR1 $$")).closed();
			expect(run.exit).toEqual({ code: null, signal: "SIGUSR1" });
		});

		test("a program sees the end of its input", async () => {
			const run = await start("cat; echo over");
			await run.process.write(Buffer.from("line\n"));
			await run.process.eof();
			await run.closed();
			expect(run.text()).toContain("over");
			expect(run.exit).toEqual({ code: 0, signal: null });
		});

		test("a signal is accepted by either form of its name", async () => {
			const run = await start(
				"trap 'echo caught; exit 3' INT; trap 'echo usr' USR1; echo ready; while :; do sleep 0.05; done",
			);
			await run.untilText("ready");
			run.process.signal("USR1");
			await run.untilText("usr");
			run.process.signal("SIGINT");
			await run.closed();
			expect(run.exit).toEqual({ code: 3, signal: null });
			expect(() => run.process.signal("SIGNOPE")).toThrow('unknown signal "SIGNOPE"');
			run.process.signal("SIGTERM");
		});

		test("a program gets exactly its environment, name and directory", async () => {
			// Under this name it is a login shell, which would read the account's profile.
			const argv = ["/bin/bash", "--noprofile", "-c", "echo $0; pwd; exec cat /proc/self/environ"];
			const run = await Run.start(inProcess, argv, {
				mode,
				arg0: "-other",
				cwd: "/usr",
				env: { A: "ä=1", PATH: "/usr/bin:/bin" },
			});
			await run.closed();
			const [name, folder, ...rest] = Buffer.from(run.bytes()).toString("utf8").split(newline);
			expect([name, folder]).toEqual(["-other", "/usr"]);
			const names = rest.join("").split("\0").filter(Boolean);
			expect(names).toContain("A=ä=1");
			expect(names.some((each) => each.startsWith("HOME="))).toBe(false);
		});

		test("a program blocks while reading is paused, and no output is lost", async () => {
			const run = await start(`${raw}head -c 3000000 /dev/zero | tr '\\0' x; echo end`);
			await run.untilText("ready");
			run.process.pause();
			const cpu = process.cpuUsage();
			// Blocked in its write while nothing is read.
			await eventually(() =>
				stats().some(({ parent, name, state }) => parent === run.process.pid && name === "tr" && state === "S"),
			);
			expect(run.bytes().byteLength).toBeLessThan(2_500_000);
			expect(process.cpuUsage(cpu).user).toBeLessThan(2_000_000);
			expect(run.exit).toBeUndefined();
			run.process.resume();
			await run.closed();
			expect(run.text().match(/x/g)?.length).toBe(3_000_000);
			expect(run.text()).toContain("end");
		});

		test("a program that exits while paused loses no output, and ends once reading resumes", async () => {
			const clock = new FakeClock();
			const run = await start("read go; echo the end", { drainMs: 50 }, createSpawn({ clock }));
			run.process.pause();
			await run.process.write(Buffer.from("go\n"));
			await run.until(() => run.exit !== undefined);
			const seen = run.facts.length;
			clock.advance(1000);
			expect(run.facts.length).toBe(seen);
			run.process.resume();
			await run.closed();
			expect(run.text()).toContain("the end");
			expect(run.facts.at(-1)).toEqual({ kind: "closed" });
		});

		test("a program whose output ended in time is not reported as cut short", async () => {
			const clock = new FakeClock();
			const run = await start("read go; echo the end", { drainMs: 50 }, createSpawn({ clock }));
			run.process.pause();
			await run.process.write(Buffer.from("go\n"));
			await run.until(() => run.exit !== undefined);
			run.process.resume();
			clock.stall(1000);
			await run.closed();
			expect(run.text()).toContain("the end");
			expect(run.facts.at(-1)).toEqual({ kind: "closed" });
		});

		test("a program killed while paused still delivers the kernel's buffered output", async () => {
			const run = await start("read go; echo last words; sleep 1000; true");
			run.process.pause();
			await run.process.write(Buffer.from("go\n"));
			await eventually(() => childrenOf(run.process.pid).some((name) => name === "sleep"));
			await run.process.kill({ graceMs: 0 });
			expect(run.isClosed).toBe(true);
			expect(run.text()).toContain("last words");
		});

		test("a program ends although a background process holds its output, and reports that", async () => {
			const run = await start("trap '' HUP; sleep 1000 & echo here; exit 0", { drainMs: 100 });
			await run.closed();
			expect(run.facts.at(-1)).toEqual({ kind: "closed", isCutShort: true });
			expect(run.text()).toBe(`here${newline}`);
			expect(survivors(run)).not.toEqual([]);
			await run.process.kill({ graceMs: 0 });
			expect(survivors(run)).toEqual([]);
		});

		test("output of a background process within the drain time is delivered", async () => {
			const run = await start("trap '' HUP; (sleep 0.1; echo late) & echo early; exit 0", { drainMs: 5_000 });
			await run.closed();
			expect(run.text()).toBe(`early${newline}late${newline}`);
		});

		test("a program that never reads neither blocks the loop nor spins, and can be killed", async () => {
			const run = await start(`${raw}exec sleep 1000`);
			await run.untilText("ready");
			const writing = Promise.resolve(run.process.write(new Uint8Array(4_000_000).fill(97))).then(
				() => "written",
				(error) => error.code,
			);
			const cpu = process.cpuUsage();
			// Another program is served at its normal speed meanwhile.
			await (await start("sleep 1; echo done")).closed();
			const { user, system } = process.cpuUsage(cpu);
			expect(user + system).toBeLessThan(300_000);
			await run.process.kill({ signal: "SIGKILL" });
			expect(await writing).toBe("session_closed");
			await expect(run.process.write(Buffer.from("x"))).rejects.toMatchObject({ code: "session_closed" });
		});

		test("a write returns nothing if the kernel took it at once, otherwise a promise", async () => {
			const run = await start(`${raw}exec sleep 1000`);
			await run.untilText("ready");
			expect(run.process.write(Buffer.from("taken at once"))).toBeUndefined();
			const writing = run.process.write(new Uint8Array(4_000_000).fill(97));
			expect(writing).toBeInstanceOf(Promise);
			// It waits for the previous write, however short it is.
			const next = run.process.write(Buffer.from("x"));
			const refused = [writing, next].map((each) => expect(each).rejects.toMatchObject({ code: "session_closed" }));
			await run.process.kill({ signal: "SIGKILL" });
			await Promise.all(refused);
		});

		test("a program that starts to read late gets its input", async () => {
			const run = await start(`${raw}sleep 0.2; head -c 1000000 | wc -c`);
			await run.untilText("ready");
			await run.process.write(new Uint8Array(1_000_000).fill(97));
			await run.closed();
			expect(run.text()).toContain("1000000");
		});

		test("a program never gets input meant for the previous one", async () => {
			for (let round = 0; round < 10; round++) {
				const first = await start(`${raw}exec sleep 1000`);
				await first.untilText("ready");
				const writing = Promise.resolve(first.process.write(new Uint8Array(1_000_000).fill(88))).catch(() => {});
				const killing = first.process.kill({ signal: "SIGKILL" });
				const starting = start(`${raw}exec cat`);
				await Promise.all([killing, writing]);
				const again = await start(`${raw}exec cat`);
				for (const run of [await starting, again]) {
					await run.until(() => /ready\r?\n/.test(run.text()));
					await run.process.write(Buffer.from("mine"));
					await run.untilText("mine");
					expect(afterReady(run).toString()).toBe("mine");
					await run.process.kill({ signal: "SIGKILL" });
				}
			}
		}, 30_000);

		test("an exit has the first reason given, and none if the program had already ended", async () => {
			const run = await start("echo ready; sleep 1000");
			await run.untilText("ready");
			await Promise.all([run.process.kill({ reason: "timeout" }), run.process.kill({ reason: "killed", by: "ada" })]);
			expect(run.exit).toMatchObject({ code: null, reason: "timeout" });
			const other = await (await start("exit 0")).closed();
			await other.process.kill({ reason: "killed" });
			expect(other.exit).toEqual({ code: 0, signal: null });
		});

		test("a program may end by itself within the grace time, and a second kill can shorten that", async () => {
			const run = await start("trap 'echo bye; exit 4' HUP TERM; echo ready; while :; do sleep 0.05; done");
			await run.untilText("ready");
			await run.process.kill();
			expect(run.exit).toEqual({ code: 4, signal: null });
			expect(run.text()).toContain("bye");
			const stubborn = await start("trap '' HUP TERM; echo ready; while :; do sleep 0.05; done");
			await stubborn.untilText("ready");
			const began = Date.now();
			const polite = stubborn.process.kill({ graceMs: 60_000 });
			await stubborn.process.kill({ signal: "KILL" });
			await polite;
			expect(stubborn.exit).toEqual({ code: null, signal: "SIGKILL" });
			expect(Date.now() - began).toBeLessThan(20_000);
		});

		test("a kill ends the whole process tree", async () => {
			const run = await start(`set -m; ${hiders} echo ready; sleep 1000`);
			await run.untilText("ready");
			await eventually(() => survivors(run).length >= 6);
			await run.process.kill({ graceMs: 200 });
			expect(survivors(run)).toEqual([]);
			expect(run.isClosed).toBe(true);
		});

		test("a kill ends a program before its children, so a script never runs its next command", async () => {
			for (let round = 0; round < 25; round++) {
				const run = await start("echo ready; sleep 1000; echo next; sleep 1000");
				await run.untilText("ready");
				await run.process.kill({ signal: "SIGKILL" });
				expect(run.text()).not.toContain("next");
			}
		});

		test("a kill ends processes that cleared their environment and left their session", async () => {
			const tag = `hawser-${randomBytes(4).toString("hex")}`;
			const run = await Run.start(
				inProcess,
				[
					"bash",
					"-c",
					`set -m; ${hiders} (env -i setsid bash -c 'exec -a ${tag} sleep 1000' &) ; echo ready; sleep 1000`,
				],
				{ mode },
			);
			await run.untilText("ready");
			await eventually(() => survivors(run).length >= 6 && named(tag).length === 1);
			await run.process.kill({ graceMs: 200 });
			expect(survivors(run)).toEqual([]);
			expect(named(tag)).toEqual([]);
			expect(zombies()).toEqual([]);
		});

		test("orphans of a program are reaped, and its own exit is not lost", async () => {
			const run = await Run.start(
				inProcess,
				["bash", "-c", "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 0.0$i &) ; done; sleep 0.2; exit 9"],
				{ mode },
			);
			await run.closed();
			expect(run.exit).toEqual({ code: 9, signal: null });
			await eventually(() => zombies().length === 0);
		});

		test("the process tree is killed after the program itself has ended", async () => {
			const run = await start(`set -m; ${hiders} echo ready`, { drainMs: 50 });
			await run.closed();
			await eventually(() => survivors(run).length >= 5);
			await run.process.kill({ graceMs: 200 });
			expect(survivors(run)).toEqual([]);
		});
	});
}

/** Ways to outlive a parent: a job, nohup, setsid, and a double fork. */
const hiders = [
	"sleep 1001 & ",
	"nohup sleep 1002 >/dev/null 2>&1 & disown; ",
	"setsid sleep 1003 </dev/null >/dev/null 2>&1 & ",
	"(setsid bash -c '(sleep 1004 >/dev/null 2>&1 &) ; exit' &) ; ",
	"(trap '' HUP TERM; exec sleep 1005) & ",
].join("");

function digest(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

/** All pids with the content of a file of theirs in /proc. */
function inspect(file: string): { readonly pid: number; readonly text: string }[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => {
			try {
				return [{ pid: Number(name), text: readFileSync(`/proc/${name}/${file}`, "latin1") }];
			} catch {
				return [];
			}
		});
}

/** Live processes with the session's marker, found without the code under test. */
function survivors(run: Run): number[] {
	return inspect("environ")
		.filter(({ text }) => text.includes(`${SESSION_VARIABLE}=${run.sessionId}\0`))
		.map(({ pid }) => pid);
}

function named(arg0: string): number[] {
	return inspect("cmdline")
		.filter(({ text }) => text.startsWith(`${arg0}\0`))
		.map(({ pid }) => pid);
}

function stats(): { readonly pid: number; readonly name: string; readonly state: string; readonly parent: number }[] {
	return inspect("stat").map(({ pid, text }) => {
		const end = text.lastIndexOf(")");
		const [state = "", parent] = text.slice(end + 2).split(" ");
		return { pid, name: text.slice(text.indexOf("(") + 1, end), state, parent: Number(parent) };
	});
}

function childrenOf(pid: number): string[] {
	return stats().flatMap(({ parent, name }) => (parent === pid ? [name] : []));
}

function zombies(): number[] {
	return stats().flatMap(({ pid, parent, state }) => (parent === process.pid && state === "Z" ? [pid] : []));
}
