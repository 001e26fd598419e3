/**
 * Prevents a terminal from answering a program's queries.
 *
 * An answer is input, so only one may be sent, and viewing must not change a session. The session answers itself.
 */

import type { IFunctionIdentifier, Terminal } from "@xterm/xterm";

const CSI_QUESTIONS: readonly IFunctionIdentifier[] = [
	// Identity (DA1, DA2, DA3, XTVERSION), status and cursor position (DSR), and modes (DECRQM).
	{ final: "c" },
	{ prefix: ">", final: "c" },
	{ prefix: "=", final: "c" },
	{ prefix: ">", final: "q" },
	{ final: "n" },
	{ prefix: "?", final: "n" },
	{ intermediates: "$", final: "p" },
	{ prefix: "?", intermediates: "$", final: "p" },
	// Window sizes and other window operations.
	{ final: "t" },
];

/** Colors can be set as well as queried. */
const COLOR_COMMANDS = [4, 10, 11, 12];

export function suppressQueries({ parser }: Terminal): void {
	for (const question of CSI_QUESTIONS) parser.registerCsiHandler(question, () => true);
	parser.registerDcsHandler({ intermediates: "$", final: "q" }, () => true);
	for (const command of COLOR_COMMANDS) parser.registerOscHandler(command, (data) => data.includes("?"));
}
