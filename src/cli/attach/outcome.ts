/** How an attachment ended, as an exit code and a message. */

import type { ExitMessage } from "../../client/index.ts";
import { EXIT_CONNECTION_LOST, errorCode, toUserError } from "../print/errors.ts";
import { BROKEN_PIPE } from "../print/output.ts";
import { signalExitCode } from "../terminal/local-terminal.ts";

/** Reasons why a session can't be reached. */
type DisconnectCause = "server" | "token" | "removal" | "detached" | "trouble";

export type Outcome =
	| { readonly kind: "exited"; readonly exit: ExitMessage }
	/** The user detached, or a signal ended this command; the program keeps running. */
	| { readonly kind: "left"; readonly signal: NodeJS.Signals | undefined }
	/** Our stdout was closed, so the program was ended. */
	| { readonly kind: "output-closed" }
	/** The program's exit status is unknown. */
	| { readonly kind: "lost"; readonly message: string }
	/** The session is unchanged, but this command lost its connection. */
	| { readonly kind: "disconnected"; readonly by: DisconnectCause; readonly message: string };

/** The outcome for an error of an open attachment; undefined for an internal error. */
export function disconnectedOutcome(error: unknown): Outcome | undefined {
	const explained = toUserError(error);
	if (!explained) return undefined;
	return { kind: "disconnected", by: causes[errorCode(error) ?? ""] ?? "trouble", message: explained.message };
}

const causes: Readonly<Record<string, DisconnectCause>> = {
	conflict: "detached",
	node_unavailable: "server",
	unauthenticated: "token",
	permission_denied: "token",
	session_not_found: "removal",
};

export function exitCodeOf(ending: Outcome): number {
	switch (ending.kind) {
		case "exited":
			return ending.exit.code ?? signalExitCode(ending.exit.signal);
		case "left":
			return ending.signal === undefined ? 0 : signalExitCode(ending.signal);
		case "output-closed":
			return BROKEN_PIPE;
		case "lost":
			return EXIT_CONNECTION_LOST;
		case "disconnected":
			return ending.by === "detached" ? 0 : EXIT_CONNECTION_LOST;
	}
}

/** The message for the user; undefined if the program exited normally. `session` is the name that the user typed. */
export function outcomeMessage(ending: Outcome, session: string): string | undefined {
	const reattach = `hawser attach ${session}`;
	switch (ending.kind) {
		case "exited":
			return ending.exit.reason === undefined ? undefined : `the program was killed (${ending.exit.reason})`;
		case "left":
			return `detached; reattach with: ${reattach}`;
		case "output-closed":
			return "output closed; the program was ended with SIGPIPE";
		case "lost":
			return `session ${session} was lost: ${ending.message}`;
		case "disconnected":
			return disconnectMessages[ending.by](ending.message, session, reattach);
	}
}

type DisconnectMessage = (message: string, session: string, reattach: string) => string;

const disconnectMessages: Readonly<Record<DisconnectCause, DisconnectMessage>> = {
	detached: (message, _session, reattach) => `${message}; the program keeps running; reattach with: ${reattach}`,
	server: (message, _session, reattach) =>
		`${message}; the program keeps running; start a server (hawser serve) and reattach with: ${reattach}`,
	token: (message, _session, reattach) =>
		`${message}; the program keeps running; with a valid token, reattach with: ${reattach}`,
	removal: (_message, session) => `session ${session} was removed`,
	trouble: (message, _session, reattach) => `${message}; retry with: ${reattach}`,
};
