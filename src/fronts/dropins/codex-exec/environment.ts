/**
 * The environment of a process: exactly the client's, or the server's filtered by a policy plus the client's variables.
 */

import { boolean, type Decode, list, map, object, oneOf, string } from "../../json-rpc/params.ts";

export type EnvironmentPolicy = {
	/** Part of the server's environment to start from. */
	readonly inherit: "all" | "core" | "none";
	/** Whether names that look like secrets are kept. */
	readonly ignoreDefaultExcludes: boolean;
	readonly exclude: readonly string[];
	readonly set: Readonly<Record<string, string>>;
	/** If not empty, only names matching one of these are kept. */
	readonly includeOnly: readonly string[];
};

export const environmentPolicy: Decode<EnvironmentPolicy> = object({
	inherit: oneOf("all", "core", "none"),
	ignoreDefaultExcludes: boolean,
	exclude: list(string),
	set: map(string),
	includeOnly: list(string),
});

const core: ReadonlySet<string> = new Set([
	"PATH",
	"SHELL",
	"TMPDIR",
	"TEMP",
	"TMP",
	"HOME",
	"LANG",
	"LC_ALL",
	"LC_CTYPE",
	"LOGNAME",
	"USER",
]);

const defaultExcludes: readonly string[] = ["*KEY*", "*SECRET*", "*TOKEN*"];

/** Variables that hold the server's own identity. They are never passed to a process. */
const withheldExactly = "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE";
const withheld: ReadonlySet<string> = new Set([
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
	"NODE_REPL_AUTH_TOKEN",
	"OPENAI_FEDERATION_RULE_ID",
	"OPENAI_IDENTITY_TOKEN_FILE",
	"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
]);

/**
 * The complete environment of a process. `server` is this server's own; `env` has the client's variables, added last.
 */
export function childEnvironment(
	server: Readonly<Record<string, string | undefined>>,
	policy: EnvironmentPolicy | null,
	env: Readonly<Record<string, string>>,
): Record<string, string> {
	const variables = new Map([...(policy ? byPolicy(server, policy) : []), ...Object.entries(env)]);
	const isWithheld = (name: string) => name === withheldExactly || withheld.has(name.toUpperCase());
	return Object.fromEntries([...variables].filter(([name]) => !isWithheld(name)));
}

function byPolicy(
	server: Readonly<Record<string, string | undefined>>,
	policy: EnvironmentPolicy,
): Map<string, string> {
	const excludes = [...(policy.ignoreDefaultExcludes ? [] : defaultExcludes), ...policy.exclude];
	const variables = new Map<string, string>();
	for (const [name, value] of Object.entries(server)) {
		const isInherited = policy.inherit === "all" || (policy.inherit === "core" && core.has(name.toUpperCase()));
		if (value !== undefined && isInherited && !matchesAny(excludes, name)) variables.set(name, value);
	}
	for (const [name, value] of Object.entries(policy.set)) variables.set(name, value);
	if (policy.includeOnly.length === 0) return variables;
	return new Map([...variables].filter(([name]) => matchesAny(policy.includeOnly, name)));
}

function matchesAny(patterns: readonly string[], name: string): boolean {
	return patterns.some((pattern) => matches(pattern, name));
}

/**
 * Whether a whole name matches a pattern, ignoring case: `*` is any run, `?` one character. Not a regular expression,
 * because patterns come from clients: this backtracks to the last star only, so its cost stays bounded.
 */
export function matches(pattern: string, name: string): boolean {
	const wanted = [...pattern.toLowerCase()];
	const given = [...name.toLowerCase()];
	let at = 0;
	let star = -1;
	let starEnd = 0;
	for (let next = 0; next < given.length; ) {
		if (wanted[at] === "*") {
			star = at++;
			starEnd = next;
		} else if (wanted[at] === "?" || wanted[at] === given[next]) {
			at++;
			next++;
		} else if (star >= 0) {
			at = star + 1;
			next = ++starEnd;
		} else {
			return false;
		}
	}
	return wanted.slice(at).every((rest) => rest === "*");
}
