/** The size of a session's terminal and of its screen model. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { Size } from "../../words/state.ts";

/**
 * Cells of one screen. xterm uses 12 bytes per cell, and twice as much with the normal screen behind it.
 * @limit one screen | % cells | `limit_exceeded`
 */
const MAX_CELLS = 500_000;
/** Smallest width that the emulator supports. */
const MIN_COLS = 2;

/** The size of the session's terminal as far as known now. */
export function sizeOf({ id, spec, state }: Session): Size {
	if (spec.mode === "pty") return state.size;
	throw new SessionError("unsupported", `session ${JSON.stringify(id)} has no terminal`, {
		hint: "read its output",
	});
}

/** The size of the model for a terminal of this size. */
export function shownSize({ cols, rows }: Size): Size {
	if (cols * rows <= MAX_CELLS) return { cols: Math.max(cols, MIN_COLS), rows };
	throw new SessionError(
		"limit_exceeded",
		`a screen of ${cols}×${rows} is too large to be rendered (limit ${MAX_CELLS} cells)`,
		{
			hint: "resize the terminal, or read its output",
		},
	);
}
