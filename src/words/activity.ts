/** The current activity of a session's program. */

export type Activity =
	/** It has input that it has not read yet. */
	| "busy"
	| "running"
	/** It can't write: `key` (a user pressed ^S), or `reader` (the server does not read, because a client does not). */
	| "flow-stopped"
	/** It waits for input: a `line`, a `secret` or a `key`; or a `reply`, which the terminal sends and not a user. */
	| "waiting"
	/** A shell is ready for a command. */
	| "prompt"
	/** A full-screen program that reads keys, perhaps besides other things it waits for. */
	| "tui"
	/** It would read input, but continues without. */
	| "listening"
	| "disk"
	| "stopped"
	/** It waits for something else. `kind` names the system call or state it sleeps in. */
	| "sleeping"
	/**
	 * Unknown: we may not inspect it (`denied`), not in time (`slow`), the screen belongs to a process elsewhere
	 * (`relay`), or no process is in the foreground (`no-process`).
	 */
	| "unknown"
	| "ended";
