/** What fronts see of a session, wherever it lives: in this process, in a keeper, or, once that is gone, on disk. */

import type { Act, ActOptions, Receipt, TypedWhole } from "./act.ts";
import type { CommandNews } from "./command-events.ts";
import type { Item, Mark, Size, Start } from "./event.ts";
import type { Inspection } from "./inspection.ts";
import type { Lease } from "./lease.ts";
import type { Command, KillOptions, TerminalState } from "./process.ts";
import type { Pulse } from "./pulse.ts";
import type { RunAnswer, RunRequest } from "./run.ts";
import type { ScanState } from "./scan.ts";
import type { ShellCommand } from "./shell-marks.ts";
import type { State } from "./state.ts";
import type { ControlSince } from "./takeovers.ts";

/** How much of a session's past is kept. */
export type Retention = {
	readonly memoryBytes: number;
	/** Zero keeps no journal. */
	readonly journalBytes: number;
};

/**
 * What decides a terminal's size while several are attached to it: whoever attached, typed or changed its own size last;
 * the smallest of all; nobody, for it stays as it is; only whoever resizes the session itself.
 */
export type SizePolicy = "latest" | "smallest" | "fixed" | "manual";

/** `#rrggbb` each. */
export type TerminalColors = { readonly foreground?: string; readonly background?: string };

/** What was asked for when the session was created. Nothing of it changes but its name. */
export type SessionSpec = {
	readonly id: string;
	readonly name: string | null;
	readonly labels: Readonly<Record<string, string>>;
	readonly workspace: string;
	/** Of the workspace, that it was started for. */
	readonly task?: string;
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly mode: "pty" | "pipe";
	/** Of the terminal when the program was started; older records do not say it. */
	readonly firstSize?: Size;
	/** Of that terminal, at its start; `latest`, when left out. */
	readonly firstSizePolicy?: SizePolicy;
	readonly durable: boolean;
	readonly retention: Retention;
	/** The program is ended after this long; zero means never. */
	readonly timeoutMs: number;
	/** How long it may take to end then; the usual grace when left out, and zero gives it none. */
	readonly timeoutGraceMs?: number;
	/** The program is ended after this long without a byte of output or of accepted input; zero means never. */
	readonly idleTimeoutMs: number;
	/** Whether it answers what its program asks the terminal, while no attached terminal does; not, when left out. */
	readonly answersQueries?: boolean;
	/** What it says then of the terminal's colours; light on dark, when left out. */
	readonly colors?: TerminalColors;
	/** A terminal is about to attach that answers from the first byte on; it is waited for, but not for long. */
	readonly awaitsTerminal?: boolean;
	/** Whether a shell that it starts is made to mark its prompts and commands; not, when left out. */
	readonly shellHooks?: boolean;
	/** A terminal with a job of its shell in the foreground is not idle; of no effect on pipes. */
	readonly idleExemptJobs?: boolean;
	/** Whether nothing that its program writes is lost before the first reader that holds the log from its start, as if that had been there. */
	readonly holdOutput?: boolean;
	readonly createdAt: number;
	/** Digests of the key with which it was asked for, and of what was asked, by which a repeat is recognised. */
	readonly request?: { readonly key: string; readonly body: string };
};

/** A spec together with how to start its program; the environment goes no further than the process. */
export type SessionStart = { readonly spec: SessionSpec; readonly command: Command };

export type SessionInfo = SessionSpec &
	State & {
		readonly pid: number | null;
		/** The oldest output byte that can be read, and the one that comes next. */
		readonly offsets: { readonly oldest: number; readonly end: number };
		/** How many cursors read it now. */
		readonly attachments: number;
		readonly lease: Lease;
		/** When the last byte came or went; not known of what ended before this server, and from keepers of an older version. */
		readonly activeAt?: number;
		readonly terminal: TerminalState | null;
		/** Not told by keepers of an older version, and of what has ended. */
		readonly sizePolicy?: SizePolicy;
		/** Whoever keeps it does not answer now: all this is what was last known. */
		readonly unreachable?: true;
	};

