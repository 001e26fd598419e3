/** Renders a session's screen in the local terminal at every change, and restores the terminal at the end. */

import { writeSync } from "node:fs";
import { constants } from "node:os";
import type { ScreenText } from "../../client/index.ts";
import { print } from "../print/output.ts";

/** Alternate screen without auto-wrap, so that wide rows are cut. */
const ENTER = "\x1b[?1049h\x1b[?7l\x1b[?25l";
const LEAVE = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?7h\x1b[?1049l";
/** Synchronized output, for terminals that support it. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** `textOf` renders a screen, one line per row. The last screen stays below the restored terminal. */
export async function watchScreen(
	changes: AsyncIterable<ScreenText>,
	textOf: (screen: ScreenText) => string | Promise<string>,
): Promise<void> {
	let text = "";
	const draw = () => print(frameOf(text.split("\n"), process.stdout.rows ?? 24));
	// Restores the terminal on every exit.
	const leave = () => writeSync(1, LEAVE);
	const end = (signal: (typeof ENDING)[number]) => process.exit(128 + constants.signals[signal]);
	process.once("exit", leave);
	for (const signal of ENDING) process.on(signal, end);
	process.stdout.on("resize", draw);
	await print(ENTER);
	try {
		for await (const screen of changes) {
			text = await textOf(screen);
			await draw();
		}
	} finally {
		process.stdout.off("resize", draw);
		process.off("exit", leave);
		for (const signal of ENDING) process.off(signal, end);
		await print(LEAVE);
	}
	if (text !== "") await print(`${text.trimEnd()}\n`);
}

/** Clears each row before writing it: afterwards the cursor may be on the last character. */
function frameOf(lines: readonly string[], rows: number): string {
	const drawn = Array.from({ length: rows }, (_, row) => `\x1b[${row + 1};1H\x1b[2K${lines[row] ?? ""}`);
	return `${BEGIN}${drawn.join("")}${END}`;
}
