/** Programs in sandboxes, including one that tries forbidden operations from inside. */

import { type ChildProcess, execFileSync, spawn as start } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { chmod, chown, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, onTestFinished } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import type { Command } from "../../src/core/process/process.ts";
import type { SandboxPolicy } from "../../src/core/process/sandbox-policy.ts";
import { builtFile } from "../../src/native/addon.ts";
import { Sandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import { Run } from "../support/run-program.ts";

/** The user that runs the program: root, with the rights of a server as root, or nobody, for any other user. */
export type User = { readonly name: string; readonly uid: number; readonly gid: number };

const own: User = { name: "our own user", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const nobody: User = { name: "nobody", uid: 65_534, gid: 65_534 };
export const users: readonly User[] = own.uid === 0 ? [own, nobody] : [own];

let shared: string | undefined;
afterAll(() => {
	if (shared !== undefined) rmSync(shared, { recursive: true, force: true });
});

/** A folder with files that every user can run, independent of the location of the clone. */
function sharedFolder(): string {
	if (shared === undefined) {
		shared = mkdtempSync(join(tmpdir(), "hawser-sandbox-"));
		chmodSync(shared, 0o755);
	}
	return shared;
}

/** The compiled prober.c. */
export function prober(): string {
	const program = join(sharedFolder(), "prober");
	if (existsSync(program)) return program;
	const source = fileURLToPath(new URL("../support/programs/prober.c", import.meta.url));
	const flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static"];
	execFileSync(process.env.CC || "cc", [...flags, "-o", program, source]);
	return program;
}

/** The helper that runs before and after bubblewrap. */
function helper(): string {
	const program = join(sharedFolder(), "confine");
	if (!existsSync(program)) copyFileSync(builtFile("confine"), program);
	return program;
}

/** A sandbox as the server opens it. */
export function probe(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
	return Sandbox.probe({ path: process.env.PATH, helper: helper(), ...options });
}

/** A user's directory outside of /tmp, so that only policies make it writable. */
export async function directoryOf(user: User, parent = "/var/tmp"): Promise<string> {
	const path = await realpath(await mkdtemp(join(parent, "hawser-sandbox-")));
	await chown(path, user.uid, user.gid);
	await chmod(path, 0o755);
	onTestFinished(() => rm(path, { recursive: true, force: true }));
	return path;
}

let probed: Promise<Sandbox> | undefined;

/** Hides nothing; created once. */
export function sandbox(): Promise<Sandbox> {
	probed ??= probe();
	return probed;
}

export type Confining = Partial<Command> & {
	readonly sandbox: SandboxPolicy;
	readonly user?: User;
	readonly within?: Pick<Sandbox, "apply">;
};

/** A program on the host without a sandbox, ended after the test. */
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

/** The output and exit code of a shell line. */
export async function confined(script: string, options: Confining): Promise<{ text: string; code: number | null }> {
	const run = await (await startConfined(["/bin/sh", "-c", script], options)).closed();
	return { text: run.text(), code: run.exit?.code ?? null };
}

/** The prober's result of one attempt: "ok" and details, or the name of the error. */
export async function attempt(what: readonly string[], options: Confining): Promise<string> {
	const run = await (await startConfined([prober(), ...what], options)).closed();
	return run.text().trim();
}
