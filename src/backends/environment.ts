/** What a program finds in its environment: an allow-list of ours, never the whole, then what was asked for. */

const inherited = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);

/** The mark by which a session's processes are found again, wherever they went. */
export const marker = "HAWSER_SESSION";

/** Where programs are looked for when the server itself has no PATH. */
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The environment of a session's program; a null in the request takes a variable away. */
export function childEnvironment(
	base: NodeJS.ProcessEnv,
	request: Readonly<Record<string, string | null>>,
	sessionId: string,
): Record<string, string> {
	const env: Record<string, string> = { PATH: defaultPath };
	for (const [name, value] of Object.entries(base)) {
		if (value !== undefined && (inherited.has(name) || name.startsWith("LC_"))) env[name] = value;
	}
	env.TERM = "xterm-256color";
	env.COLORTERM = "truecolor";
	for (const [name, value] of Object.entries(request)) {
		if (value === null) delete env[name];
		else env[name] = value;
	}
	// Last, so that no request can hide a program from its own end.
	env[marker] = sessionId;
	return env;
}
