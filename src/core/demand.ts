/** What each question to a session comes to for a caller with a gate: what has to be approved, and what is never done. */

import type { ActOptions } from "./act.ts";
import type { Question, SessionSpec } from "./session.ts";

export type Typed = {
	/** What it types, or is as good as typing. */
	readonly bytes: Uint8Array;
	readonly options: ActOptions;
	readonly isCommand: boolean;
};

export type Demand =
	| { readonly kind: "free" }
	| { readonly kind: "refused"; readonly what: string }
	| ({ readonly kind: "typed" } & Typed)
	| { readonly kind: "signal"; readonly signal: string; readonly bytes: Uint8Array; readonly options: ActOptions }
	| { readonly kind: "stop" };

const free: Demand = { kind: "free" };

/** Total by type: a new operation does not compile until it is said what it is. */
export function demandOf(question: Question, { mode }: SessionSpec): Demand {
	switch (question.do) {
		case "act":
		case "actIfWaiting": {
			const { act, options } = question;
			if (act.kind === "write") return { kind: "typed", bytes: act.bytes, options, isCommand: false };
			if (act.kind === "eof") return { kind: "typed", bytes: endOfInput(mode), options, isCommand: false };
			if (act.kind !== "signal") return free;
			// One unit of its stream, as every act that is not bytes.
			return { kind: "signal", signal: act.signal, bytes: new Uint8Array(1), options };
		}
		case "run": {
			const { command, options } = question;
			if (typeof command === "number") return free;
			return { kind: "typed", bytes: encode(`${command}\r`), options, isCommand: true };
		}
		case "kill":
			// Its time is over, which was asked for when it was started.
			return question.options.reason === "timeout" ? free : { kind: "stop" };
		case "secret":
			return { kind: "refused", what: "type secrets" };
		case "reply":
			return { kind: "refused", what: "answer for the terminal" };
		case "info":
		case "end":
		case "scan":
		case "replies":
		case "untilCursorAsked":
		case "untilMuchDrawn":
		case "setSizePolicy":
		case "receipt":
		case "forgetStream":
		case "acquire":
		case "release":
		case "leaseChange":
		case "controlSince":
		case "commands":
		case "pulse":
		case "commandNews":
		case "inspect":
		case "untilWaiting":
			return free;
	}
}

/** Signals that no program ends of unless it wants to; ^C, which is INT, is how one interrupts, and not how one stops. */
const HARMLESS_SIGNALS = new Set(["INT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"]);

export function endsPrograms(signal: string): boolean {
	return !HARMLESS_SIGNALS.has(signal.toUpperCase().replace(/^SIG/, ""));
}

/** What it is as good as typing: ^D; a program that reads from a pipe takes what it has of a line then. */
function endOfInput(mode: SessionSpec["mode"]): Uint8Array {
	return encode(mode === "pty" ? "\x04" : "\n");
}

function encode(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
