/**
 * The environment of a process: exactly the client's, or the server's filtered by a policy plus the client's variables.
 */

import * as rpc from "../../json-rpc/params.ts";
import { isWithheld } from "../../json-rpc/withheld-variables.ts";

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

export const environmentPolicy: rpc.Decode<EnvironmentPolicy> = rpc.object({
	inherit: rpc.oneOf("all", "core", "none"),
	ignoreDefaultExcludes: rpc.boolean,
	exclude: rpc.list(rpc.string),
	set: rpc.map(rpc.string),
	includeOnly: rpc.list(rpc.string),
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

/** Tells this server when to exit. Never passed to a process. */
const EXIT_ON_CLOSE = "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE";

/**
 * The complete environment of a process. `server` is this server's own; `env` has the client's variables, added last.
 */
export function childEnvironment(
	server: Readonly<Record<string, string | undefined>>,
	policy: EnvironmentPolicy | null,
	env: Readonly<Record<string, string>>,
): Record<string, string> {
	const variables = new Map([...(policy ? byPolicy(server, policy) : []), ...Object.entries(env)]);
	return Object.fromEntries([...variables].filter(([name]) => name !== EXIT_ON_CLOSE && !isWithheld(name)));
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
