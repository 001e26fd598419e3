/**
 * Keeps a terminal from answering what the program asks it.
 *
 * An answer is typed, so only one may come, and pages that look at a session change nothing: the session answers itself.
 */

import type { IFunctionIdentifier, Terminal } from "@xterm/xterm";

const CSI_QUESTIONS: readonly IFunctionIdentifier[] = [
	// What it is (DA1, DA2, DA3, XTVERSION), how it is and where the cursor stands (DSR), and which modes are on (DECRQM).
	{ final: "c" },
	{ prefix: ">", final: "c" },
	{ prefix: "=", final: "c" },
	{ prefix: ">", final: "q" },
	{ final: "n" },
	{ prefix: "?", final: "n" },
	{ intermediates: "$", final: "p" },
	{ prefix: "?", intermediates: "$", final: "p" },
	// Sizes, and other things that are done to windows.
	{ final: "t" },
];

/** Colours: these are set as well as asked for. */
const COLOR_COMMANDS = [4, 10, 11, 12];

export function leaveUnanswered({ parser }: Terminal): void {
	for (const question of CSI_QUESTIONS) parser.registerCsiHandler(question, () => true);
	parser.registerDcsHandler({ intermediates: "$", final: "q" }, () => true);
	for (const command of COLOR_COMMANDS) parser.registerOscHandler(command, (data) => data.includes("?"));
}
