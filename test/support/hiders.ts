/**
 * A program that uses every known way to leave a process behind, and a check of what it left that does not use the code
 * under test.
 */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
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
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	const program = join(folder, "hider");
	const source = fileURLToPath(new URL("./programs/hider.c", import.meta.url));
	execFileSync(process.env.CC || "cc", ["-pthread", "-o", program, source]);
	// The name of every process, whatever else it changes: its own part and a common part of this test.
	const tag = randomBytes(6).toString("hex");
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
		forking: `env -i PATH=$PATH setsid bash -c '${called("forking", `bash -c "r() { (sleep 0.003; r) & exit; }; r"`)}' ${quiet} &`,
		moved: `(cd /; umask 0; env -i PATH=$PATH setsid bash -c "${called("moved")}") &`,
		renamed: `env -i PATH=$PATH setsid bash -c '${called("renamed", `bash -c "echo kworker > /proc/self/comm; while :; do sleep 1000; done"`)}' &`,
		threads: `(env -i PATH=$PATH setsid bash -c "${called("threads", `${program} threads`)}" &)`,
		traced: `(env -i PATH=$PATH setsid bash -c "${called("traced", `${program} traced`)}" &)`,
		sibling: `(env -i PATH=$PATH setsid bash -c "${called("sibling", `${program} sibling`)}" &)`,
	};
	return {
		script: `${Object.values(ways).join("\n")}\necho hidden\nwhile :; do sleep 1000; done`,
		ways: Object.keys(ways),
		left: () =>
			[...new Set(commandLines().flatMap((line) => new RegExp(`([a-z]+)-${tag}`).exec(line)?.[1] ?? []))].sort(),
	};
}

/** Includes all running processes. If the first thread of a process has ended, only its other threads show its name. */
function commandLines(): string[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((pid) => tasks(pid).map((task) => read(`/proc/${pid}/task/${task}/cmdline`)));
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
