/** What a program finds in its environment: an allow-list of ours, never the whole, then what was asked for. */

const inherited = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);

/** The mark by which a session's processes are found again, wherever they went. */
export const marker = "HAWSER_SESSION";

/** The mark of the minder of a session's program, which is none of its processes. */
export const minderMarker = "HAWSER_MINDER";

/** Where programs are looked for when the server itself has no PATH. */
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What every program is given of the environment of the server. */
export function inheritedFrom(own: NodeJS.ProcessEnv): Record<string, string> {
	const env: Record<string, string> = { PATH: defaultPath };
	for (const [name, value] of Object.entries(own)) {
		if (value !== undefined && (inherited.has(name) || name.startsWith("LC_"))) env[name] = value;
	}
	return { ...env, TERM: "xterm-256color", COLORTERM: "truecolor" };
}

/** The environment of a session's program; a null in the request takes a variable away, and `base` stands for what every program is given. */
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
	// Last, so that no request can hide a program from its own end.
	env[marker] = sessionId;
	return env;
}

/** All of the server's environment but its settings, tokens among them, for protocols that promise it to their programs. */
export function wholeEnvironment(own: NodeJS.ProcessEnv, withheld: readonly string[] = []): Record<string, string> {
	const env: Record<string, string> = {};
	for (const [name, value] of Object.entries(own)) {
		if (value !== undefined && !name.startsWith("HAWSER_") && !withheld.includes(name)) env[name] = value;
	}
	return env;
}
