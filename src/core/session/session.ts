/**
 * A session as services and fronts use it. It may run in this process, run in a keeper, or exist only as a journal on
 * disk.
 */

import type { Action, ActOptions, PromptIdentity, Receipt, SplitText } from "../input/action.ts";
import type { Inspection } from "../inspect/inspection.ts";
import type { OutputActivity } from "../inspect/output-activity.ts";
import type { FollowOptions } from "../log/cursor.ts";
import type { Item, LogPosition, Start } from "../log/event.ts";
import type { State } from "../log/session-state.ts";
import type { KillOptions } from "../process/process.ts";
import type { CommandEventPage } from "../shell/command-events.ts";
import type { RunOutcome, RunRequest } from "../shell/run-command.ts";
import type { HookReport } from "../terminal/program-status.ts";
import type { ReplySource, SelfReplyRange } from "../terminal/replies.ts";
import type { ScanState } from "../terminal/terminal-scan.ts";
import type { TerminalSignals } from "../terminal/terminal-signals.ts";
import type { Lease } from "./lease.ts";
import type { Operation, OperationRequest, Operations, ShellCommands } from "./operations.ts";
import type { SessionInfo, SessionSpec } from "./session-info.ts";
import type { ControlChanges } from "./takeovers.ts";

/** A session in a list. */
export type SessionSummary =
	/** `unreachable`: the keeper is not responding, and the other fields are the last known values. */
	| (SessionInfo & { readonly unreachable?: true })
	/**
	 * The keeper has not responded to this server yet, or the journal can't be read. Then the end of the output is
	 * unknown.
	 */
	| (Omit<SessionInfo, "offsets"> & { readonly offsets: null; readonly unreachable: true });

/** A session: its specification, its operations, and two streams to follow. */
export abstract class Session {
	#spec: SessionSpec;

	constructor(spec: SessionSpec) {
		this.#spec = spec;
	}

	get spec(): SessionSpec {
		return this.#spec;
	}

	/** Renames it in this process only. `Sessions.rename` stores the name. */
	rename(name: string | null): void {
		this.#spec = { ...this.#spec, name };
	}

	get id(): string {
		return this.spec.id;
	}

	/** Whether actions through this object may need approval, which can take long. */
	get isGated(): boolean {
		return false;
	}

