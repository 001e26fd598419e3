/** Checks what Hawser needs from the machine, one by one. */

import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../../server/config.ts";
import { probeSandbox } from "../../server/local-sandbox.ts";
import { probeAddon } from "../../server/probe-addon.ts";

/** `info` marks optional features. */
type Status = "ok" | "info" | "warn" | "FAIL";
export type Check = {
	readonly name: string;
	readonly status: Status;
	readonly message: string;
	/** How to fix it. */
	readonly fix?: string;
};

/** Works from `src` and from `dist`: both are next to `docs`. */
const sandboxPage = fileURLToPath(new URL("../../../docs/sandbox.md", import.meta.url));

const MIN_NODE = 20;
/** A server uses about two descriptors per session and per connection. */
const FEW_FILES = 4096;
const TOO_FEW_FILES = 256;
/** One session's journal is 64 MiB. */
const LITTLE_DISK_BYTES = 1024 ** 3;
const TOO_LITTLE_DISK_BYTES = 64 * 1024 ** 2;
/** The kernel's limit for a Unix socket path, minus our longest socket name. */
const SOCKET_DIRECTORY_BYTES = 107 - "/0123456789abcdef.sock".length;

export async function inspectMachine(config: Pick<Config, "stateDir" | "runtimeDir" | "cgroup">): Promise<Check[]> {
	return [
		node(),
		addon(),
		terminals(),
		openFiles(),
		directory(config.stateDir),
		socketPath(config.runtimeDir),
		disk(config.stateDir),
		controlGroups(),
		await sandbox(config.cgroup),
	];
}

function node(): Check {
	const { node: found } = process.versions;
	if (Number.parseInt(found, 10) >= MIN_NODE) return { name: "node", status: "ok", message: `Node.js ${found}` };
	return { name: "node", status: "FAIL", message: `Node.js ${found}`, fix: `install Node.js ${MIN_NODE} or newer` };
}

/** Loads the addon as the server does, which fails for a wrong platform or an old system. */
function addon(): Check {
	const name = "addon";
	const { platform, fault } = probeAddon();
	if (fault === undefined) return { name, status: "ok", message: `the native addon for ${platform} loads` };
	if (process.platform === "linux") {
		const fix = 'run "npm run build", which needs a C compiler';
		return { name, status: "FAIL", message: `can't load the native addon for ${platform}: ${fault}`, fix };
	}
	return { name, status: "warn", message: `no native addon for ${platform}: only --pipe works here` };
}

function terminals(): Check {
	const name = "terminals";
	try {
		closeSync(openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY));
	} catch (error) {
		const fix = "mount devpts, or raise /proc/sys/kernel/pty/max";
		return { name, status: "FAIL", message: `can't open a terminal: ${messageOf(error)}`, fix };
	}
	const [max, used] = [numberIn("/proc/sys/kernel/pty/max"), numberIn("/proc/sys/kernel/pty/nr")];
	if (max === undefined || used === undefined) return { name, status: "ok", message: "terminals work" };
	const message = `${used} of ${max} terminals are in use`;
	if (used <= 0.8 * max) return { name, status: "ok", message };
	return { name, status: "warn", message, fix: "raise it: sysctl kernel.pty.max=16384" };
}

function openFiles(): Check {
	const name = "open files";
	const [, limit] = /^Max open files\s+(\S+)/m.exec(textOf("/proc/self/limits") ?? "") ?? [];
	if (limit === undefined) return { name, status: "info", message: "the limit is unknown" };
	const message = `at most ${limit} open files`;
	const count = limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
	if (count >= FEW_FILES) return { name, status: "ok", message };
	const fix = "raise it where the server starts: ulimit -n 65536, or LimitNOFILE= in its unit";
	return { name, status: count < TOO_FEW_FILES ? "FAIL" : "warn", message, fix };
}

function directory(path: string): Check {
	const name = "state directory";
	const fix = `change its owner, or choose another with --state-dir or HAWSER_STATE_DIR`;
	const nearest = existing(path);
	try {
		accessSync(nearest, constants.W_OK | constants.X_OK);
		const { uid, mode } = statSync(nearest);
		if (nearest !== path) return { name, status: "ok", message: `${path} can be created` };
		if (!statSync(path).isDirectory()) return { name, status: "FAIL", message: `${path} is not a directory`, fix };
		if (uid !== process.getuid?.()) return { name, status: "FAIL", message: `${path} belongs to user ${uid}`, fix };
		if ((mode & 0o077) === 0) return { name, status: "ok", message: `${path} is writable and private` };
		return { name, status: "warn", message: `${path} can be read by others`, fix: `chmod 700 ${path}` };
	} catch (error) {
		return { name, status: "FAIL", message: `can't write to ${path}: ${messageOf(error)}`, fix };
	}
}

function socketPath(path: string): Check {
	const length = Buffer.byteLength(path);
	const message = `${path} is ${length} bytes long (limit for sockets: ${SOCKET_DIRECTORY_BYTES})`;
	if (length <= SOCKET_DIRECTORY_BYTES) return { name: "socket path", status: "ok", message };
	const fix = "choose a shorter --state-dir, or a short --runtime-dir for the sockets alone";
	return { name: "socket path", status: "FAIL", message, fix };
}

function disk(path: string): Check {
	const name = "disk space";
	try {
		const { bavail, bsize } = statfsSync(existing(path));
		const free = bavail * bsize;
		const message = `${(free / 1024 ** 3).toFixed(1)} GiB free for journals`;
		if (free >= LITTLE_DISK_BYTES) return { name, status: "ok", message };
		const fix = "free some space, or set a smaller --max-journal";
		return { name, status: free < TOO_LITTLE_DISK_BYTES ? "FAIL" : "warn", message, fix };
	} catch (error) {
		return { name, status: "warn", message: `unknown: ${messageOf(error)}` };
	}
}

function controlGroups(): Check {
	const name = "cgroups";
	if (!existsSync("/sys/fs/cgroup/cgroup.controllers")) {
		return { name, status: "info", message: "no cgroup v2; processes are tracked by parent instead" };
	}
	const [, own = "/"] = /^0::(.*)$/m.exec(textOf("/proc/self/cgroup") ?? "") ?? [];
	const canMake = isAllowed(join("/sys/fs/cgroup", own), constants.W_OK);
	return { name, status: "info", message: `cgroup v2; the server can${canMake ? "" : "not"} create groups` };
}

/** Probes the sandbox as the server does at startup. */
async function sandbox(cgroup: Config["cgroup"]): Promise<Check> {
	const name = "sandbox";
	try {
		const support = await probeSandbox(cgroup);
		const limits = cgroup === null ? "rlimits only (no --cgroup)" : `control groups in ${cgroup}`;
		if (support.isEnforced) return { name, status: "ok", message: `enforced by ${support.by}, limits by ${limits}` };
		return { name, status: "info", message: `not available, sandboxed programs are refused: ${support.reason}` };
	} catch (error) {
		return { name, status: "FAIL", message: messageOf(error), fix: `see ${sandboxPage}, or leave --cgroup out` };
	}
}

/** The path, or its nearest existing parent directory. */
function existing(path: string): string {
	const parent = dirname(path);
	return existsSync(path) || parent === path ? path : existing(parent);
}

function isAllowed(path: string, mode: number): boolean {
	try {
		accessSync(path, mode);
		return true;
	} catch {
		return false;
	}
}

function textOf(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		// Not available on this system.
		return undefined;
	}
}

function numberIn(path: string): number | undefined {
	const text = textOf(path);
	return text === undefined ? undefined : Number(text);
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
