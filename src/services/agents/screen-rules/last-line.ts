/** Reads the last row of an agent's work: the one above its input. */

import type { AgentRules } from "./format.ts";
import { patternOf } from "./patterns.ts";
import { type AgentScreen, columnsOf } from "./read-screen.ts";
import { stillText, textRows } from "./screen-text.ts";

/** The sign of a message or a tool. */
const BULLET = /^[•✦⎿└] /u;

/** Without signs that turn. Null if there is no text. */
export function readLastLine(
	screen: Pick<AgentScreen, "lines" | "cols">,
	rules: Pick<AgentRules, "input" | "panel">,
): string | null {
	const above = textRows(screen.lines, columnsOf(screen, rules)).slice(0, inputStart(screen.lines, rules));
	const status = rules.input?.status;
	const rows = status === undefined ? above : above.filter(({ text }) => !patternOf(status).test(text));
	const texts = rows.map(({ text }) => stillText([text]).replace(/\s+/g, " ").trim().replace(BULLET, ""));
	return texts.findLast((text) => /[\p{L}\p{N}]/u.test(text)) ?? null;
}

/** The row in which the input begins; the number of rows if the input is not on the screen. */
function inputStart(lines: readonly string[], { input }: Pick<AgentRules, "input">): number {
	if (!input) return lines.length;
	const [mark, end] = [patternOf(input.mark), patternOf(input.end)];
	const below = lines.findLastIndex((line) => end.test(line));
	const from = lines.slice(0, Math.max(0, below)).findLastIndex((line) => mark.test(line));
	return from < 0 ? lines.length : from;
}
