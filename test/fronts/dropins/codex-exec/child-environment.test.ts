/** The environment of a process (contract §3.1.1). */

import { describe, expect, test } from "vitest";
import {
	childEnvironment,
	type EnvironmentPolicy,
	environmentPolicy,
	matches,
} from "../../../../src/fronts/dropins/codex-exec/environment.ts";
import { refusalOf } from "./support/calls.ts";

const all: EnvironmentPolicy = {
	inherit: "all",
	ignoreDefaultExcludes: true,
	exclude: [],
	set: {},
	includeOnly: [],
};

const server = {
	PATH: "/bin",
	home: "/home/me",
	LC_ALL: "C",
	LC_TIME: "C",
	API_KEY: "k",
	my_Secret_1: "s",
	TOKENS: "t",
	OTHER: "o",
	UNSET: undefined,
};

test("without a policy the environment is exactly as sent, and nothing is inherited", () => {
	expect(childEnvironment(server, null, { A: "1", MY_KEY: "2" })).toEqual({ A: "1", MY_KEY: "2" });
	expect(childEnvironment(server, null, {})).toEqual({});
});

describe("step 1: inherited variables", () => {
	test("inherit all copies the server's environment", () => {
		const { UNSET, ...present } = server;
		expect(childEnvironment(server, all, {})).toEqual(present);
		expect(UNSET).toBeUndefined();
	});
	test("inherit core copies core variables, in any case of their names", () => {
		expect(childEnvironment(server, { ...all, inherit: "core" }, {})).toEqual({
			PATH: "/bin",
			home: "/home/me",
			LC_ALL: "C",
		});
	});
	test("inherit none copies nothing", () => {
		expect(childEnvironment(server, { ...all, inherit: "none" }, {})).toEqual({});
	});
});

test("step 2: variables that sound like secrets are removed, unless the policy keeps them", () => {
	const env = childEnvironment(server, { ...all, ignoreDefaultExcludes: false }, {});
	expect(Object.keys(env)).toEqual(["PATH", "home", "LC_ALL", "LC_TIME", "OTHER"]);
});

test("steps 3 to 6: exclude, set, includeOnly, then the sent variables", () => {
	const policy = {
		...all,
		ignoreDefaultExcludes: false,
		exclude: ["path", "lc_*", "SET_*"],
		set: { SET_KEY: "set after the exclusions", PATH: "/set", DROPPED: "not included" },
		includeOnly: ["*path*", "SET?KEY", "other"],
	};
	expect(childEnvironment(server, policy, { SENT_TOKEN: "sent", PATH: "/sent" })).toEqual({
		PATH: "/sent",
		SET_KEY: "set after the exclusions",
		OTHER: "o",
		SENT_TOKEN: "sent",
	});
});

test("last, in both modes: the server's identity is removed, also if it was sent", () => {
	const names = [
		"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
		"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
		"node_repl_auth_token",
		"OPENAI_Federation_Rule_ID",
		"OPENAI_IDENTITY_TOKEN_FILE",
		"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
	];
	const identity = Object.fromEntries(names.map((name) => [name, "x"]));
	const kept = { codex_exec_server_exit_on_stdin_close: "exact case only" };
	expect(childEnvironment({}, null, { ...identity, ...kept })).toEqual(kept);
	expect(childEnvironment(identity, all, { ...identity, ...kept })).toEqual(kept);
	expect(childEnvironment({}, { ...all, set: identity }, {})).toEqual({});
});

test("a variable may have any name", () => {
	const env = JSON.parse('{"__proto__":"a"}');
	expect(Object.entries(childEnvironment({}, null, env))).toEqual([["__proto__", "a"]]);
});

const patterns: [string, string, boolean][] = [
	["*KEY*", "api_key_1", true],
	["*KEY*", "KEY", true],
	["KEY", "MY_KEY", false],
	["KEY", "KEYS", false],
	["K?Y", "KAY", true],
	["K?Y", "KY", false],
	["?", "é", true],
	["?", "\u{1f600}", true],
	["*", "", true],
	["", "", true],
	["", "A", false],
	["A*B*C", "AxxBxxBxxC", true],
	["A*B*C", "AxxBxxBxx", false],
	["A.C", "ABC", false],
	["[A]", "A", false],
	["**A**", "A", true],
];

test.each(patterns)("pattern %j and name %j: %j", (pattern, name, expected) => {
	expect(matches(pattern, name)).toBe(expected);
});

test("a pattern designed to be slow matches fast", () => {
	expect(matches(`${"*a".repeat(200)}b`, "a".repeat(5000))).toBe(false);
});

test("all five members of a policy are required", () => {
	expect(environmentPolicy(all)).toEqual(all);
	for (const member of Object.keys(all)) {
		const { [member as keyof EnvironmentPolicy]: _, ...rest } = all;
		expect(refusalOf(() => environmentPolicy(rest))).toBe(`-32602: missing field \`${member}\``);
	}
	expect(refusalOf(() => environmentPolicy({ ...all, inherit: "some" }))).toBe(
		"-32602: unknown variant `some`, expected one of `all`, `core`, `none`",
	);
});
