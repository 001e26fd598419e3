/** The terminal of somebody who was given everything that a client received. */

import type { Size } from "../../src/core/event.ts";
import { type OpenedTerminal, openTerminal } from "../../src/screen/inside.ts";
import type { Received } from "../fronts/native/test-socket.ts";
import { COLS, ROWS } from "./programs.ts";

/** A place in the output: what comes after it was not shown there, and of changes of the size only those that led to this one. */
export type ShownPlace = { readonly offset: number; readonly size: Size };

export function terminalOf(received: readonly Received[], place?: ShownPlace): OpenedTerminal {
	const opened = openTerminal({ cols: COLS, rows: ROWS, scrollback: 200 });
	// As one: a character that is cut in two is another matter.
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
