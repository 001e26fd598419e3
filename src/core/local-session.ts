/** A session in this process: a log, and the process that feeds it. */

import type { Act, ActOptions, Origin, Receipt } from "./act.ts";
import type { Archive } from "./archive.ts";
import type { Clock } from "./clock.ts";
import { type Cursor, follow, type Hold } from "./cursor.ts";
import { AWAITED_MS, Delegation } from "./delegation.ts";
import { SessionError } from "./errors.ts";
import type { Fact, Size, Start } from "./event.ts";
import { IdleWatch } from "./idle.ts";
import { InputQueue, unitsOf } from "./input.ts";
import { isWaiting, NO_STAGE, stageOf } from "./inspection.ts";
import { Inspector, isTurn } from "./inspector.ts";
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
import { answeredThere, secretLine, wouldShow } from "./secret-line.ts";
import {
	type Answers,
	answer,
	type FollowOptions,
	type Operation,
	type Operations,
	type Question,
	type SecretQuestion,
	Session,
	type SessionDetails,
	type SessionStart,
	type SizePolicy,
} from "./session.ts";
import { type ShellHooks, ShellRunner } from "./shell-runner.ts";
import type { Skim } from "./skim.ts";
import { advance, initialState, isEnded, type State } from "./state.ts";
import { readTail } from "./tail.ts";
import { Takeovers } from "./takeovers.ts";
import { Undrawn } from "./undrawn.ts";

/** Of a session's first event. */
const FIRST_SEQ = 1;
/** The input stream of what a session answers itself. */
const REPLIES_STREAM = "hawser:replies";
/** The mode in which a terminal marks what is pasted. */
const BRACKETED_PASTES = "2004";
/** ^C. */
const INTERRUPT: Uint8Array = Uint8Array.of(0x03);

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
	readonly #input: InputQueue;
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
		act: ({ act, options }) => this.#act(act, options),
		actIfWaiting: ({ act, at, options }) => this.#actIfWaiting(act, at, options),
		secret: ({ bytes, options, ...question }) => this.#typeSecret(bytes, question, options),
		receipt: async ({ stream }) => this.#input.receipt(stream),
		forgetStream: async ({ stream }) => {
			this.#input.forget(stream);
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
	/** Lines, signals and ends of input that it was given, and where the output ended at the last of them. */
	#turns = 0;
	#turnedAt: number | undefined;
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
		this.#input = new InputQueue({
			perform: (act) => this.#perform(act),
			clock: options.clock,
			onFailure: options.onFailure,
		});
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
		return this.#input.receipts(stream, signal);
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

	#createReplies(skim: Skim | undefined): Replies {
		return new Replies({
			clock: this.#clock,
			isDelegated: this.spec.answersQueries !== true || this.spec.awaitsTerminal === true,
			size: () => this.#state.size,
			colors: this.spec.colors,
			terminal: () => (this.#state.status === "running" ? this.#process?.terminal() : undefined),
			isInputWaiting: () => this.#input.isWaiting,
			type: (text) => this.#type(text),
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
			type: (bytes, options) => this.#accept({ kind: "write", bytes }, options),
			interrupt: () => void this.#input.accept({ kind: "write", bytes: INTERRUPT }),
			receipt: (stream) => this.#input.receipt(stream),
			isInputWaiting: () => this.#input.isWaiting,
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

	/** Whatever the lease says: it is the terminal that answers, and nobody who controls it. */
	#type(text: string): void {
		const { next: position } = this.#input.receipt(REPLIES_STREAM);
		this.#input.accept({ kind: "write", bytes: new TextEncoder().encode(text) }, { stream: REPLIES_STREAM, position });
		this.#noteActivity();
	}

	async #act(act: Act, options: ActOptions): Promise<Receipt> {
		if (act.kind === "resize") this.#checkResize(act.size);
		return this.#accept(act, options);
	}

	async #actIfWaiting(act: Act, at: number, options: ActOptions): Promise<Receipt> {
		if (this.#isRepeat(act, options.origin)) return this.#accept(act, options);
		await this.#checkWaiting({ at });
		return this.#act(act, options);
	}

	/**
	 * That the terminal shows nothing is asked in the very turn in which the kernel takes the bytes: nothing else may wait
	 * to be typed before. Afterwards they are nowhere but among what is masked.
	 */
	async #typeSecret(value: Uint8Array, question: SecretQuestion, options: ActOptions): Promise<Receipt> {
		const act = { kind: "write", bytes: secretLine(value) } as const;
		try {
			if (this.#isRepeat(act, options.origin)) return this.#accept(act, options);
			const { at, episode } = question;
			if (at !== undefined || episode !== undefined) await this.#checkWaiting(question);
			// Nothing was shown of what was typed, nor of what is asked since.
			if (at !== undefined && at === this.#turnedAt && episode === undefined) throw answeredThere();
			const terminal = this.#process?.terminal();
			if (!terminal?.canonical || terminal.echo || this.#input.isWaiting) throw wouldShow();
			this.#masked.mask(value);
			return this.#accept(act, options);
		} finally {
			value.fill(0);
			if (!this.#input.isWaiting) act.bytes.fill(0);
		}
	}

	/**
	 * The program is looked at, and what it wrote before is in the log then; from there to the write nothing is awaited.
	 * What was accepted meanwhile, by whomever, may have been the answer, and is what the program reads next.
	 */
	async #checkWaiting({ at, episode }: SecretQuestion): Promise<void> {
		const before = this.#input.accepted;
		const found = await this.#inspector.inspect();
		const end = this.log.end.offset;
		const isSame = isWaiting(found) && found.offset === end && (at ?? end) === end;
		if (isSame && found.episode === (episode ?? found.episode) && this.#input.accepted === before) return;
		throw new SessionError("not_waiting", "the program does not wait for this answer any more", {
			hint: "look at what it asks now",
		});
	}

	#isRepeat(act: Act, origin: Origin | undefined): boolean {
		return origin !== undefined && origin.position + unitsOf(act) <= this.#input.receipt(origin.stream).next;
	}

	#accept(act: Act, options: ActOptions): Receipt {
		this.#lease.check(options.fence);
		const before = this.#input.accepted;
		const receipt = this.#input.accept(act, options.origin, this.log.end.offset);
		// Not a repeat, and not a size: clients that nobody sits at tell theirs whenever they come back.
		const accepted = this.#input.accepted - before;
		if (accepted > 0 && act.kind !== "resize") this.#noteActivity();
		return { ...receipt, accepted };
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
					hasQueuedInput: !this.#input.isIdle,
					isPaused: this.#isPaused,
					isAsking: stage.isAsking && this.#lastActivity === this.#lastOutput,
					quietMs: this.#clock.monotonic() - this.#lastOutput,
				};
			},
			lastActivity: () => this.#lastActivity,
			turns: () => this.#turns,
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
			this.#input.close();
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

	#perform(act: Act): Promise<void> | void {
		const running = this.#process;
		if (!running || isEnded(this.#state)) throw new SessionError("session_closed", "the program has ended");
		if (isTurn(act)) {
			this.#turns++;
			this.#turnedAt = this.log.end.offset;
		}
		switch (act.kind) {
			case "write":
				this.#shell?.noteInput(act.bytes);
				return running.write(act.bytes);
			case "eof":
				return running.eof();
			case "signal":
				return running.signal(act.signal);
			case "resize":
				running.resize(act.size);
				this.#report({ kind: "resized", size: act.size });
		}
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