export type FollowOptions = {
	/** Ends the iteration, without an error, at the next item. */
	readonly signal?: AbortSignal;
	/** A lossless cursor holds the log and can pause the program; a live one is moved forward over a gap instead. */
	readonly flow?: "lossless" | "live";
	/** For a cursor that many others stand behind: the program waits for it for moments, instead of running far ahead. */
	readonly isPaced?: boolean;
	/** A reader of our own, which nobody has attached: it is not counted. */
	readonly isOwn?: boolean;
};

/** What a session knows besides what was asked for at its creation. */
export type SessionDetails = Omit<SessionInfo, keyof SessionSpec>;

/**
 * Everything that can be asked of a session and is answered once. A new row makes the compiler ask for its answer
 * wherever sessions live, and nothing else: the link to a keeper carries any question.
 */
export type Operations = {
	info: { readonly asks: unknown; readonly answer: SessionDetails };
	/** Where the next event will stand. */
	end: { readonly asks: unknown; readonly answer: Mark };
	/** What the output of a terminal says about it, up to now; `unsupported` on pipes, and by keepers that are older. */
	scan: { readonly asks: unknown; readonly answer: ScanState };
	/** Who answers what the program asks its terminal from now on, that is in output that ends after `from`. */
	replies: {
		readonly asks: { readonly by: Replier };
		/** `ownFrom` is where the session began to answer because whoever had a terminal do so was lost; older keepers do not say it. */
		readonly answer: { readonly from: number; readonly ownFrom?: number };
	};
	/**
	 * Resolves when the program asks where its cursor is, in output after `after`, and a `reply` would be typed; with null
	 * when nobody waits for that any more. Keepers that are older do not know it.
	 */
	untilCursorAsked: { readonly asks: { readonly after: number }; readonly answer: CursorQuery | null };
	/** The answer to one query, by somebody who knows the screen; false if it is not waited for. */
	reply: { readonly asks: { readonly end: number; readonly text: string }; readonly answer: boolean };
	/** Resolves when a full-screen program has drawn much after `after`, with false when it will not; `unsupported` on pipes, and by keepers that are older. */
	untilMuchDrawn: { readonly asks: { readonly after: number }; readonly answer: boolean };
	setSizePolicy: { readonly asks: { readonly policy: SizePolicy }; readonly answer: null };
	act: { readonly asks: { readonly act: Act; readonly options: ActOptions }; readonly answer: Receipt };
	/** The same, if the program waits for it where the output ends at `at`; `not_waiting` else, and nothing was done. */
	actIfWaiting: {
		readonly asks: { readonly act: Act; readonly at: number; readonly options: ActOptions };
		readonly answer: Receipt;
	};
	/**
	 * Types a line that nobody may see, while the program reads one without showing it; `not_waiting` else, and nothing
	 * was typed. From then on it is masked in the output.
	 */
	secret: {
		readonly asks: SecretQuestion & { readonly bytes: Uint8Array; readonly options: ActOptions };
		readonly answer: Receipt;
	};
	/** How far an input stream is now. */
	receipt: { readonly asks: { readonly stream: string }; readonly answer: Receipt };
	/** Nobody will come back to this stream, so that no repeat of it need be recognised. */
	forgetStream: { readonly asks: { readonly stream: string }; readonly answer: null };
	acquire: {
		readonly asks: { readonly holder: string; readonly exclusive: boolean; readonly take: boolean };
		readonly answer: Lease;
	};
	release: { readonly asks: { readonly fence: number }; readonly answer: Lease };
	leaseChange: { readonly asks: { readonly known: Lease }; readonly answer: Lease };
	/** What others had of control since the caller's last call; a repeat of a call is told the same. */
	controlSince: { readonly asks: { readonly caller: string; readonly call: string }; readonly answer: ControlSince };
	kill: { readonly asks: { readonly options: KillOptions }; readonly answer: null };
	/** Runs a command in the shell that the session is, or goes on waiting for one; see `shell-runner.ts`. */
	run: { readonly asks: RunRequest; readonly answer: RunAnswer };
	/** The newest commands of its shell, as far as the shell marks them. */
	commands: { readonly asks: unknown; readonly answer: ShellCommands };
	/** How its output has come lately, once something came or went after that count; at once, without one. */
	pulse: { readonly asks: { readonly after: number | null }; readonly answer: Pulse };
	/** Commands that begin and end from now on, if none are known, or after so many. */
	commandNews: { readonly asks: { readonly known: number | null }; readonly answer: CommandNews };
	inspect: { readonly asks: unknown; readonly answer: Inspection };
	untilWaiting: { readonly asks: { readonly after: number }; readonly answer: Inspection };
};

