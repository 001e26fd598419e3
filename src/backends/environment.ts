/** Builds the environment of a session's program: a few of the server's variables, plus those of the request. */

import { basename } from "node:path";

const inherited = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);

/** Marks the processes of a session, so that they can be found again. */
export const SESSION_VARIABLE = "HAWSER_SESSION";

/** The program that agents run as a hook, and the socket to which it reports. */
const HOOK_VARIABLES = { program: "HAWSER_HOOK", socket: "HAWSER_AGENT_SOCKET" } as const;

/** Where the hooks of agents report. */
export type HookSetup = { readonly program: string; readonly socket: string };

/** Marks the minder of a session's program, which is not one of its processes. */
export const MINDER_VARIABLE = "HAWSER_MINDER";

/** The PATH if the server itself has none. */
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The variables that every program gets from the server's environment. */
export function inheritedFrom(own: NodeJS.ProcessEnv): Record<string, string> {
	const env: Record<string, string> = { PATH: defaultPath };
	for (const [name, value] of Object.entries(own)) {
		if (value !== undefined && (inherited.has(name) || name.startsWith("LC_"))) env[name] = value;
	}
	return { ...env, TERM: "xterm-256color", COLORTERM: "truecolor" };
}

/**
 * The environment of a session's program. A null in the request removes a variable; `base` replaces the inherited
 * variables.
 */
export function childEnvironment(
	own: NodeJS.ProcessEnv,
	request: Readonly<Record<string, string | null>>,
	sessionId: string,
	base: Readonly<Record<string, string>> = inheritedFrom(own),
): Record<string, string> {
	const env = { ...base };
	for (const [name, value] of Object.entries(request)) {
		if (value === null) delete env[name];
		else env[name] = value;
	}
	// Last, so that no request can hide a program from being killed.
	env[SESSION_VARIABLE] = sessionId;
	return env;
}

/**
 * The variables by which hooks find the server. Hooks that were written for herdr find it by herdr's own variables.
 * herdr itself would refuse to start with them.
 */
export function hookVariables(
	{ program, socket }: HookSetup,
	sessionId: string,
	argv: readonly string[],
): Record<string, string> {
	const own = { [HOOK_VARIABLES.program]: program, [HOOK_VARIABLES.socket]: socket };
	if (basename(argv[0] ?? "") === "herdr") return own;
	return { ...own, HERDR_ENV: "1", HERDR_SOCKET_PATH: socket, HERDR_PANE_ID: sessionId };
}

/** The server's whole environment without its settings and tokens, for protocols that promise it to their programs. */
export function wholeEnvironment(own: NodeJS.ProcessEnv, withheld: readonly string[] = []): Record<string, string> {
	const env: Record<string, string> = {};
	for (const [name, value] of Object.entries(own)) {
		if (value !== undefined && !name.startsWith("HAWSER_") && !withheld.includes(name)) env[name] = value;
	}
	return env;
}
