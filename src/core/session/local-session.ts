/** A session in this process: a log, and the process that writes to it. */

import type { Size, SizePolicy } from "../../words/state.ts";
import type { Clock } from "../async/clock.ts";
import { Listeners } from "../async/listeners.ts";
import { SessionError } from "../errors.ts";
import type { Receipt } from "../input/action.ts";
import { type Inspection, NO_OUTPUT_CONTEXT, outputContext } from "../inspect/inspection.ts";
import { Inspector } from "../inspect/inspector.ts";
import { type OutputActivity, OutputActivityCounter } from "../inspect/output-activity.ts";
import type { Archive } from "../log/archive.ts";
import type { FollowOptions } from "../log/cursor.ts";
import { type Cursor, follow, type Hold } from "../log/cursor.ts";
import type { Fact, Start } from "../log/event.ts";
import { Log } from "../log/log.ts";
import { readTail } from "../log/output-tail.ts";
import { advance, initialState, isEnded, type State } from "../log/session-state.ts";
import { checkSize, type KillOptions, type Process, type Spawn } from "../process/process.ts";
import type { ProcessSnapshot } from "../process/process-snapshot.ts";
import { MaskedOutput } from "../secrets/output-mask.ts";
import { noShellError } from "../shell/plain-shell.ts";
import type { RunOutcome, RunRequest } from "../shell/run-command.ts";
import type { ShellCommand } from "../shell/shell-marks.ts";
import { startsShell } from "../shell/shell-prompt.ts";
import { type ShellHooks, ShellRunner } from "../shell/shell-runner.ts";
import type { StatusRecord } from "../terminal/program-status.ts";
import { RedrawTrigger } from "../terminal/redraw-due.ts";
import { TerminalReplies } from "../terminal/replies.ts";
import { AWAITED_MS, ReplyDelegation } from "../terminal/reply-delegation.ts";
import type { Skim } from "../terminal/skim.ts";
import { noTerminalError } from "../terminal/terminal-scan.ts";
import { SignalCollector, type TerminalSignals } from "../terminal/terminal-signals.ts";
import { IdleWatch } from "./idle-timeout.ts";
import { type Lease, WriterLease } from "./lease.ts";
import {
	handleOperation,
	type Operation,
	type OperationHandlers,
	type OperationRequest,
	type Operations,
} from "./operations.ts";
import { Session } from "./session.ts";
import type { SessionDetails, SessionStart } from "./session-info.ts";
import { SessionInput } from "./session-input.ts";
import { TakeoverHistory } from "./takeovers.ts";

/** Number of a session's first event. */
const FIRST_SEQ = 1;
/** The DEC mode of bracketed paste. */
const BRACKETED_PASTES = "2004";
type LocalSessionOptions = {
	readonly spawn: Spawn;
	readonly clock: Clock;
	/** A faster scan for terminals with much output. */
	readonly skim?: Skim | undefined;
	readonly archive?: Archive | undefined;
	/** Timeout of a reader that the program waits for. Defaults to the log's. */
	readonly stallMs?: number | undefined;
	/** Shared by all sessions of a process. Defaults to its own. */
	readonly idle?: IdleWatch;
	/** Set for a shell that was started with hooks. */
	readonly shellHooks?: ShellHooks | undefined;
	/** Reports internal errors, and a program that can't be ended. */
	readonly onFailure?: (error: unknown) => void;
};

