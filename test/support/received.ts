/** The terminal of a reader that got everything a client received. */

import { type OpenedTerminal, openTerminal } from "../../src/emulator/xterm-internals.ts";
import type { Size } from "../../src/words/state.ts";
import { COLS, ROWS } from "./screen-programs.ts";
import type { Received } from "./socket-client.ts";

/** A position in the output. Later output does not count, and of size changes only those before it. */
export type ShownPlace = { readonly offset: number; readonly size: Size };

export function terminalOf(received: readonly Received[], place?: ShownPlace): OpenedTerminal {
	const opened = openTerminal({ cols: COLS, rows: ROWS, scrollback: 200 });
	// As one write: a split character is another matter.
	let waiting: Uint8Array[] = [];
	const resize = ({ cols, rows }: Size) => {
		if (waiting.length > 0) opened.inside.writeSync(Buffer.concat(waiting));
		waiting = [];
		opened.terminal.resize(cols, rows);
	};
	const end = place?.offset ?? Number.POSITIVE_INFINITY;
	const isThere = (offset: number) =>
		place !== undefined &&
		(offset > place.offset || (offset === place.offset && opened.terminal.cols === place.size.cols));
	for (const one of received) {
		if ("kind" in one) {
			if (one.kind === "screen") waiting.push(one.bytes);
			else if (one.kind === "output") waiting.push(one.bytes.subarray(0, Math.max(0, end - one.offset)));
		} else if (one.type === "welcome" && one.screen) resize(one.screen);
		else if (one.type === "resized" && !isThere(one.offset)) resize(one);
	}
	resize({ cols: opened.terminal.cols, rows: opened.terminal.rows });
	return opened;
}
