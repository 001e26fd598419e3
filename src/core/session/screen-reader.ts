import type { LogPosition } from "../log/event.ts";
import type { Screen, ScreenOptions, ScreenRow, Snapshot } from "../terminal/screen-view.ts";
import type { Session } from "./session.ts";

/**
 * Reads the screens of sessions. Rejects with `unsupported` without a terminal, and with `limit_exceeded` if a screen
 * is unavailable.
 */
export interface ScreenReader {
	/** The current screen, not in the middle of a synchronized update unless that takes too long. */
	read(session: Session, options: ScreenOptions): Promise<Screen>;
	/** The same cell by cell, within the limit of `checkStyled`. */
	cells(session: Session, options: ScreenOptions): Promise<Screen & { readonly cells: readonly ScreenRow[] }>;
	/** With up to `scrollback` rows above the screen. */
	snapshot(session: Session, options: ScreenOptions & { readonly scrollback: number }): Promise<Snapshot>;
	/**
	 * The rows that last scrolled off the screen, oldest first, within the limits of output and rows that are read for
	 * it.
	 */
	scrollback(session: Session, options: ScreenOptions): Promise<LogPosition & { readonly lines: readonly string[] }>;
	/** Remembers a screen for `earlier`, which knows the last few. */
	remember(session: Session, screen: Screen): void;
	/** A remembered screen by its `seq`. */
	earlier(session: Session, seq: number): Screen | undefined;
}