/** Which question a secret is for; whichever is asked now, if nothing is said. */
export type SecretQuestion = {
	/** Where the output ended that asks it. If a line was typed there since, this is not enough to know it by. */
	readonly at?: number | undefined;
	/** In which episode it was asked (see `Inspection`): by the same program, which has not gone on since. Keepers that are older do not heed it. */
	readonly episode?: number | undefined;
};

/** Who answers what a program asks its terminal. */
export type Replier = "session" | "terminal";

/** Where it ends, and whether it is `CSI ? 6 n`, which is answered with a question mark as well. */
export type CursorQuery = {
	readonly end: number;
	readonly isExtended: boolean;
	/** Up to there nothing came after it but other questions, which move nothing; not told by keepers that are older. */
	readonly unmovedTo?: number;
};

/** A part of the output in which the session itself has answered, though a terminal was to: it could not be reached. */
export type OwnReplies = { readonly from: number; readonly to: number };

/** `isProven` if only our own hooks are believed; else anybody may have printed such marks. */
export type ShellCommands = { readonly commands: readonly ShellCommand[]; readonly isProven: boolean };

export type Operation = keyof Operations;

export type Question<Name extends Operation = Operation> = {
	[Key in Name]: { readonly do: Key } & Operations[Key]["asks"];
}[Name];

/** How a place where sessions live answers each question. */
export type Answers = {
	readonly [Name in Operation]: (
		question: Question<Name>,
		signal: AbortSignal | undefined,
	) => Promise<Operations[Name]["answer"]>;
};

/** Looks the answer up; the question's name and its fields belong together by their type. */
export function answer<Name extends Operation>(
	answers: Answers,
	question: Question<Name>,
	signal?: AbortSignal,
): Promise<Operations[Name]["answer"]> {
	return answers[question.do as Name](question, signal);
}

/** A session, wherever it lives: what it is, one way to ask it, and two streams to follow. */
export abstract class Session {
	#spec: SessionSpec;

	constructor(spec: SessionSpec) {
		this.#spec = spec;
	}

	get spec(): SessionSpec {
		return this.#spec;
	}

	/** For this process; `Sessions.rename` is what lasts. */
	rename(name: string | null): void {
		this.#spec = { ...this.#spec, name };
	}

	get id(): string {
		return this.spec.id;
	}

	/** Whether what is done through this may have to be approved first, which can take long. */
	get isGated(): boolean {
		return false;
	}

	/** As far as it is known here: never ahead of what a cursor yields, and behind it for moments only. */
	abstract get state(): State;
	/** Calls back in the same turn as `state` changes, until the returned function is called. */
	abstract watch(listener: (state: State) => void): () => void;
	/** Everything from `start` on, then what happens, until the log's last event. Ends early only by the signal, or by an error for a lossless cursor that stood still at the bound. */
	abstract follow(start: Start, options?: FollowOptions): AsyncIterable<Item>;
	/**
	 * How far an input stream is now, and again whenever that has changed or there is room after there was none;
	 * several changes may become one. Ends when nothing will be written any more, or by the signal. The
	 * stream is not forgotten meanwhile.
	 */
	abstract receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt>;
	/** The signal ends the wait of a question that is answered by a change. */
	abstract ask<Name extends Operation>(
		question: Question<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]>;

	/** Soon, in any case: whoever keeps it and does not answer for that long is `unreachable`, and what was last known is told. */
	async info(_patienceMs?: number): Promise<SessionInfo> {
		return { ...this.spec, ...(await this.ask<"info">({ do: "info" })) };
	}

	end(): Promise<Mark> {
		return this.ask<"end">({ do: "end" });
	}

	scan(): Promise<ScanState> {
		return this.ask<"scan">({ do: "scan" });
	}

