/** What a terminal shows, as it follows from a program's output: the one interface behind which an emulator stands. */

import type { Size } from "../core/event.ts";
import type { ScreenRow, ScreenView } from "../core/screen.ts";

/** Rows that were scrolled away: enough for a terminal that becomes higher, and little memory. */
export const SCROLLBACK_ROWS = 200;

export interface ScreenModel {
	readonly size: Size;
	/** The next bytes of the output, cut anywhere. */
	feed(bytes: Uint8Array): void;
	resize(size: Size): void;
	view(): ScreenView;
	/** The rows of the screen as pieces of one style each. */
	cells(): ScreenRow[];
	/** The text of the rows that scrolled away, oldest first, as far as they are kept. */
	scrollback(): string[];
	/**
	 * Escape sequences that make any terminal of this size show the same, and go on in the same way with what follows.
	 * To restore one is to feed it to a new model. It has no side effects: no bell, no clipboard, no notifications.
	 */
	snapshot(options: SnapshotOptions): Uint8Array;
	dispose(): void;
}

export type SnapshotOptions = {
	/** How many rows of what was scrolled away come before the screen, at most. */
	readonly scrollback: number;
};
