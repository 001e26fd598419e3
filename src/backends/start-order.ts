/** Converts commands to orders for a minder, and its errors to errors for the caller. */

import { accessSync } from "node:fs";
import { invariant, SessionError } from "../core/errors.ts";
import type { Command } from "../core/process/process.ts";
import { shortage } from "../core/process/resource-shortage.ts";
import { isConfined } from "../core/process/sandbox-policy.ts";
import { isNativeError, type NativeError } from "../native/addon.ts";
import { candidates, type Limit, type Order } from "../native/minder.ts";

/**
 * Timeout for access to a program's directory, PATH and file. An unreachable file server never answers; a disk may need
 * some seconds to spin up.
 * @limit lookup of a program's directory, `PATH` and file | `spawn_failed`; no other request waits for it
 */
const startMs = 10_000;

export function toOrder(command: Command): Order {
	const {
		argv,
		arg0,
		env,
		cwd,
		isRealCwd = false,
		mode,
		size,
		uid,
		gid,
		groups,
		limits,
		inherited,
		placeholders,
		cgroup,
		sessionId,
	} = command;
	invariant(!isConfined(command.sandbox), "the sandbox of a program was not applied");
	const program = argv[0];
	if (program === undefined || program === "") throw new SessionError("invalid_argument", "argv must name a program");
	const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
	if ([...argv, arg0, cwd, ...environment, ...(placeholders ?? [])].some((text) => text?.includes("\0"))) {
		throw new SessionError("invalid_argument", "argv, env and cwd must not contain NUL characters");
	}
	const badName = Object.keys(env).find((name) => name === "" || name.includes("="));
	if (badName !== undefined)
		throw new SessionError(
			"invalid_argument",
			`${JSON.stringify(badName)} is not a valid name of an environment variable`,
		);
	checkNumbers(
		{ uid, gid, ...Object.fromEntries((groups ?? []).map((group, i) => [`group ${i + 1}`, group])) },
		2 ** 31 - 1,
	);
	checkNumbers(limits ?? {}, Number.MAX_SAFE_INTEGER);
	return {
		stdio: mode,
		size,
		emptyInput: command.stdin === "closed",
		oneOutput: command.stderr === "merged",
		files: candidates(program, env.PATH),
		argv: [arg0 ?? program, ...argv.slice(1)],
		env: environment,
		cwd,
		isRealCwd,
		...(inherited === undefined ? {} : { umask: inherited.umask }),
		...(uid === undefined ? {} : { uid }),
		...(gid === undefined ? {} : { gid }),
		...(groups === undefined ? {} : { groups }),
		limits: toLimits(command),
		...(placeholders === undefined ? {} : { placeholders }),
		...(cgroup === undefined ? {} : { cgroup }),
		session: sessionId,
		startMs,
	};
}

function toLimits({ inherited, limits = {} }: Pick<Command, "inherited" | "limits">): Record<string, Limit> {
	const asked = Object.entries(limits).map(([name, value]) => [name, { soft: value, hard: value }] as const);
	return {
		...(inherited === undefined ? {} : { nofile: { soft: inherited.openFiles } }),
		...Object.fromEntries(asked),
	};
}

function checkNumbers(values: Readonly<Record<string, number | undefined>>, most: number): void {
	for (const [name, value] of Object.entries(values)) {
		if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= most)) continue;
		throw new SessionError("invalid_argument", `${name} must be a whole number from 0 to ${most}, not ${value}`);
	}
}

/** The error for a program that could not be started. */
export function toSpawnError(thrown: unknown, command: Command): unknown {
	if (!isNativeError(thrown)) return thrown;
	const { code, step } = thrown;
	const program = JSON.stringify(command.argv[0] ?? "");
	if (step === "start" && code === "ETIMEDOUT")
		return new SessionError(
			"spawn_failed",
			`cannot start ${program} in ${JSON.stringify(command.cwd)}: the directory or the program did not answer within ${startMs / 1000} s (${code})`,
			{ hint: "it may be on a file server that is unreachable", cause: thrown },
		);
	const isOfPlace = step === "chdir" || step === "cgroup";
	const short = isOfPlace ? undefined : shortage(program, thrown);
	if (short) return short;
	return new SessionError("spawn_failed", `cannot start ${describe(thrown, command, program)} (${code})`, {
		cause: thrown,
	});
}

function describe({ step, code, message }: NativeError, command: Command, program: string): string {
	const cwd = JSON.stringify(command.cwd);
	switch (step) {
		case "chdir":
			if (code === "ELOOP" && command.isRealCwd) return `in ${cwd}: it is or contains a symbolic link now`;
			return `in ${cwd}: ${pathReason(code) ?? message}`;
		case "exec":
			return `${program}: ${programReason(code, command) ?? message}`;
		case "setuid":
		case "setgid":
		case "setgroups":
			return `${program} as user ${command.uid ?? "unchanged"} and group ${command.gid ?? "unchanged"}: the server lacks the permission`;
		case "start":
			return `${program}: its minder was killed`;
		case "order":
			return code === "ETIMEDOUT"
				? `${program}: no minder responded in time; the minders were replaced`
				: `${program}: the minders are being killed; nothing was started`;
		case "version":
			return `${program}: the server's files were replaced by another version; restart it`;
		case "placeholder":
			return `${program} in a sandbox: a protected path could not be reserved: ${message}`;
		case "cgroup":
			return `${program}: its control group ${command.cgroup?.path} can't be created or entered: ${message}`;
		case "limits":
			return `${program} with these limits: the server lacks the permission to raise them`;
		default:
			return `${program}: ${message}`;
	}
}

function pathReason(code: string): string | undefined {
	if (code === "ENOENT") return "no such directory";
	if (code === "ENOTDIR") return "not a directory";
	if (code === "EACCES") return "permission denied";
	return undefined;
}

function programReason(code: string, command: Command): string | undefined {
	const program = command.argv[0] ?? "";
	if (code === "ENOENT" && !program.includes("/")) return "no such program in PATH";
	// The kernel reports the same error if the interpreter in the first line is missing.
	if (code === "ENOENT")
		return exists(program, command.cwd) ? "the interpreter it names does not exist" : "no such file";
	if (code === "EACCES") return "permission denied, or not an executable file";
	if (code === "ENOTDIR") return "part of its path is not a directory";
	if (code === "E2BIG") return "arguments and environment are too long";
	if (code === "ENOEXEC") return "not a program for this machine";
	return undefined;
}

function exists(program: string, cwd: string): boolean {
	try {
		accessSync(program.startsWith("/") ? program : `${cwd}/${program}`);
		return true;
	} catch {
		return false;
	}
}