	/**
	 * Has somebody else answer what the program asks its terminal, from the place on with which it resolves. While a
	 * terminal is to, `onOwn` hears of each part in which the session has done so, before anybody can follow what is in it.
	 */
	async handReplies(by: Replier, _onOwn: (part: OwnReplies) => void): Promise<number> {
		return (await this.ask<"replies">({ do: "replies", by })).from;
	}

	/** The signal ends the wait, with false. */
	untilMuchDrawn(after: number, signal?: AbortSignal): Promise<boolean> {
		return this.ask<"untilMuchDrawn">({ do: "untilMuchDrawn", after }, signal);
	}

	/** Accepts what fits the stream's window, in order; `next` says how far. Resolves on acceptance, not on writing. */
	act(act: Act, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"act">({ do: "act", act, options });
	}

	/** This session, for acts that are the parts of one text: where a gate holds that, none of it is typed before. */
	inParts(_whole: TypedWhole): Session {
		return this;
	}

	/** An answer to what the program asked up to that place of the output: it asks nothing else, and nobody else has answered. */
	actIfWaiting(act: Act, at: number, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"actIfWaiting">({ do: "actIfWaiting", act, at, options });
	}

	/** The line without its end; see `Operations`. Whoever has these bytes should forget them then. */
	secret(bytes: Uint8Array, question: SecretQuestion, options: ActOptions = {}): Promise<Receipt> {
		return this.ask<"secret">({ do: "secret", bytes, ...question, options });
	}

	receipt(stream: string): Promise<Receipt> {
		return this.ask<"receipt">({ do: "receipt", stream });
	}

	async forgetStream(stream: string): Promise<void> {
		await this.ask<"forgetStream">({ do: "forgetStream", stream });
	}

	/** Gets control: with `take` from whoever has it, else only if nobody has it exclusively. */
	acquire(holder: string, options: { readonly exclusive: boolean; readonly take: boolean }): Promise<Lease> {
		const { exclusive, take } = options;
		return this.ask<"acquire">({ do: "acquire", holder, exclusive, take });
	}

	/** Of no effect under an old fence. */
	release(fence: number): Promise<Lease> {
		return this.ask<"release">({ do: "release", fence });
	}

	/** Resolves with the lease once its fence or holder differs from what is given. */
	leaseChange(known: Lease, signal?: AbortSignal): Promise<Lease> {
		return this.ask<"leaseChange">({ do: "leaseChange", known }, signal);
	}

	controlSince(caller: string, call: string): Promise<ControlSince> {
		return this.ask<"controlSince">({ do: "controlSince", caller, call });
	}

	/** The signal ends the waiting, not the command. */
	run(request: RunRequest, signal?: AbortSignal): Promise<RunAnswer> {
		return this.ask<"run">({ do: "run", ...request }, signal);
	}

	commands(): Promise<ShellCommands> {
		return this.ask<"commands">({ do: "commands" });
	}

	/** How its output has come lately: now, or as soon as something came or went after what `count` of an earlier one says, or it has ended. */
	pulse(after: number | null = null, signal?: AbortSignal): Promise<Pulse> {
		return this.ask<"pulse">({ do: "pulse", after }, signal);
	}

	/** Resolves when a command of its shell has begun or ended after those that are known; at once if none are. */
	commandNews(known: number | null, signal?: AbortSignal): Promise<CommandNews> {
		return this.ask<"commandNews">({ do: "commandNews", known }, signal);
	}

	/** What its program does now, and what it waits for. */
	inspect(): Promise<Inspection> {
		return this.ask<"inspect">({ do: "inspect" });
	}

	/**
	 * Resolves once its program waits for somebody to type, in a later episode than `after`, or has ended; see
	 * `isWaiting`. Input that was accepted before this is asked has been read by then.
	 */
	untilWaiting(after: number, signal?: AbortSignal): Promise<Inspection> {
		return this.ask<"untilWaiting">({ do: "untilWaiting", after }, signal);
	}

	/** Ends the whole tree; resolves when nothing of it is left and the log is closed. */
	async kill(options: KillOptions = {}): Promise<void> {
		await this.ask<"kill">({ do: "kill", options });
	}
}
