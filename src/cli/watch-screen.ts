/** Draws a session's screen on ours whenever it changes, and leaves ours as it was. */

import { writeSync } from "node:fs";
import { constants } from "node:os";
import type { WholeScreen } from "../client/index.ts";
import { print } from "./output.ts";

/** A screen of our own, on which what is too wide is cut instead of going on in the next row. */
const ENTER = "\x1b[?1049h\x1b[?7l\x1b[?25l";
const LEAVE = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?7h\x1b[?1049l";
/** Drawn as a whole, by terminals that can. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** `textOf` gives the text of a screen, one line for each row. What was shown last stays, under what our terminal showed before. */
export async function watchScreen(
	changes: AsyncIterable<WholeScreen>,
	textOf: (screen: WholeScreen) => string | Promise<string>,
): Promise<void> {
	let text = "";
	const draw = () => print(frameOf(text.split("\n"), process.stdout.rows ?? 24));
	// It must be put back on every way out.
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

/** Each row is cleared before it is written: after it, the cursor may be on its last character. */
function frameOf(lines: readonly string[], rows: number): string {
	const drawn = Array.from({ length: rows }, (_, row) => `\x1b[${row + 1};1H\x1b[2K${lines[row] ?? ""}`);
	return `${BEGIN}${drawn.join("")}${END}`;
}
