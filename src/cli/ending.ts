/** How following a program ended, as an exit code and a sentence. */

import type { ExitMessage } from "../client/index.ts";
import { explain, LOST, reasonOf } from "./errors.ts";
import { codeOfSignal } from "./local-terminal.ts";
import { BROKEN_PIPE } from "./output.ts";

/** What cuts us off from a session. */
type Cause = "server" | "token" | "removal" | "detached" | "trouble";

export type Ending =
	| { readonly kind: "exited"; readonly exit: ExitMessage }
	/** The user left, or a signal made us leave; the program keeps running. */
	| { readonly kind: "left"; readonly signal: NodeJS.Signals | undefined }
	/** Nobody reads the program's output any more, so it was ended. */
	| { readonly kind: "unread" }
	/** What became of the program is not known, and never will be. */
	| { readonly kind: "lost"; readonly message: string }
	/** The session is as it was, but we have no way to it any more. */
	| { readonly kind: "cut"; readonly by: Cause; readonly message: string };

/** What an error makes of an attachment that was there; undefined when it is a bug of ours. */
export function cutBy(error: unknown): Ending | undefined {
	const explained = explain(error);
	if (!explained) return undefined;
	return { kind: "cut", by: causes[reasonOf(error) ?? ""] ?? "trouble", message: explained.sentence };
}

const causes: Readonly<Record<string, Cause>> = {
	conflict: "detached",
	node_unavailable: "server",
	unauthenticated: "token",
	permission_denied: "token",
	session_not_found: "removal",
};

export function exitCodeOf(ending: Ending): number {
	switch (ending.kind) {
		case "exited":
			return ending.exit.code ?? codeOfSignal(ending.exit.signal);
		case "left":
			return ending.signal === undefined ? 0 : codeOfSignal(ending.signal);
		case "unread":
			return BROKEN_PIPE;
		case "lost":
			return LOST;
		case "cut":
			return ending.by === "detached" ? 0 : LOST;
	}
}

/** What the user should know of it, with the session's name as the user knows it; nothing when the program simply ended. */
export function sentenceOf(ending: Ending, session: string): string | undefined {
	const comeBack = `hawser attach ${session}`;
	switch (ending.kind) {
		case "exited":
			return ending.exit.reason === undefined ? undefined : `the program was ended (${ending.exit.reason})`;
		case "left":
			return `the program keeps running in session ${session}; come back with: ${comeBack}`;
		case "unread":
			return "nobody reads the program's output any more, so it was ended (SIGPIPE), as a shell would have done";
		case "lost":
			return `session ${session} was lost: ${ending.message}`;
		case "cut":
			return cutSentences[ending.by](ending.message, session, comeBack);
	}
}

type Sentence = (message: string, session: string, comeBack: string) => string;

const cutSentences: Readonly<Record<Cause, Sentence>> = {
	detached: (message, session, comeBack) =>
		`${message}; the program keeps running in session ${session}; come back with: ${comeBack}`,
	server: (message, session, comeBack) =>
		`${message}; the program keeps running in session ${session}; once a server runs (hawser serve), come back with: ${comeBack}`,
	token: (message, session, comeBack) =>
		`${message}; the program keeps running in session ${session}; with a token that may use it, come back with: ${comeBack}`,
	removal: (_message, session) => `session ${session} was removed`,
	trouble: (message, session, comeBack) => `${message}; try again with: ${comeBack} (session ${session})`,
};
