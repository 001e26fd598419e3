/** A session in this process: a log, and the process that feeds it. */

import type { Receipt } from "./act.ts";
import type { Archive } from "./archive.ts";
import type { Clock } from "./clock.ts";
import { type Cursor, follow, type Hold } from "./cursor.ts";
import { AWAITED_MS, Delegation } from "./delegation.ts";
import { SessionError } from "./errors.ts";
import type { Fact, Size, Start } from "./event.ts";
import { IdleWatch } from "./idle.ts";
import { NO_STAGE, stageOf } from "./inspection.ts";
import { Inspector } from "./inspector.ts";
import { type Lease, WriterLease } from "./lease.ts";
import { Listeners } from "./listeners.ts";
import { Log } from "./log.ts";
import { MaskedOutput } from "./masked-output.ts";
import { noShell } from "./plain-shell.ts";
import { checkSize, type KillOptions, type Process, type Spawn } from "./process.ts";
import { type Pulse, PulseFold } from "./pulse.ts";
import { Replies } from "./replies.ts";
import type { RunAnswer, RunRequest } from "./run.ts";
import { noTerminal } from "./scan.ts";
import {
	type Answers,
	answer,
	type FollowOptions,
	type Operation,
	type Operations,
	type Question,
	Session,
	type SessionDetails,
	type SessionStart,
	type SizePolicy,
} from "./session.ts";
import { SessionInput } from "./session-input.ts";
import { type ShellHooks, ShellRunner } from "./shell-runner.ts";
import type { Skim } from "./skim.ts";
import { advance, initialState, isEnded, type State } from "./state.ts";
import { readTail } from "./tail.ts";
import { Takeovers } from "./takeovers.ts";
import { Undrawn } from "./undrawn.ts";

/** Of a session's first event. */
const FIRST_SEQ = 1;
/** The mode in which a terminal marks what is pasted. */
const BRACKETED_PASTES = "2004";
type LocalSessionOptions = {
	readonly spawn: Spawn;
	readonly clock: Clock;
	/** For terminals with much output; the plain one, if left out. */
	readonly skim?: Skim | undefined;
	readonly archive?: Archive | undefined;
	/** How long a reader may stand still that its program waits for; as the log says, if left out. */
	readonly stallMs?: number | undefined;
	/** Shared by all sessions of a process; its own, if left out. */
	readonly idle?: IdleWatch;
	/** Of a shell that was started with them. */
	readonly shellHooks?: ShellHooks | undefined;
	/** Hears of our own bugs, and of a program that can't be ended. */
	readonly onFailure?: (error: unknown) => void;
};

