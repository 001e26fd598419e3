/** The operations of a session. They run in this process or travel over the link to a keeper. */

import type { SizePolicy } from "../../words/state.ts";
import type { Action, ActOptions, PromptIdentity, Receipt } from "../input/action.ts";
import type { Inspection } from "../inspect/inspection.ts";
import type { OutputActivity } from "../inspect/output-activity.ts";
import type { LogPosition } from "../log/event.ts";
import type { KillOptions } from "../process/process.ts";
import type { CommandEventPage } from "../shell/command-events.ts";
import type { RunOutcome, RunRequest } from "../shell/run-command.ts";
import type { ShellCommand } from "../shell/shell-marks.ts";
import type { HookReport } from "../terminal/program-status.ts";
import type { CursorQuery, ReplySource } from "../terminal/replies.ts";
import type { DelegatedReplies } from "../terminal/reply-delegation.ts";
import type { ScanState } from "../terminal/terminal-scan.ts";
import type { TerminalSignals } from "../terminal/terminal-signals.ts";
import type { Lease } from "./lease.ts";
import type { SessionDetails } from "./session-info.ts";
import type { ControlChanges } from "./takeovers.ts";

/**
 * Requests to a session that have one response. A new row makes the compiler ask for a handler wherever sessions run,
 * and needs nothing else: the link to a keeper carries any operation.
 */
export type Operations = {
	info: { readonly asks: unknown; readonly answer: SessionDetails };
	/** Position of the next event. */
	end: { readonly asks: unknown; readonly answer: LogPosition };
	/** The terminal's state up to now; `unsupported` on pipes. */
	scan: { readonly asks: unknown; readonly answer: ScanState };
	/** The signs that programs give of their state, once `count` differs from `after`; at once if that is null. */
	signals: { readonly asks: { readonly after: number | null }; readonly answer: TerminalSignals };
	/** A report of a hook of the agent in this process group. False if another program is in front. */
	reportHook: { readonly asks: { readonly report: HookReport; readonly group: number }; readonly answer: boolean };
	/** Sets the side that replies to terminal queries in output after `from`. */
	replies: {
		readonly asks: { readonly by: ReplySource };
		readonly answer: DelegatedReplies;
	};
	/**
	 * Resolves when the program queries the cursor position in output after `after` and a `reply` would be typed; with
	 * null when the wait is over.
	 */
	untilCursorAsked: { readonly asks: { readonly after: number }; readonly answer: CursorQuery | null };
	/** A client's reply to one query. False if the program no longer waits for it. */
	reply: { readonly asks: { readonly end: number; readonly text: string }; readonly answer: boolean };
	/**
	 * Resolves with true when a full-screen program has written much after `after`, with false at its end; `unsupported`
	 * on pipes.
	 */
	untilRedrawDue: { readonly asks: { readonly after: number }; readonly answer: boolean };
	setSizePolicy: { readonly asks: { readonly policy: SizePolicy }; readonly answer: null };
	act: { readonly asks: { readonly act: Action; readonly options: ActOptions }; readonly answer: Receipt };
	/**
	 * The same, if the program waits for input and its output ends at `at`. Otherwise `not_waiting`, and nothing was
	 * done.
	 */
	actIfWaiting: {
		readonly asks: { readonly act: Action; readonly at: number; readonly options: ActOptions };
		readonly answer: Receipt;
	};
	/**
	 * Types a secret line while the program reads one without echo, and masks it in the output from then on. Otherwise
	 * `not_waiting`, and nothing was typed.
	 */
	secret: {
		readonly asks: PromptIdentity & { readonly bytes: Uint8Array; readonly options: ActOptions };
		readonly answer: Receipt;
	};
	/** The progress of an input stream. */
	receipt: { readonly asks: { readonly stream: string }; readonly answer: Receipt };
	/** Forgets a stream that will not be used again, so that retries of it need not be recognized. */
	forgetStream: { readonly asks: { readonly stream: string }; readonly answer: null };
	acquire: {
		readonly asks: { readonly holder: string; readonly exclusive: boolean; readonly take: boolean };
		readonly answer: Lease;
	};
	release: { readonly asks: { readonly fence: number }; readonly answer: Lease };
	leaseChange: { readonly asks: { readonly known: Lease }; readonly answer: Lease };
	/** Takeovers by others since the caller's last call. A retry of a call gets the same answer. */
	controlChanges: {
		readonly asks: { readonly caller: string; readonly call: string };
		readonly answer: ControlChanges;
	};
	kill: { readonly asks: { readonly options: KillOptions }; readonly answer: null };
	/** Runs a command in the session's shell, or continues to wait for one; see `shell-runner.ts`. */
	run: { readonly asks: RunRequest; readonly answer: RunOutcome };
	/** The most recent commands of its shell, if the shell marks them. */
	commands: { readonly asks: unknown; readonly answer: ShellCommands };
	/** The recent output activity, once `count` exceeds `after`; at once if that is null. */
	outputActivity: { readonly asks: { readonly after: number | null }; readonly answer: OutputActivity };
	/** Commands that begin and end after the known count; with null, the current count. */
	commandEvents: { readonly asks: { readonly known: number | null }; readonly answer: CommandEventPage };
	inspect: { readonly asks: unknown; readonly answer: Inspection };
	untilWaiting: { readonly asks: { readonly after: number }; readonly answer: Inspection };
};

export type ShellCommands = {
	readonly commands: readonly ShellCommand[];
	/** True with our own hooks. Without them any program may have printed the marks. */
	readonly isProven: boolean;
	/** The newest command has ended, but the shell may still report its text and directory. */
	readonly isNewestUnfinished?: boolean;
};

export type Operation = keyof Operations;

export type OperationRequest<Name extends Operation = Operation> = {
	[Key in Name]: { readonly do: Key } & Operations[Key]["asks"];
}[Name];

/** A handler per operation. */
export type OperationHandlers = {
	readonly [Name in Operation]: (
		request: OperationRequest<Name>,
		signal: AbortSignal | undefined,
	) => Promise<Operations[Name]["answer"]>;
};

/** Calls the handler. Its request type is the one of its name. */
export function handleOperation<Name extends Operation>(
	handlers: OperationHandlers,
	request: OperationRequest<Name>,
	signal?: AbortSignal,
): Promise<Operations[Name]["answer"]> {
	return handlers[request.do as Name](request, signal);
}
