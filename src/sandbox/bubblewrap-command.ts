/**
 * Converts a command and its mount plan to one that runs it in bubblewrap, between the two halves of native/confine.c.
 */

import type { Command, ControlGroup } from "../core/process/process.ts";
import type { ConfiningPolicy, SandboxLimits } from "../core/process/sandbox-policy.ts";
import { candidates } from "../native/minder.ts";
import type { MountPlan, MountPoint } from "./mount-plan.ts";

/**
 * Size of shared memory in bytes, as usual for containers.
 * @limit shared memory (`/dev/shm`) of a sandbox | ENOSPC for its programs
 */
const SHARED_MEMORY_BYTES = 64 * 1024 ** 2;

/** Parts of /proc that control the machine. bubblewrap leaves them to root, whose sandbox must not have them either. */
const MACHINE = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi"].map((name) => `/proc/${name}`);

type Wrapping = {
	readonly policy: ConfiningPolicy;
	/** The control group with some of its limits. */
	readonly cgroup: ControlGroup | undefined;
	readonly places: MountPlan;
	/** The real path of the command's directory. */
	readonly cwd: string;
	readonly bubblewrap: string;
	/** The executable of native/confine.c. */
	readonly helper: string;
};

export function toBubblewrapCommand(
	command: Command,
	{ policy, cgroup, places, cwd, bubblewrap, helper }: Wrapping,
): Command {
	const { sandbox: _, arg0, argv, ...rest } = command;
	const program = argv[0] ?? "";
	const hasNetwork = policy.networkAccess === true;
	const options = [...namespaces(hasNetwork), ...mounts(places), "--chdir", cwd];
	const inside = [
		hasNetwork ? "1" : "0",
		...writableChecks(places.places),
		...list(places.places.filter(({ access }) => access === "read").map(({ path }) => path)),
		...limitPairs(policy.limits ?? {}, cgroup !== undefined),
		...list(candidates(program, command.env.PATH)),
		...list([arg0 ?? program, ...argv.slice(1)]),
	];
	const hasTerminal = command.mode === "pty" ? "1" : "0";
	return {
		...rest,
		argv: [helper, "outside", hasTerminal, bubblewrap, ...list(options), ...inside],
		placeholders: places.places.filter(({ kind }) => kind === "missing").map(({ path }) => path),
		...(cgroup === undefined ? {} : { cgroup }),
	};
}

function namespaces(hasNetwork: boolean): string[] {
	return [
		...[
			"--unshare-user",
			"--disable-userns",
			"--unshare-pid",
			"--unshare-ipc",
			"--unshare-uts",
			"--unshare-cgroup-try",
		],
		...(hasNetwork ? [] : ["--unshare-net"]),
		...["--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"],
	];
}

function mounts({ rest, places, links }: MountPlan): string[] {
	const hidden = places.filter(({ access, kind }) => access === "none" && kind === "directory");
	return [
		...roots[rest],
		...links.flatMap(({ path, target }) => ["--symlink", target, path]),
		...["--dev", "/dev", "--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
		...places.flatMap(mount),
		// Only after everything below them is mounted.
		...hidden.flatMap(({ path }) => ["--remount-ro", path]),
		...["--proc", "/proc", ...MACHINE.flatMap((path) => ["--ro-bind-try", path, path])],
		...(rest === "none" ? ["--remount-ro", "/"] : []),
	];
}

const roots: Readonly<Record<MountPlan["rest"], readonly string[]>> = {
	read: ["--ro-bind", "/", "/"],
	write: ["--bind", "/", "/", "--ro-bind", "/sys", "/sys"],
	none: ["--perms", "0755", "--tmpfs", "/"],
};

function mount({ path, access, kind }: MountPoint): string[] {
	if (access === "write") return ["--bind", path, path];
	// Where no placeholder could be created, nothing else can be.
	if (kind === "missing") return ["--ro-bind-try", path, path];
	if (access === "read") return ["--ro-bind", path, path];
	// A device file on a file system without devices can't be opened.
	return kind === "file" ? ["--ro-bind", "/dev/null", path] : ["--perms", "0000", "--tmpfs", path];
}

function writableChecks(places: readonly MountPoint[]): string[] {
	const known = places.filter(({ access }) => access === "write");
	return [
		String(known.length),
		...known.flatMap(({ path, identity }) => [String(identity?.dev), String(identity?.ino), path]),
	];
}

function limitPairs({ cpuSeconds, memoryBytes, processes, fileBytes }: SandboxLimits, hasGroup: boolean): string[] {
	const named = { cpu: cpuSeconds, fsize: fileBytes, ...(hasGroup ? {} : { as: memoryBytes, nproc: processes }) };
	const given = Object.entries(named).filter(([, value]) => value !== undefined);
	return [String(given.length), ...given.flatMap(([name, value]) => [name, String(value)])];
}

function list(values: readonly string[]): string[] {
	return [String(values.length), ...values];
}
