// @module-tag apart

/** Errors of starts that fail, and the environment of starts that succeed. */

import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { childEnvironment, wholeEnvironment } from "../../src/backends/environment.ts";
import { signalName, signalNumber } from "../../src/backends/signal-numbers.ts";
import { spawn } from "../../src/backends/spawn.ts";
import type { Command } from "../../src/core/process/process.ts";
import { Run } from "../support/run-program.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-start-"));
afterAll(() => rmSync(folder, { recursive: true }));
const plain = join(folder, "plain");
writeFileSync(plain, "");
const orphan = join(folder, "orphan");
writeFileSync(orphan, "#!/no/such/interpreter\n", { mode: 0o755 });

const link = join(folder, "link");
mkdirSync(join(folder, "real", "in"), { recursive: true });
symlinkSync("real", link);

const failures: [string, string[], Partial<Command>][] = [
	['spawn_failed: cannot start "nonsense": no such program in PATH (ENOENT)', ["nonsense"], {}],
	['spawn_failed: cannot start "./nonsense": no such file (ENOENT)', ["./nonsense"], {}],
	[`spawn_failed: cannot start "${plain}": permission denied, or not an executable file (EACCES)`, [plain], {}],
	[`spawn_failed: cannot start "${orphan}": the interpreter it names does not exist (ENOENT)`, [orphan], {}],
	[`spawn_failed: cannot start in "${folder}/x": no such directory (ENOENT)`, ["true"], { cwd: `${folder}/x` }],
	[`spawn_failed: cannot start in "${plain}": not a directory (ENOTDIR)`, ["true"], { cwd: plain }],
	[
		`spawn_failed: cannot start in "${link}": it is or contains a symbolic link now (ELOOP)`,
		["true"],
		{ cwd: link, isRealCwd: true },
	],
	[
		`spawn_failed: cannot start in "${link}/in": it is or contains a symbolic link now (ELOOP)`,
		["true"],
		{ cwd: `${link}/in`, isRealCwd: true },
	],
	[
		`spawn_failed: cannot start in "/root": permission denied (EACCES)`,
		["true"],
		{ cwd: "/root", uid: 65534, gid: 65534 },
	],
	[
		'spawn_failed: cannot start "true" with these limits: the server lacks the permission to raise them (EPERM)',
		["true"],
		{ limits: { nofile: 2 ** 40 } },
	],
	["invalid_argument: argv must name a program", [], {}],
	["invalid_argument: argv, env and cwd must not contain NUL characters", ["true", "a\0b"], {}],
	['invalid_argument: "A=B" is not a valid name of an environment variable', ["true"], { env: { "A=B": "c" } }],
	[
		"invalid_argument: cpu must be a whole number from 0 to 9007199254740991, not -1",
		["true"],
		{ limits: { cpu: -1 } },
	],
	["invalid_argument: cols must be a whole number from 1 to 65535, not 0", ["true"], { size: { cols: 0, rows: 1 } }],
];

describe.each(["pty", "pipe"] as const)("on a %s", (mode) => {
	test.each(failures)("%s", async (expected, argv, options) => {
		const fds = readdirSync("/proc/self/fd").length;
		const seen = await Run.start(spawn, argv, { mode, ...options }).catch((error) => `${error.code}: ${error.message}`);
		expect(seen).toBe(expected);
		expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(fds + 3);
	});
});

test("a program starts in a directory whose real path is unchanged", async () => {
	const cwd = join(realpathSync(folder), "real", "in");
	const run = await Run.start(spawn, ["pwd"], { mode: "pipe", cwd, isRealCwd: true });
	await run.closed();
	expect(run.text()).toBe(`${cwd}\n`);
});

test("a child gets the allowed part of our environment, the requested variables, and always its own marker", () => {
	const base = {
		PATH: "/bin",
		HOME: "/root",
		LC_ALL: "C",
		SECRET: "x",
		NODE_OPTIONS: "y",
		TERM: "dumb",
		TZ: undefined,
	};
	const request = { HOME: null, EDITOR: "vi", COLORTERM: null, HAWSER_SESSION: "forged" };
	expect(childEnvironment(base, request, "s1")).toEqual({
		PATH: "/bin",
		LC_ALL: "C",
		TERM: "xterm-256color",
		EDITOR: "vi",
		HAWSER_SESSION: "s1",
	});
});

test("a protocol may pass on our environment, without our settings and tokens", () => {
	const own = {
		PATH: "/bin",
		SECRET: "x",
		HAWSER_TOKEN: "t",
		EXECD_ACCESS_TOKEN: "t",
		EXECD_ENVS: "/e",
		TZ: undefined,
	};
	const base = wholeEnvironment(own, ["EXECD_ACCESS_TOKEN"]);
	expect(base).toEqual({ PATH: "/bin", SECRET: "x", EXECD_ENVS: "/e" });
	expect(childEnvironment(own, { SECRET: null, A: "b" }, "s1", base)).toEqual({
		PATH: "/bin",
		EXECD_ENVS: "/e",
		A: "b",
		HAWSER_SESSION: "s1",
	});
});

test("each signal has one name and one number, and unknown signals are refused", () => {
	expect(["SIGTERM", "term", "Kill", "SIGABRT"].map(signalNumber)).toEqual([15, 15, 9, 6]);
	expect([15, 6, 17, 29, 31, 34].map(signalName)).toEqual([
		"SIGTERM",
		"SIGABRT",
		"SIGCHLD",
		"SIGIO",
		"SIGSYS",
		"SIG34",
	]);
	for (const name of ["", "SIG", "15", "constructor", "SIGNOPE"])
		expect(() => signalNumber(name)).toThrow("unknown signal");
});
