/** Classifies each operation for a caller with a gate: free, needs approval, or never allowed. */

import type { ActOptions } from "../input/action.ts";
import type { OperationRequest } from "../session/operations.ts";
import type { SessionSpec } from "../session/session-info.ts";

export type Typed = {
	/** The bytes that it types, or an equivalent. */
	readonly bytes: Uint8Array;
	readonly options: ActOptions;
	readonly isCommand: boolean;
};

export type Signal = {
	readonly signal: string;
	/** One unit of its stream, like every action that is not a write. */
	readonly bytes: Uint8Array;
	readonly options: ActOptions;
};

type RequiredApproval =
	| { readonly kind: "free" }
	/**
	 * Not judged, but it moves input streams, so it waits its turn among the actions that are judged by stream position.
	 */
	| { readonly kind: "ordered" }
	| { readonly kind: "refused"; readonly what: string }
	| ({ readonly kind: "typed" } & Typed)
	| ({ readonly kind: "signal" } & Signal)
	| { readonly kind: "stop" };

const free: RequiredApproval = { kind: "free" };
const ordered: RequiredApproval = { kind: "ordered" };

/** Exhaustive: adding an operation is a compile error until it is classified here. */
export function requiredApproval(request: OperationRequest, { mode }: SessionSpec): RequiredApproval {
	switch (request.do) {
		case "act":
		case "actIfWaiting": {
			const { act, options } = request;
			if (act.kind === "write") return { kind: "typed", bytes: act.bytes, options, isCommand: false };
			if (act.kind === "eof") return { kind: "typed", bytes: endOfInput(mode), options, isCommand: false };
			if (act.kind === "resize") return ordered;
			return { kind: "signal", signal: act.signal, bytes: new Uint8Array(1), options };
		}
		case "run": {
			const { command, options } = request;
			if (typeof command === "number") return free;
			return { kind: "typed", bytes: encode(`${command}\r`), options, isCommand: true };
		}
		case "kill":
			// The timeout was part of the start.
			return request.options.reason === "timeout" ? free : { kind: "stop" };
		case "secret":
			return { kind: "refused", what: "type secrets" };
		case "reply":
			return { kind: "refused", what: "reply for the terminal" };
		case "reportHook":
			return { kind: "refused", what: "report for an agent" };
		case "forgetStream":
			return ordered;
		case "info":
		case "signals":
		case "end":
		case "scan":
		case "replies":
		case "untilCursorAsked":
		case "untilRedrawDue":
		case "setSizePolicy":
		case "receipt":
		case "acquire":
		case "release":
		case "leaseChange":
		case "controlChanges":
		case "commands":
		case "outputActivity":
		case "commandEvents":
		case "inspect":
		case "untilWaiting":
			return free;
	}
}

/** Signals that do not end a program by themselves. INT is ^C, which interrupts and does not stop. */
const HARMLESS_SIGNALS = new Set(["INT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"]);

export function isEndingSignal(signal: string): boolean {
	return !HARMLESS_SIGNALS.has(signal.toUpperCase().replace(/^SIG/, ""));
}

/** The equivalent of typing ^D. A program that reads from a pipe gets its unfinished line then. */
function endOfInput(mode: SessionSpec["mode"]): Uint8Array {
	return encode(mode === "pty" ? "\x04" : "\n");
}

function encode(text: string): Uint8Array {
	return new TextEncoder().encode(text);
}