	/**
	 * Resolves when the session has ended and none of its processes is left. Until then a kill may have something to end.
	 */
	abstract readonly gone: Promise<void>;
	/** The state as known here: never ahead of what a cursor yields, and at most briefly behind. */
	abstract get state(): State;
	/** Calls back synchronously when `state` changes. The returned function ends this. */
	abstract watch(listener: (state: State) => void): () => void;
	/**
	 * All events from `start` on, then new ones, until the last. Ends early when the signal aborts; a lossless cursor
	 * that stalls fails.
	 */
	abstract follow(start: Start, options?: FollowOptions): AsyncIterable<Item>;
	/**
	 * The receipt of an input stream, and again when it has changed or room is available again; several changes may be
	 * merged. Ends when no more input will be written, or when the signal aborts. The stream is not forgotten meanwhile.
	 */
	abstract receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt>;
	/** Performs an operation. The signal ends the wait of an operation that resolves on a change. */
	abstract ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]>;

	/**
	 * The session now, or its last known state if the keeper is slow. Rejects with `node_unavailable` if the keeper has
	 * never responded to this server, because readers take the end of the output from here.
	 */
	async info(): Promise<SessionInfo> {
		return { ...this.spec, ...(await this.ask<"info">({ do: "info" })) };
	}

	/** The same for a list, within a time and without that error: a session whose keeper is silent is `unreachable`. */
	summary(_timeoutMs?: number): Promise<SessionSummary> {
		return this.info();
	}

	end(): Promise<LogPosition> {
		return this.ask<"end">({ do: "end" });
	}

	scan(): Promise<ScanState> {
		return this.ask<"scan">({ do: "scan" });
	}

	/**
	 * Sets the side that replies to terminal queries from the resolved offset on. While a terminal does, `onOwn` is
	 * called for each range in which the session replied itself, before a reader can see that range.
	 */
	async delegateReplies(by: ReplySource, _onOwn: (part: SelfReplyRange) => void): Promise<number> {
		return (await this.ask<"replies">({ do: "replies", by })).from;
	}

	/** Resolves with false when the signal aborts. */
	untilRedrawDue(after: number, signal?: AbortSignal): Promise<boolean> {
		return this.ask<"untilRedrawDue">({ do: "untilRedrawDue", after }, signal);
	}

	/** Accepts the part that fits the stream's window; `next` says how far. Resolves on acceptance, not on writing. */
	act(action: Action, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"act">({ do: "act", act: action, options });
	}

	/**
	 * This session, for actions that are parts of one text. A gate that holds the text holds all parts before any is
	 * typed.
	 */
	inParts(_whole: SplitText): Session {
		return this;
	}

	/** Answers the prompt at this offset of the output, unless the program has moved on or was answered already. */
	actIfWaiting(action: Action, at: number, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"actIfWaiting">({ do: "actIfWaiting", act: action, at, options });
	}

	/** Types a secret line, given without its end; see `Operations`. The caller should overwrite the bytes afterwards. */
	secret(bytes: Uint8Array, question: PromptIdentity, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"secret">({ do: "secret", bytes, ...question, options });
	}

	receipt(stream: string): Promise<Receipt> {
		return this.ask<"receipt">({ do: "receipt", stream });
	}

	async forgetStream(stream: string): Promise<void> {
		await this.ask<"forgetStream">({ do: "forgetStream", stream });
	}

	/** Takes control: with `take` from any holder, otherwise only if no other client has exclusive control. */
	acquire(holder: string, options: { readonly exclusive: boolean; readonly take: boolean }): Promise<Lease> {
		const { exclusive, take } = options;
		return this.ask<"acquire">({ do: "acquire", holder, exclusive, take });
	}

	/** Has no effect under an old fence. */
	release(fence: number): Promise<Lease> {
		return this.ask<"release">({ do: "release", fence });
	}

	/** Resolves with the lease once its fence or holder differs from the given one. */
	leaseChange(known: Lease, signal?: AbortSignal): Promise<Lease> {
		return this.ask<"leaseChange">({ do: "leaseChange", known }, signal);
	}

	controlChanges(caller: string, call: string): Promise<ControlChanges> {
		return this.ask<"controlChanges">({ do: "controlChanges", caller, call });
	}

	/** The signal ends the wait, not the command. */
	run(request: RunRequest, signal?: AbortSignal): Promise<RunOutcome> {
		return this.ask<"run">({ do: "run", ...request }, signal);
	}

	commands(): Promise<ShellCommands> {
		return this.ask<"commands">({ do: "commands" });
	}

	/** The recent output activity: now, or with `after` once its count has changed or the session has ended. */
	outputActivity(after: number | null = null, signal?: AbortSignal): Promise<OutputActivity> {
		return this.ask<"outputActivity">({ do: "outputActivity", after }, signal);
	}

	/** Resolves when a command of its shell has begun or ended after the known ones; at once with null. */
	commandEvents(known: number | null, signal?: AbortSignal): Promise<CommandEventPage> {
		return this.ask<"commandEvents">({ do: "commandEvents", known }, signal);
	}

	/** The signs that programs give of their state: now, or with `after` once that has changed or the session has ended. */
	signals(after: number | null = null, signal?: AbortSignal): Promise<TerminalSignals> {
		return this.ask<"signals">({ do: "signals", after }, signal);
	}

	/** False if another program than the agent in this process group is in front. `unsupported` on pipes. */
	reportHook(report: HookReport, group: number): Promise<boolean> {
		return this.ask<"reportHook">({ do: "reportHook", report, group });
	}

	/** The program's current activity. */
	inspect(): Promise<Inspection> {
		return this.ask<"inspect">({ do: "inspect" });
	}

	/**
	 * Resolves when the program waits for input in a later episode than `after`, or has ended; see `isWaitingForInput`.
	 * Input accepted before the call has been read by then.
	 */
	untilWaiting(after: number, signal?: AbortSignal): Promise<Inspection> {
		return this.ask<"untilWaiting">({ do: "untilWaiting", after }, signal);
	}

	/** Ends the whole tree. Resolves when nothing of it is left and the log is closed. */
	async kill(options: KillOptions = {}): Promise<void> {
		await this.ask<"kill">({ do: "kill", options });
	}
}