export class LocalSession extends Session {
	readonly log: Log;
	readonly #clock: Clock;
	readonly #lease = new WriterLease();
	readonly #takeovers = new Takeovers({
		end: () => this.log.end.offset,
		commandsIn: (from, to) =>
			this.#shell?.commands.filter((command) => command.from >= from && command.from < to).length ?? 0,
	});
	readonly #input: SessionInput;
	readonly #watchers = new Listeners<State>();
	readonly #masked: MaskedOutput;
	readonly #idle: IdleWatch;
	readonly #inspector: Inspector;
	readonly #pulse: PulseFold;
	readonly #onFailure: ((error: unknown) => void) | undefined;
	readonly #answers: Answers = {
		info: async () => this.#details(),
		end: async () => this.log.end,
		scan: async () => {
			if (!this.#replies) throw noTerminal();
			return this.#replies.scan.state;
		},
		replies: async ({ by }) => this.#delegation.hand(by),
		untilCursorAsked: async ({ after }, signal) => this.#replies?.untilCursorAsked(after, signal) ?? null,
		reply: async ({ end, text }) => this.#replies?.supply(end, text) ?? false,
		untilMuchDrawn: async ({ after }, signal) => {
			if (!this.#undrawn) throw noTerminal();
			return this.#undrawn.untilMuch(after, signal);
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
		controlSince: async ({ caller, call }) => ({
			fence: this.#lease.current.fence,
			takeovers: this.#takeovers.tell(caller, call),
		}),
		leaseChange: ({ known }, signal) => this.#lease.differs(known, signal),
		kill: ({ options }) => this.#kill(options),
		run: (request, signal) => this.#runInShell(request, signal),
		commands: async () => ({ commands: this.#shell?.commands ?? [], isProven: this.#isHooked }),
		pulse: ({ after }, signal) => this.#readPulse(after, signal),
		commandNews: async ({ known }, signal) => {
			if (!this.#shell) throw noTerminal();
			return this.#shell.events.after(known, signal);
		},
		inspect: () => this.#inspector.inspect(),
		untilWaiting: ({ after }, signal) => this.#inspector.untilWaiting(after, signal),
	};
	/** Of a terminal only. */
	readonly #replies: Replies | undefined;
	readonly #undrawn: Undrawn | undefined;
	readonly #delegation: Delegation;
	/** Stands for the first reader until it is there, or was waited for in vain. */
	#firstReader: Hold | undefined;
	#sizePolicy: SizePolicy;
	readonly #shell: ShellRunner | undefined;
	readonly #isHooked: boolean;
	#process: Process | undefined;
	#isPaused = false;
	#state: State;
	#attachments = 0;
	/** By the monotonic clock, and for people. */
	#lastActivity: number;
	#activeAt: number;
	#lastOutput: number;
	/** Cancels what would end the program in time. */
	readonly #deadlines: (() => void)[] = [];

	/** Starts the program; rejects with `spawn_failed` when it can't be. */
	static async start(start: SessionStart, options: LocalSessionOptions): Promise<LocalSession> {
		const session = new LocalSession(start, options);
		const running = await options.spawn(start.command, (fact) => session.#report(fact));
		session.#run(running);
		return session;
	}

	private constructor(start: SessionStart, options: LocalSessionOptions) {
		super(start.spec);
		this.#clock = options.clock;
		this.#onFailure = options.onFailure;
		this.#idle = options.idle ?? new IdleWatch(options.clock);
		this.#state = initialState(start.command.size);
		this.#sizePolicy = start.spec.firstSizePolicy ?? "latest";
		this.#isHooked = options.shellHooks !== undefined;
		if (start.spec.mode === "pty") {
			this.#replies = this.#createReplies(options.skim);
			this.#undrawn = this.#createUndrawn(this.#replies);
			this.#shell = this.#createShell(options.shellHooks);
		}
		this.#delegation = new Delegation({
			replies: this.#replies,
			mayAnswer: start.spec.answersQueries === true,
			isAwaiting: start.spec.awaitsTerminal === true,
			end: () => this.log.end.offset,
		});
		this.#lastActivity = options.clock.monotonic();
		this.#activeAt = options.clock.now();
		this.#lastOutput = this.#lastActivity;
		this.#inspector = this.#createInspector();
		this.#pulse = new PulseFold(options.clock);
		this.#masked = new MaskedOutput(options.clock, (bytes) => this.#append({ kind: "output", stream: "pty", bytes }));
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
		// Only now that it holds the log itself.
		if (options?.flow === "lossless" && isBeginning(start)) this.#firstReader?.release();
		return cursor;
	}

	receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt> {
		return this.#input.queue.receipts(stream, signal);
	}

	ask<Name extends Operation>(question: Question<Name>, signal?: AbortSignal): Promise<Operations[Name]["answer"]> {
		return answer(this.#answers, question, signal);
	}

	/** Whoever held control, or answered for its terminal, can't be reached any more. */
	abandon(): void {
		this.#lease.abandon();
		this.#takeovers.note(this.#lease.current);
		this.abandonReplies();
	}

	/** Whoever answered for its terminal can't be reached, or must say again that it does. */
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
			mask: (secret) => this.#masked.mask(secret),
			onActivity: () => this.#noteActivity(),
			onWrite: (bytes) => this.#shell?.noteInput(bytes),
			checkResize: (size) => this.#checkResize(size),
			onResized: (size) => this.#report({ kind: "resized", size }),
			onFailure: this.#onFailure,
		});
	}

	#createReplies(skim: Skim | undefined): Replies {
		return new Replies({
			clock: this.#clock,
			isDelegated: this.spec.answersQueries !== true || this.spec.awaitsTerminal === true,
			size: () => this.#state.size,
			colors: this.spec.colors,
			terminal: () => (this.#state.status === "running" ? this.#process?.terminal() : undefined),
			isInputWaiting: () => this.#input.queue.isWaiting,
			type: (text) => this.#input.reply(text),
			onMark: (mark) => this.#shell?.takeMark(mark),
			skim,
		});
	}

	#createUndrawn({ scan }: Replies): Undrawn {
		return new Undrawn({
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
			pid: () => this.#process?.pid,
			end: () => this.log.end.offset,
			tail: () => readTail(this.log),
			takesPastes: () => this.#replies?.scan.state.modes[BRACKETED_PASTES] === true,
			isLineMode: () => this.#process?.terminal()?.canonical === true,
			exit: () => (isEnded(this.#state) ? (this.#state.exit ?? { code: null }) : undefined),
			type: (bytes, options) => this.#input.accept({ kind: "write", bytes }, options),
			interrupt: () => this.#input.interrupt(),
			receipt: (stream) => this.#input.queue.receipt(stream),
			isInputWaiting: () => this.#input.queue.isWaiting,
			inspect: () => this.#inspector.inspect(),
			untilWaiting: (after, signal) => this.#inspector.untilWaiting(after, signal),
			onFailure: (error) => this.#onFailure?.(error),
		});
	}

	async #runInShell(request: RunRequest, signal: AbortSignal | undefined): Promise<RunAnswer> {
		if (!this.#shell) throw noShell();
		if (typeof request.command === "string") this.#lease.check(request.options.fence);
		return this.#shell.run(request, signal);
	}

	#noteActivity(): void {
		this.#lastActivity = this.#clock.monotonic();
		this.#activeAt = this.#clock.now();
		this.#pulse.touch();
		this.#inspector.noteActivity();
	}

	#createInspector(): Inspector {
		const program = {
			look: async () => this.#process?.look(),
			surroundings: () => {
				const stage = this.#replies ? stageOf(this.#replies.scan.state) : NO_STAGE;
				return {
					...stage,
					own: this.#process?.pid,
					hasQueuedInput: !this.#input.queue.isIdle,
					isPaused: this.#isPaused,
					isAsking: stage.isAsking && this.#lastActivity === this.#lastOutput,
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

	async #readPulse(after: number | null, signal: AbortSignal | undefined): Promise<Pulse> {
		while (this.#pulse.count === after && !isEnded(this.#state) && !signal?.aborted) await this.#pulse.changed(signal);
		const isFullScreen = this.#replies?.scan.state.alternate.isOn === true;
		return {
			...this.#pulse.read(),
			offset: this.log.end.offset,
			tail: isFullScreen ? null : readTail(this.log),
		};
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
		// The program may have filled the log, or ended, before we learned of it.
		if (this.#isPaused) running.pause();
		if (this.#state.status !== "running") return;
		if (this.spec.awaitsTerminal) {
			this.#deadlines.push(this.#clock.after(AWAITED_MS, () => this.#delegation.awaitNoMore()));
		}
		const { timeoutMs, idleTimeoutMs } = this.spec;
		if (timeoutMs > 0) this.#deadlines.push(this.#clock.after(timeoutMs, () => this.#end("timeout")));
		if (idleTimeoutMs > 0) this.#deadlines.push(this.#watchIdle(idleTimeoutMs));
	}

	#watchIdle(idleTimeoutMs: number): () => void {
		return this.#idle.watch({
			idleTimeoutMs,
			lastActivity: () => this.#lastActivity,
			isBusy: () => this.spec.idleExemptJobs === true && this.#process?.terminal()?.hasJob === true,
			expire: () => this.#end("idle"),
		});
	}

	/** What happens to the program; what a terminal shows as far as it may be seen. */
	#report(fact: Fact): void {
		if (fact.kind === "output" && fact.stream === "pty") {
			this.#masked.take(fact.bytes);
			return;
		}
		this.#masked.release();
		this.#append(fact);
	}

	#append(fact: Fact): void {
		const event = this.log.append(fact);
		if (fact.kind === "output") {
			this.#noteActivity();
			this.#lastOutput = this.#lastActivity;
			this.#pulse.note(fact.bytes.byteLength, this.#lastActivity, this.#activeAt);
			this.#replies?.feed(fact.bytes);
			this.#undrawn?.note();
			return;
		}
		this.#state = advance(this.#state, event);
		if (fact.kind === "exited") {
			this.#input.queue.close();
			for (const cancel of this.#deadlines.splice(0)) cancel();
			this.#inspector.noteActivity();
		}
		if (isEnded(this.#state)) {
			this.#shell?.noteEnd();
			this.#pulse.touch();
			this.#undrawn?.note();
		}
		this.#watchers.tell(this.#state);
	}

	#setPaused(isPaused: boolean): void {
		this.#isPaused = isPaused;
		if (isPaused) this.#process?.pause();
		else this.#process?.resume();
	}

	#checkResize(size: Size): void {
		if (this.spec.mode !== "pty") throw new SessionError("unsupported", "a session on pipes has no size");
		checkSize(size);
		if (this.#sizePolicy !== "fixed") return;
		throw new SessionError("conflict", "the session's size is fixed", { hint: "give it another size policy first" });
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
