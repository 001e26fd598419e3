/** How following a program ended, as an exit code and a sentence. */

import type { ExitMessage } from "../client/index.ts";
import { LOST } from "./errors.ts";
import { codeOfSignal } from "./local-terminal.ts";

export type Ending =
	| { readonly kind: "exited"; readonly exit: ExitMessage }
	/** The user left, or a signal made us leave; the program runs on. */
	| { readonly kind: "left"; readonly signal: NodeJS.Signals | undefined }
	/** The session, or the way to it, is gone for good. */
	| { readonly kind: "lost"; readonly message: string };

export function exitCodeOf(ending: Ending): number {
	switch (ending.kind) {
		case "exited":
			return ending.exit.code ?? codeOfSignal(ending.exit.signal);
		case "left":
			return ending.signal === undefined ? 0 : codeOfSignal(ending.signal);
		case "lost":
			return LOST;
	}
}

/** What the user should know of it; nothing when the program simply ended. */
export function sentenceOf(ending: Ending, id: string): string | undefined {
	switch (ending.kind) {
		case "exited":
			return ending.exit.reason === undefined ? undefined : `the program was ended (${ending.exit.reason})`;
		case "left":
			return `the program runs on in session ${id}; come back with: hawser attach ${id}`;
		case "lost":
			return `session ${id} was lost: ${ending.message}`;
	}
}
