/** The size of a screen: of a session's terminal, and as far as a model can have it. */

import { SessionError } from "../core/errors.ts";
import type { Size } from "../core/event.ts";
import type { Session } from "../core/session.ts";

/** Of one screen; xterm has 12 bytes for each, and twice as many with what is behind it. */
const MAX_CELLS = 500_000;
/** What emulators can be. */
const MIN_COLS = 2;

/** Of its terminal, as far as it is known now. */
export function sizeOf({ id, spec, state }: Session): Size {
	if (spec.mode === "pty") return state.size;
	throw new SessionError("unsupported", `session ${JSON.stringify(id)} has no terminal, and so no screen`, {
		hint: "read its output",
	});
}

/** What a model has for it. */
export function shownSize({ cols, rows }: Size): Size {
	if (cols * rows <= MAX_CELLS) return { cols: Math.max(cols, MIN_COLS), rows };
	throw new SessionError("limit_exceeded", `a screen of ${cols} columns and ${rows} rows is too large to be shown`, {
		hint: "make it smaller, or read its output",
	});
}
