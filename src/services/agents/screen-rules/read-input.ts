/** Reads the text that is typed into an agent's input and not submitted. */

import type { AgentRules } from "./format.ts";
import { patternOf } from "./patterns.ts";
import type { AgentScreen } from "./read-screen.ts";

/** Rows of an input above and below its cursor. */
const MAX_ROWS = 30;
/** Characters that may be two columns wide. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u;

/** The text before the cursor; null if the input is not on the screen. The text after the cursor may be a placeholder. */
export function readAgentInput({ lines, cursor }: AgentScreen, { input }: AgentRules): string | null {
	if (!input) return null;
	const mark = patternOf(input.mark);
	let from = cursor.row;
	while (from > cursor.row - MAX_ROWS && !mark.test(lines[from] ?? "")) if (--from < 0) return null;
	const begin = mark.exec(lines[from] ?? "");
	const below = lines.slice(cursor.row + 1, cursor.row + 1 + MAX_ROWS);
	if (!begin || !below.some((line) => patternOf(input.end).test(line))) return null;
	const rows = lines.slice(from, cursor.row + 1);
	const last = rows.at(-1) ?? "";
	const typed = [...rows.slice(0, -1), WIDE.test(last) ? last : last.slice(0, cursor.col)];
	const [first = "", ...more] = typed;
	return [first.slice(begin[0].length), ...more.map((line) => line.replace(mark, ""))].join("\n").trim();
}