export class LocalSession extends Session {
	readonly log: Log;
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	readonly #clock: Clock;
	readonly #lease = new WriterLease();
	readonly #takeovers = new TakeoverHistory({
		end: () => this.log.end.offset,
		commandsIn: (from, to) =>
			this.#shell?.commands.filter((command) => command.from >= from && command.from < to).length ?? 0,
	});
	readonly #input: SessionInput;
	readonly #watchers = new Listeners<State>();
	readonly #masked: MaskedOutput;
	readonly #idle: IdleWatch;
	readonly #inspector: Inspector;
	readonly #outputActivity: OutputActivityCounter;
	readonly #onFailure: ((error: unknown) => void) | undefined;
	readonly #answers: OperationHandlers = {
		info: async () => this.#details(),
		end: async () => this.log.end,
		scan: async () => {
			if (!this.#replies) throw noTerminalError();
			return this.#replies.scan.state;
		},
		signals: ({ after }, signal) => this.#readSignals(after, signal),
		reportHook: async ({ report, group }) => {
			if (!this.#replies) throw noTerminalError();
			return this.#signals.noteHook(report, group, this.log.end.offset);
		},
		replies: async ({ by }) => this.#delegation.hand(by),
		untilCursorAsked: async ({ after }, signal) => this.#replies?.untilCursorAsked(after, signal) ?? null,
		reply: async ({ end, text }) => this.#replies?.supply(end, text) ?? false,
		untilRedrawDue: async ({ after }, signal) => {
			if (!this.#redraws) throw noTerminalError();
			return this.#redraws.untilMuch(after, signal);
		},
		setSizePolicy: async ({ policy }) => {
			this.#sizePolicy = policy;
			return null;
		},
		act: async ({ act, options }) => this.#input.accept(act, options),
		actIfWaiting: ({ act, at, options }) => this.#input.acceptIfWaiting(act, at, options),
		secret: ({ bytes, options, ...question }) => this.#input.acceptSecret(bytes, question, options),
		receipt: async ({ stream }) => this.#input.queue.receipt(stream),
		forgetStream: async ({ stream }) => {
			this.#input.queue.forget(stream);
			return null;
		},
		acquire: async ({ holder, exclusive, take }) => this.#noted(this.#lease.acquire(holder, { exclusive, take })),
		release: async ({ fence }) => this.#noted(this.#lease.release(fence)),
		controlChanges: async ({ caller, call }) => ({
			fence: this.#lease.current.fence,
			takeovers: this.#takeovers.report(caller, call),
		}),
		leaseChange: ({ known }, signal) => this.#lease.differs(known, signal),
		kill: ({ options }) => this.#kill(options),
		run: (request, signal) => this.#runInShell(request, signal),
		commands: async () => ({
			commands: (this.#shell?.commands ?? []).map((command) => this.#hideCommand(command)),
			isProven: this.#isHooked,
			isNewestUnfinished: this.#state.exit === null && this.#shell?.isNewestUnfinished === true,
		}),
		outputActivity: ({ after }, signal) => this.#readActivity(after, signal),
		commandEvents: async ({ known }, signal) => {
			if (!this.#shell) throw noTerminalError();
			const { events, count } = await this.#shell.events.after(known, signal);
			return { events: events.map((event) => ({ ...event, command: this.#hideCommand(event.command) })), count };
		},
		inspect: async () => this.#hideInspection(await this.#inspector.inspect()),
		untilWaiting: async ({ after }, signal) => this.#hideInspection(await this.#inspector.untilWaiting(after, signal)),
	};
	/** Undefined on pipes. */
	readonly #replies: TerminalReplies | undefined;
	readonly #signals: SignalCollector;
	readonly #redraws: RedrawTrigger | undefined;
	readonly #delegation: ReplyDelegation;
	/** Holds the log for the first reader, until it comes or its time is over. */
	#firstReader: Hold | undefined;
	#sizePolicy: SizePolicy;
	readonly #shell: ShellRunner | undefined;
	readonly #isHooked: boolean;
	#process: Process | undefined;
	#isPaused = false;
	#state: State;
	#attachments = 0;
	/** Last activity by the monotonic clock, and by the wall clock. */
	#lastActivity: number;
	#activeAt: number;
	#lastOutput: number;
	/** Cancel the timeouts that would end the program. */
	readonly #deadlines: (() => void)[] = [];

	/** Starts the program. Rejects with `spawn_failed` if that fails. */
	static async start(start: SessionStart, options: LocalSessionOptions): Promise<LocalSession> {
		const session = new LocalSession(start, options);
		const running = await options.spawn(start.command, (fact) => session.#masked.report(fact));
		session.#run(running);
		return session;
	}

	private constructor(start: SessionStart, options: LocalSessionOptions) {
		super(start.spec);
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
		this.#clock = options.clock;
		this.#onFailure = options.onFailure;
		this.#idle = options.idle ?? new IdleWatch(options.clock);
		this.#state = initialState(start.command.size);
		this.#sizePolicy = start.spec.firstSizePolicy ?? "latest";
		this.#isHooked = options.shellHooks !== undefined;
		this.#signals = new SignalCollector({
			now: () => options.clock.now(),
			foreground: () => this.#process?.terminal()?.foreground ?? null,
		});
		if (start.spec.mode === "pty") {
			this.#replies = this.#createReplies(options.skim);
			this.#redraws = this.#createRedraws(this.#replies);
			this.#shell = this.#createShell(options.shellHooks);
		}
		this.#delegation = new ReplyDelegation({
			replies: this.#replies,
			mayAnswer: start.spec.answersQueries === true,
			isAwaiting: start.spec.awaitsTerminal === true,
			end: () => this.log.end.offset,
		});
		this.#lastActivity = options.clock.monotonic();
		this.#activeAt = options.clock.now();
		this.#lastOutput = this.#lastActivity;
		this.#inspector = this.#createInspector();
		this.#outputActivity = new OutputActivityCounter(options.clock);
		this.#masked = new MaskedOutput({
			clock: options.clock,
			onFact: (fact) => this.#append(fact),
			catchUp: () => this.#process?.catchUp(),
		});
		this.#input = this.#createInput();
		this.log = new Log({
			clock: options.clock,
			memoryBytes: start.spec.retention.memoryBytes,
			archive: options.archive,
			stallMs: options.stallMs,
			onPressure: (isFull) => this.#setPaused(isFull),
		});
		if (start.spec.holdOutput) this.#firstReader = this.log.hold(FIRST_SEQ);
	}

	get state(): State {
		return this.#state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#watchers.add(listener);
	}

	follow(start: Start, options?: FollowOptions): Cursor {
		const counted = options?.isOwn ? 0 : 1;
		this.#attachments += counted;
		const pace = options?.isPaced ? this.log.pace() : undefined;
		const onClose = () => {
			this.#attachments -= counted;
			pace?.release();
		};
		const cursor = follow(this.log, start, { ...options, onClose, ...(pace ? { onReached: pace.reached } : {}) });
		// Release it only now that the cursor holds the log itself.
		if (options?.flow === "lossless" && isBeginning(start)) this.#firstReader?.release();
		return cursor;
	}

	receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt> {
		return this.#input.queue.receipts(stream, signal);
	}

	ask<Name extends Operation>(
		question: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		return handleOperation(this.#answers, question, signal);
	}

	/** The client that held control, or replied for the terminal, can't be reached any more. */
	abandon(): void {
		this.#lease.abandon();
		this.#takeovers.note(this.#lease.current);
		this.abandonReplies();
	}

	/** The client that replied for the terminal can't be reached, or must take over again. */
	abandonReplies(): void {
		this.#delegation.abandon();
	}

	#noted(lease: Lease): Lease {
		this.#takeovers.note(lease);
		return lease;
	}

	#createInput(): SessionInput {
		return new SessionInput({
			clock: this.#clock,
			lease: this.#lease,
			program: () => (isEnded(this.#state) ? undefined : this.#process),
			end: () => this.log.end.offset,
			inspect: () => this.#inspector.inspect(),
			untilWaiting: (after, signal) => this.#inspector.untilWaiting(after, signal),
			mask: (secret) => this.#masked.mask(secret),
			onActivity: () => this.#noteActivity(),
			onPerform: (action) => this.#shell?.noteAct(action),
			checkResize: (size) => this.#checkResize(size),
			onResized: (size) => this.#masked.report({ kind: "resized", size }),
			onFailure: this.#onFailure,
		});
	}

	#createReplies(skim: Skim | undefined): TerminalReplies {
		return new TerminalReplies({
			clock: this.#clock,
			isDelegated: this.spec.answersQueries !== true || this.spec.awaitsTerminal === true,
			size: () => this.#state.size,
			colors: this.spec.colors,
			terminal: () => (this.#state.status === "running" ? this.#process?.terminal() : undefined),
			isInputWaiting: () => this.#input.queue.isWaiting,
			type: (text) => this.#input.reply(text),
			onMark: (mark) => {
				this.#shell?.takeMark(mark);
				this.#signals.noteMark(mark);
			},
			onString: (text, place, terminator) => this.#signals.noteString(text, place, terminator),
			onReset: () => this.#signals.noteReset(),
			skim,
		});
	}

	#createRedraws({ scan }: TerminalReplies): RedrawTrigger {
		return new RedrawTrigger({
			end: () => this.log.end.offset,
			alternate: () => scan.alternate,
			isEnded: () => isEnded(this.#state),
		});
	}

	#createShell(hooks: ShellHooks | undefined): ShellRunner {
		return new ShellRunner({
			hooks,
			editedTo: () => this.#replies?.scan.pastesEndedAt ?? 0,
			clock: this.#clock,
			argv: this.spec.argv,
			turns: () => this.#input.turns,
			pid: () => this.#process?.pid,
			end: () => this.log.end.offset,
			tail: () => readTail(this.log),
			takesPastes: () => this.#replies?.scan.state.modes[BRACKETED_PASTES] === true,
			isLineMode: () => this.#process?.terminal()?.canonical === true,
			exit: () => (isEnded(this.#state) ? (this.#state.exit ?? { code: null }) : undefined),
			type: (bytes, options) => this.#input.acceptCommand(bytes, options),
			ask: (key) => this.#input.ask(key),
			interrupt: () => this.#input.interrupt(),
			receipt: (stream) => this.#input.queue.receipt(stream),
			isInputWaiting: () => this.#input.queue.isWaiting,
			untilInputTaken: (signal) => this.#input.queue.taken(this.#input.queue.accepted, signal),
			inspect: () => this.#inspector.inspect(),
			untilWaiting: (after, signal) => this.#inspector.untilWaiting(after, signal),
			onFailure: (error) => this.#onFailure?.(error),
		});
	}

	async #runInShell(request: RunRequest, signal: AbortSignal | undefined): Promise<RunOutcome> {
		if (!this.#shell) throw noShellError();
		if (typeof request.command === "string") this.#lease.check(request.options.fence);
		const answer = await this.#shell.run(request, signal);
		return this.#masked.hide({ ...answer, front: answer.front && this.#hideInspection(answer.front) }, ["cwd"]);
	}

	/**
	 * Masks a command. Its text comes from the request, or unquoted from a mark, so the output's masks did not cover it.
	 */
	#hideCommand(command: ShellCommand): ShellCommand {
		return this.#masked.hide(command, ["command", "cwd"]);
	}

	#hideInspection(found: Inspection): Inspection {
		return this.#masked.hide(found, ["program", "cwd"]);
	}

	#noteActivity(): void {
		this.#lastActivity = this.#clock.monotonic();
		this.#activeAt = this.#clock.now();
		this.#outputActivity.touch();
		this.#inspector.noteActivity();
	}

	#createInspector(): Inspector {
		const program = {
			look: async () => this.#process?.look(),
			context: (snapshot: ProcessSnapshot) => {
				const { isFullScreen, isMarked, ...stage } = this.#replies
					? outputContext(this.#replies.scan.state)
					: NO_OUTPUT_CONTEXT;
				const isAsking = stage.isAsking && this.#lastActivity === this.#lastOutput;
				const moment = { isMarked, isAsking, turns: this.#input.turns };
				return {
					own: this.#process?.pid,
					hasQueuedInput: !this.#input.queue.isIdle,
					isPaused: this.#isPaused,
					isFullScreen,
					isAsking,
					prompt: this.#shell?.prompt.judge(snapshot, moment) ?? null,
					quietMs: this.#clock.monotonic() - this.#lastOutput,
				};
			},
			lastActivity: () => this.#lastActivity,
			turns: () => this.#input.turns,
			isEnded: () => this.#state.status !== "running",
			place: () => ({ offset: this.log.end.offset, since: this.#state.endedAt ?? this.#activeAt }),
		};
		return new Inspector(program, this.#clock);
	}

	async #readActivity(after: number | null, signal: AbortSignal | undefined): Promise<OutputActivity> {
		while (this.#outputActivity.count === after && !isEnded(this.#state) && !signal?.aborted)
			await this.#outputActivity.changed(signal);
		const isFullScreen = this.#replies?.scan.state.alternate.isOn === true;
		return {
			...this.#outputActivity.read(),
			offset: this.log.end.offset,
			tail: isFullScreen ? null : readTail(this.log),
		};
	}

	async #readSignals(after: number | null, signal: AbortSignal | undefined): Promise<TerminalSignals> {
		while (this.#signals.count === after && this.#state.status === "running" && !signal?.aborted) {
			await this.#signals.changed(signal);
		}
		const { records, hook, ...rest } = this.#signals.read(this.log.end.offset);
		const hidden = <Record extends StatusRecord>(record: Record) => this.#masked.hide(record, ["title", "message"]);
		return { ...rest, records: records.map(hidden), hook: hook ? hidden(hook) : null };
	}

	#details(): SessionDetails {
		return {
			...this.#state,
			pid: this.#process?.pid ?? null,
			offsets: { oldest: this.log.oldest.offset, end: this.log.end.offset },
			attachments: this.#attachments,
			lease: this.#lease.current,
			activeAt: this.#activeAt,
			sizePolicy: this.#sizePolicy,
			terminal: (this.#state.status === "running" && this.#process?.terminal()) || null,
		};
	}

	async #kill(options: KillOptions): Promise<null> {
		await this.#process?.kill({ reason: "killed", ...options });
		while (!this.log.isFinished) await this.log.changed();
		return null;
	}

	#run(running: Process): void {
		this.#process = running;
		void running.gone.then(this.#resolveGone);
		// The program may have filled the log, or ended, before this runs.
		if (this.#isPaused) running.pause();
		if (this.#state.status !== "running") return;
		if (this.spec.awaitsTerminal) {
			this.#deadlines.push(this.#clock.after(AWAITED_MS, () => this.#delegation.awaitNoMore()));
		}
		const { timeoutMs, idleTimeoutMs } = this.spec;
		if (this.#shell && !this.#isHooked && startsShell(this.spec.argv)) this.#learnPrompt();
		if (timeoutMs > 0) this.#deadlines.push(this.#clock.after(timeoutMs, () => this.#end("timeout")));
		if (idleTimeoutMs > 0) this.#deadlines.push(this.#watchIdle(idleTimeoutMs));
	}

	/** Without hooks a shell is recognized by its first prompt, which must be seen before the first line is typed. */
	#learnPrompt(): void {
		this.#inspector.untilWaiting(0).catch((error: unknown) => this.#onFailure?.(error));
	}

	#watchIdle(idleTimeoutMs: number): () => void {
		return this.#idle.watch({
			idleTimeoutMs,
			lastActivity: () => this.#lastActivity,
			isBusy: () => this.spec.idleExemptJobs === true && this.#process?.terminal()?.hasJob === true,
			expire: () => this.#end("idle"),
		});
	}

	#append(fact: Fact): void {
		const event = this.log.append(fact);
		if (fact.kind === "output") {
			this.#noteActivity();
			this.#lastOutput = this.#lastActivity;
			this.#outputActivity.note(fact.bytes.byteLength, this.#lastActivity, this.#activeAt);
			this.#replies?.feed(fact.bytes);
			if (this.#replies) this.#signals.noteOutput(this.#replies.scan.title, event.offset);
			this.#redraws?.note();
			return;
		}
		this.#state = advance(this.#state, event);
		if (fact.kind === "exited") {
			this.#input.queue.close();
			for (const cancel of this.#deadlines.splice(0)) cancel();
			this.#signals.noteEnd();
			this.#inspector.noteActivity();
		}
		if (isEnded(this.#state)) {
			this.#shell?.noteEnd();
			this.#outputActivity.touch();
			this.#redraws?.note();
		}
		this.#watchers.notify(this.#state);
	}

	#setPaused(isPaused: boolean): void {
		this.#isPaused = isPaused;
		if (isPaused) {
			this.#masked.pause();
			this.#process?.pause();
		} else {
			this.#process?.resume();
			this.#masked.resume();
		}
	}

	#checkResize(size: Size): void {
		if (this.spec.mode !== "pty") throw new SessionError("unsupported", "a session on pipes has no size");
		checkSize(size);
		if (this.#sizePolicy !== "fixed") return;
		throw new SessionError("conflict", "the session's size is fixed", { hint: "set another size policy first" });
	}

	#end(reason: "timeout" | "idle"): void {
		const { timeoutGraceMs } = this.spec;
		const grace = reason === "timeout" && timeoutGraceMs !== undefined ? { graceMs: timeoutGraceMs } : {};
		this.#process?.kill({ reason, ...grace }).catch((error: unknown) => this.#onFailure?.(error));
	}
}

function isBeginning(start: Start): boolean {
	if (start === "end") return false;
	return "seq" in start ? start.seq <= FIRST_SEQ : start.offset === 0;
}
