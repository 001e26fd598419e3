/** From a command and its places to a command that runs it in bubblewrap, between the two sides of native/confine.c. */

import type { Command, ControlGroup } from "../core/process.ts";
import type { SandboxLimits } from "../core/sandbox.ts";
import { candidates } from "../native/minder.ts";
import type { Confined, Place, Places } from "./places.ts";

/** What a program may put into shared memory, in bytes: as much as containers usually give. */
const SHARED_MEMORY_BYTES = 64 * 1024 ** 2;

/** What in /proc acts on the machine; bubblewrap leaves it to root, whose sandbox must not have it either. */
const MACHINE = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi"].map((name) => `/proc/${name}`);

type Wrapping = {
	readonly policy: Confined;
	/** What a control group holds of its limits. */
	readonly cgroup: ControlGroup | undefined;
	readonly places: Places;
	/** The real path of the command's directory. */
	readonly cwd: string;
	readonly bubblewrap: string;
	/** What native/confine.c was built to. */
	readonly helper: string;
};

export function wrap(command: Command, { policy, cgroup, places, cwd, bubblewrap, helper }: Wrapping): Command {
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

function mounts({ rest, places }: Places): string[] {
	const hidden = places.filter(({ access, kind }) => access === "none" && kind === "directory");
	return [
		...(rest === "write" ? ["--bind", "/", "/", "--ro-bind", "/sys", "/sys"] : ["--ro-bind", "/", "/"]),
		...["--dev", "/dev", "--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
		...places.flatMap(mount),
		// Not before all is mounted in them that is to be.
		...hidden.flatMap(({ path }) => ["--remount-ro", path]),
		...["--proc", "/proc", ...MACHINE.flatMap((path) => ["--ro-bind-try", path, path])],
	];
}

function mount({ path, access, kind }: Place): string[] {
	if (access === "write") return ["--bind", path, path];
	// Where no placeholder could be made, nothing can be made at all.
	if (kind === "missing") return ["--ro-bind-try", path, path];
	if (access === "read") return ["--ro-bind", path, path];
	// A device where there are none can't be opened.
	return kind === "file" ? ["--ro-bind", "/dev/null", path] : ["--perms", "0000", "--tmpfs", path];
}

function writableChecks(places: readonly Place[]): string[] {
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
