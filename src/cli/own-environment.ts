/** What a program started from here finds around it, as if a shell had started it: our variables, and the sessions we are in. */

/** Which session a program is in, by the server. */
const SESSION = "HAWSER_SESSION";
/** The sessions around that one, innermost first: `run` in a session says it to the one that it starts. */
const WITHIN = "HAWSER_WITHIN";

/** What this command shows to servers. A program gets it only if it is asked for by name. */
const TOKEN = "HAWSER_TOKEN";

/** Where programs of ours hand out keys and passwords: not to what is in a sandbox. */
const AGENTS: readonly string[] = [
	"SSH_AUTH_SOCK",
	"SSH_AGENT_PID",
	"GPG_AGENT_INFO",
	"GNOME_KEYRING_CONTROL",
	"DBUS_SESSION_BUS_ADDRESS",
];

/** What programs get whose terminal nobody has described, as when cron starts them. */
const DEFAULT_TERM = "xterm-256color";

/** The sessions that this command runs in, innermost first. */
export function ownSessions(env: NodeJS.ProcessEnv): string[] {
	return [env[SESSION], ...(env[WITHIN]?.split(" ") ?? [])].filter((id) => id !== undefined && id !== "") as string[];
}

export type Surroundings = {
	readonly hasTerminal: boolean;
	readonly isElsewhere: boolean;
	/** Whether it is started in a sandbox that keeps something from it. */
	readonly isConfined: boolean;
};

export function ownEnvironment(
	env: NodeJS.ProcessEnv,
	{ hasTerminal, isElsewhere, isConfined }: Surroundings,
): Record<string, string> {
	const own: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
	const around = ownSessions(env).join(" ");
	for (const name of [WITHIN, TOKEN]) delete own[name];
	if (isConfined) {
		// The way to our server is not for it either.
		const withheld = Object.keys(own).filter((name) => name.startsWith("HAWSER_") || AGENTS.includes(name));
		for (const name of withheld) delete own[name];
	}
	// What a shell says of the directory is not true of another.
	if (isElsewhere) delete own.PWD;
	return {
		...(hasTerminal ? { TERM: DEFAULT_TERM } : {}),
		...own,
		...(around === "" ? {} : { [WITHIN]: around }),
	};
}
