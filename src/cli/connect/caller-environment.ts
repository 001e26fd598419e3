/** The environment of a program started by this command, as if a shell had started it, plus the enclosing sessions. */

/** Set by the server: the session that a program runs in. */
const SESSION = "HAWSER_SESSION";
/** The sessions around that one, innermost first. Set by `run` inside a session. */
const ENCLOSING = "HAWSER_WITHIN";

/** This command's own token. A program gets it only with --env. */
const TOKEN = "HAWSER_TOKEN";

/** Sockets of agents that hand out keys and passwords. Withheld from sandboxed programs. */
const AGENTS: readonly string[] = [
	"SSH_AUTH_SOCK",
	"SSH_AGENT_PID",
	"GPG_AGENT_INFO",
	"GNOME_KEYRING_CONTROL",
	"DBUS_SESSION_BUS_ADDRESS",
];

/** For callers without TERM, such as cron jobs. */
const DEFAULT_TERM = "xterm-256color";

/** The sessions that this command runs in, innermost first. */
export function enclosingSessions(env: NodeJS.ProcessEnv): string[] {
	return [env[SESSION], ...(env[ENCLOSING]?.split(" ") ?? [])].filter(
		(id) => id !== undefined && id !== "",
	) as string[];
}

type EnvironmentOptions = {
	readonly hasTerminal: boolean;
	readonly changesDirectory: boolean;
	/** Whether the program runs in a sandbox that restricts it. */
	readonly isConfined: boolean;
};

export function callerEnvironment(
	env: NodeJS.ProcessEnv,
	{ hasTerminal, changesDirectory, isConfined }: EnvironmentOptions,
): Record<string, string> {
	const own: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
	const around = enclosingSessions(env).join(" ");
	for (const name of [ENCLOSING, TOKEN]) delete own[name];
	if (isConfined) {
		// A sandboxed program must not reach our server either.
		const withheld = Object.keys(own).filter((name) => name.startsWith("HAWSER_") || AGENTS.includes(name));
		for (const name of withheld) delete own[name];
	}
	// The shell's PWD is wrong in another directory.
	if (changesDirectory) delete own.PWD;
	return {
		...(hasTerminal ? { TERM: DEFAULT_TERM } : {}),
		...own,
		...(around === "" ? {} : { [ENCLOSING]: around }),
	};
}
