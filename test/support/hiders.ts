/**
 * A program that uses every known way to leave a process behind, and a check of what it left that does not use the code
 * under test.
 */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export type Hiders = {
	/** For bash. Prints "hidden" once it has started all, and stays. */
	readonly script: string;
	/** The ways whose processes are alive now. */
	readonly left: () => string[];
	readonly ways: readonly string[];
};

export function createHiders(): Hiders {
	const folder = mkdtempSync(join(tmpdir(), "hawser-hiders-"));
	const program = join(folder, "hider");
	const source = fileURLToPath(new URL("./programs/hider.c", import.meta.url));
	execFileSync(process.env.CC || "cc", ["-pthread", "-o", program, source]);
	// The name of every process, whatever else it changes: its own part and a common part of this test.
	const tag = randomBytes(6).toString("hex");
	// The processes of the forking way live shorter than a look through /proc takes. All of them have this open for writing.
	const fifo = join(folder, "forking");
	execFileSync("mkfifo", [fifo]);
	const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
	onTestFinished(() => {
		closeSync(reader);
		// The forking way ends without its FIFO.
		rmSync(folder, { recursive: true, force: true });
		for (const pid of processes()) if (wayOf(pid) !== undefined) kill(pid);
	});
	const wayOf = (pid: string) => new RegExp(`([a-z]+)-${tag}`).exec(commandLine(pid))?.[1];
	const called = (way: string, command = "sleep 1000") => `exec -a ${way}-${tag} ${command}`;
	const quiet = "</dev/null >/dev/null 2>&1";
	const daemon = (way: string, clear = "") => `(${clear} setsid bash -c "(${called(way)}) ${quiet} & exit" ${quiet} &)`;
	const ways: Readonly<Record<string, string>> = {
		job: `(${called("job")}) &`,
		nohup: `nohup bash -c "${called("nohup")}" ${quiet} & disown`,
		session: `setsid bash -c "${called("session")}" &`,
		daemon: daemon("daemon"),
		cleared: daemon("cleared", "env -i PATH=$PATH"),
		closed: `(exec 0<&- 1>&- 2>&-; env -i PATH=$PATH bash -c "${called("closed")}") &`,
		group: `set -m; (${called("group")}) & set +m`,
		stopped: `env -i PATH=$PATH setsid bash -c "kill -STOP \\$\\$; ${called("stopped")}" stopped-${tag} &`,
		deaf: `(trap "" HUP TERM INT QUIT USR1 USR2; env -i PATH=$PATH setsid bash -c "${called("deaf")}") &`,
		forking: `env -i PATH=$PATH setsid bash -c '${called("forking", `bash -c "exec 9>${fifo}; r() { (sleep 0.003; [ -p ${fifo} ] && r) & exit; }; r"`)}' ${quiet} &`,
		moved: `(cd /; umask 0; env -i PATH=$PATH setsid bash -c "${called("moved")}") &`,
		renamed: `env -i PATH=$PATH setsid bash -c '${called("renamed", `bash -c "echo kworker > /proc/self/comm; while :; do sleep 1000; done"`)}' &`,
		threads: `(env -i PATH=$PATH setsid bash -c "${called("threads", `${program} threads`)}" &)`,
		traced: `(env -i PATH=$PATH setsid bash -c "${called("traced", `${program} traced`)}" &)`,
		sibling: `(env -i PATH=$PATH setsid bash -c "${called("sibling", `${program} sibling`)}" &)`,
	};
	return {
		script: `${Object.values(ways).join("\n")}\necho hidden\nwhile :; do sleep 1000; done`,
		ways: Object.keys(ways),
		left: () => {
			const seen = processes().flatMap((pid) => wayOf(pid) ?? []);
			return [...new Set(isWritable(reader) ? [...seen, "forking"] : seen)].sort();
		},
	};
}

function processes(): string[] {
	return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

/** If the first thread of a process has ended, only its other threads show its name. */
function commandLine(pid: string): string {
	return tasks(pid)
		.map((task) => read(`/proc/${pid}/task/${task}/cmdline`))
		.join("\0");
}

/** Whether a process has this FIFO open for writing. */
function isWritable(reader: number): boolean {
	try {
		readSync(reader, Buffer.alloc(1));
		return false;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EAGAIN") return true;
		throw error;
	}
}

function kill(pid: string): void {
	try {
		process.kill(Number(pid), "SIGKILL");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}

function tasks(pid: string): string[] {
	try {
		return readdirSync(`/proc/${pid}/task`);
	} catch {
		return [];
	}
}

function read(path: string): string {
	try {
		return readFileSync(path, "latin1");
	} catch {
		return "";
	}
}
