/** Programs in sandboxes, and a program that tries from inside what must not work. */

import { type ChildProcess, execFileSync, spawn as start } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { chmod, chown, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, onTestFinished } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import type { Command } from "../../src/core/process.ts";
import type { SandboxPolicy } from "../../src/core/sandbox.ts";
import { builtFile } from "../../src/native/addon.ts";
import { Sandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import { Run } from "../backends/run.ts";

/** Who runs the program: root gives the rights of a server that runs as root, nobody those of any other user. */
export type User = { readonly name: string; readonly uid: number; readonly gid: number };

const own: User = { name: "our own user", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const nobody: User = { name: "nobody", uid: 65_534, gid: 65_534 };
export const users: readonly User[] = own.uid === 0 ? [own, nobody] : [own];

let shared: string | undefined;
afterAll(() => {
	if (shared !== undefined) rmSync(shared, { recursive: true, force: true });
});

/** A folder in which every user can run what is there, wherever this is checked out. */
function sharedFolder(): string {
	if (shared === undefined) {
		shared = mkdtempSync(join(tmpdir(), "hawser-sandbox-"));
		chmodSync(shared, 0o755);
	}
	return shared;
}

/** The program of prober.c. */
export function prober(): string {
	const program = join(sharedFolder(), "prober");
	if (existsSync(program)) return program;
	const source = fileURLToPath(new URL("./prober.c", import.meta.url));
	const flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static"];
	execFileSync(process.env.CC || "cc", [...flags, "-o", program, source]);
	return program;
}

/** What stands on both sides of bubblewrap. */
function helper(): string {
	const program = join(sharedFolder(), "confine");
	if (!existsSync(program)) copyFileSync(builtFile("confine"), program);
	return program;
}

/** A sandbox as the server has it. */
export function probe(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
	return Sandbox.probe({ path: process.env.PATH, helper: helper(), ...options });
}

/** A directory of a user's own, outside of /tmp so that it is writable only where a policy says so. */
export async function directoryOf(user: User, parent = "/var/tmp"): Promise<string> {
	const path = await realpath(await mkdtemp(join(parent, "hawser-sandbox-")));
	await chown(path, user.uid, user.gid);
	await chmod(path, 0o755);
	onTestFinished(() => rm(path, { recursive: true, force: true }));
	return path;
}

let probed: Promise<Sandbox> | undefined;

/** Hides nothing; made once. */
export function sandbox(): Promise<Sandbox> {
	probed ??= probe();
	return probed;
}

export type Confining = Partial<Command> & {
	readonly sandbox: SandboxPolicy;
	readonly user?: User;
	readonly within?: Pick<Sandbox, "apply">;
};

/** A program of the host, not in any sandbox, and out of the tests' way when they are over. */
export async function onHost(what: readonly string[], user: User = own): Promise<ChildProcess> {
	const ids = user.uid === own.uid ? {} : { uid: user.uid, gid: user.gid };
	const child = start(prober(), what, { ...ids, stdio: ["pipe", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child.stdout, "data");
	return child;
}

export async function startConfined(argv: readonly string[], options: Confining): Promise<Run> {
	const { user = own, within = await sandbox(), ...rest } = options;
	const ids = user.uid === own.uid ? {} : { uid: user.uid, gid: user.gid };
	return Run.start(async (command, report) => spawn(await within.apply(command), report), argv, {
		cwd: "/",
		...ids,
		...rest,
	});
}

/** What a line of shell prints, and how it ends. */
export async function confined(script: string, options: Confining): Promise<{ text: string; code: number | null }> {
	const run = await (await startConfined(["/bin/sh", "-c", script], options)).closed();
	return { text: run.text(), code: run.exit?.code ?? null };
}

/** What the prober says of one attempt: "ok" and what it found, or the name of the error. */
export async function attempt(what: readonly string[], options: Confining): Promise<string> {
	const run = await (await startConfined([prober(), ...what], options)).closed();
	return run.text().trim();
}
