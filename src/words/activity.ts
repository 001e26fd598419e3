/** The current activity of a session's program: each state with its documentation. */

export const activities = {
	busy: "It has not read all of its input yet.",
	running: "",
	"flow-stopped": "It can't write. `kind` is `key` after Ctrl-S, and `reader` if its output is not read.",
	waiting: "It waits for input. `kind` is `line`, `secret`, `key`, or `reply` for an answer of its terminal.",
	prompt: "A shell waits for a command.",
	tui: "It has the whole screen and waits for keys among other things.",
	listening: "It would accept input, but continues without it.",
	disk: "",
	stopped: "",
	sleeping: "It waits for something else; `kind` is the kernel function.",
	// The server may not inspect it, or not in time; the screen belongs to a process elsewhere; or none is in front.
	unknown: "`kind` is the reason: `denied`, `slow`, `relay` or `no-process`.",
	ended: "",
} as const;

export type Activity = keyof typeof activities;
