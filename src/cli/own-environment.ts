/** What a program started from here finds around it, as if a shell had started it: our variables, and the sessions we are in. */

/** Which session a program is in, by the server. */
const SESSION = "HAWSER_SESSION";
/** The sessions around that one, innermost first: `run` in a session says it to the one that it starts. */
const WITHIN = "HAWSER_WITHIN";

/** What programs get whose terminal nobody has described, as when cron starts them. */
const DEFAULT_TERM = "xterm-256color";

/** The sessions that this command runs in, innermost first. */
export function ownSessions(env: NodeJS.ProcessEnv): string[] {
	return [env[SESSION], ...(env[WITHIN]?.split(" ") ?? [])].filter((id) => id !== undefined && id !== "") as string[];
}

export function ownEnvironment(
	env: NodeJS.ProcessEnv,
	{ hasTerminal, isElsewhere }: { readonly hasTerminal: boolean; readonly isElsewhere: boolean },
): Record<string, string> {
	const own: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
	const around = ownSessions(env).join(" ");
	delete own[WITHIN];
	// What a shell says of the directory is not true of another.
	if (isElsewhere) delete own.PWD;
	return {
		...(hasTerminal ? { TERM: DEFAULT_TERM } : {}),
		...own,
		...(around === "" ? {} : { [WITHIN]: around }),
	};
}
