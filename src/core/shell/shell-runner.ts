/**
 * Runs each command once in a running shell. With our hooks the shell's own marks report exact results. Without them
 * `plain-shell.ts` does what is possible.
 *
 * With hooks nothing of a command is typed. It is put in a file, which the hooks fetch when they receive a key that no
 * keyboard has. The key is normal session input, so a retry is recognized by its stream position.
 */

import { Change } from "../async/change.ts";
import { SessionError } from "../errors.ts";
import type { Action, ActOptions, StreamPosition } from "../input/action.ts";
import { type Inspection, isAtPrompt, isWaitingForInput } from "../inspect/inspection.ts";
import type { Command } from "../process/process.ts";
import type { ShellMark } from "../terminal/terminal-scan.ts";
import { CommandEvents } from "./command-events.ts";
import { PlainShell, type PlainShellOptions, shellEndedError } from "./plain-shell.ts";
import type { BusyReason, RunOutcome, RunRequest } from "./run-command.ts";
import { type SentCommand, SentCommands } from "./sent-commands.ts";
import {
	type CommandReception,
	type ReceptionDetails,
	type ShellCommand,
	ShellMarks,
	type ShellPhase,
} from "./shell-marks.ts";
import { ShellPrompt } from "./shell-prompt.ts";
import { isTerminalReply } from "./typed-line-length.ts";

/** `CSI 7707 ; 1 ~`, bound by the hooks: fetch and run a command. */
const RUN_KEY: Uint8Array = new TextEncoder().encode("\u001b[7707;1~");
/** Bound by the hooks: report whether the line is empty. */
const LINE_KEY: Uint8Array = new TextEncoder().encode("\u001b[7707;3~");
/** Delay before a command's process is inspected. Most commands are over by then. */
const LOOK_AFTER_MS = 30;
/**
 * A shell that is at a prompt this long after its start or last mark, without having marked it, has lost its hooks: it
 * did not read our files, or its output is redirected.
 */
const HOOKS_MS = 3_000;
/** Interval of that check afterwards. */
const HOOKS_LOOK_MS = 250;
/**
 * Marks arrive before the shell reads. After this time without one, the reader is a command with a line editor, or
 * marks are lost.
 */
const MARKS_MS = 1_000;
/** How long the first command waits for an inspection of the prompt, which is needed if marks stop later. */
const LEARN_MS = 250;
/** Timeout of the question whether the line is empty. The shell may be asking whether to list all completions. */
const LINE_MS = 3_000;
/** A key that was not received by this many prompts later was consumed by another program. */
const PROMPTS_UNTIL_LOST = 2;
/** Attempts to cancel an incomplete line. A shell that has ignored this many ignores all. */
const MOST_INTERRUPTS = 3;

/** Access to the hooks of a session's shell. */
export type ShellHooks = {
	/** Authenticates the shell's marks. */
	readonly key: string;
	/** Puts a command where the shell fetches it. Resolves with the random word that will mark its end. */
	put(command: string): Promise<string>;
	/** The shell has fetched the command; remove it. */
	clear(): Promise<void>;
	/** The shell has ended. */
	end(): Promise<void>;
};

/** A command that starts a shell with hooks. */
export type HookedCommand = { readonly command: Command; readonly hooks: ShellHooks };

/** A command that was sent to the shell. */
type Sent = SentCommand & {
	/** End of the output at that time. */
	readonly from: number;
	reception: CommandReception | undefined;
	/** Prompts since then, while it was not received. */
	prompts: number;
	seq: number | null;
	exitCode: number | null;
	/** Range of the shell's message when it refused the command. */
	said: RunOutcome["output"] | null;
};

type ShellRunnerOptions = PlainShellOptions & {
	readonly hooks: ShellHooks | undefined;
	/** Offset at which a line editor last returned the terminal. */
	readonly editedTo: () => number;
	/** Types a key that queries the shell, regardless of the lease. */
	readonly ask: (key: Uint8Array) => void;
	readonly onFailure: (error: unknown) => void;
};

export class ShellRunner {
	readonly #options: ShellRunnerOptions;
	readonly #marks: ShellMarks;
	readonly #plain: PlainShell;
	readonly prompt: ShellPrompt;
	/** Start of the current phase. */
	#movedAt: number;
	readonly #changed = new Change();
	readonly events: CommandEvents = new CommandEvents();
	readonly #sent: SentCommands<Sent>;
	/** The command that the shell has not received yet. */
	#pending: Sent | undefined;
	/** A command is being put where the shell fetches it. */
	#isPutting = false;
	/** Counts input and signals, and the count at which the line was last empty. */
	#inputs = 0;
	#inputsAtEmpty = 0;
	/** The shell's last response; undefined until it comes. */
	#isLineEmpty: boolean | undefined;
	#asking: Promise<boolean | undefined> | undefined;
	/** Aborted when the phase changes. */
	#phaseOver = new AbortController();
	/** The inspection of the first prompt, and whether it is done or has timed out. */
	#learning: Promise<void> | undefined;
	#isLearned = false;
	/**
	 * The running command has brought up another shell at its prompt, which takes commands instead of the one with hooks.
	 */
	#hasOther = false;
	/** When the shell was first seen to read without a mark of its prompt, and in which episode. */
	#unmarked: { readonly episode: number; readonly at: number } | undefined;

	constructor(options: ShellRunnerOptions) {
		this.#options = options;
		this.#plain = new PlainShell(options);
		const { hooks } = options;
		this.prompt = new ShellPrompt({
			...options,
			phase: () => (hooks ? this.#marks.phase : null),
			isPrompting: () => this.#marks.isPrompting,
		});
		this.#sent = new SentCommands(options.receipt);
		this.#movedAt = options.clock.monotonic();
		this.#marks = new ShellMarks({
			key: options.hooks?.key ?? null,
			onReception: (reception, { isTyped, exitCode, offset }) => {
				// A line that a user typed ahead runs first; ours is still to come.
				if (this.#pending && !isTyped) this.#receive(this.#pending, reception, { exitCode, offset });
			},
			onLine: (isEmpty) => {
				this.#isLineEmpty = isEmpty;
			},
		});
	}

	get commands(): readonly ShellCommand[] {
		return this.#marks.commands;
	}

	/** A shell reports a command's text and directory after its end, and has done so at the next prompt. */
	get isNewestUnfinished(): boolean {
		return this.#marks.phase === "ended" && (this.#marks.commands.at(-1)?.to ?? null) !== null;
	}

	/** The shell's directory, as last reported. */
	get cwd(): string | null {
		return this.#marks.cwd;
	}

	takeMark(mark: ShellMark): void {
		const { hooks, clock, onFailure } = this.#options;
		const before = this.#marks.phase;
		this.#marks.take(mark, clock.now());
		const { phase } = this.#marks;
		if (phase !== before) this.#moved(phase);
		this.#reportCommands();
		// A typed command may begin first, while ours is still to be fetched.
		const isFetched = phase === "running" && !this.#pending;
		if (phase !== before && (before === "starting" || isFetched)) hooks?.clear().catch(onFailure);
		this.#changed.happen();
	}

	/** The program has ended and all of its output has come. */
	noteEnd(): void {
		this.#reportCommands();
		this.#options.hooks?.end().catch(this.#options.onFailure);
		this.#plain.noteEnd();
		this.#changed.happen();
	}

	/** Input may be part of a line, even while a command runs. Terminal replies do not count. */
	noteAct(action: Action): void {
		if (action.kind === "resize") return;
		if (action.kind === "write") {
			if (isOwnKey(action.bytes) || isTerminalReply(action.bytes)) return;
			this.#plain.noteInput(action.bytes);
		} else this.#plain.noteSignal();
		this.#inputs++;
	}

	async run({ command, timeoutMs, options }: RunRequest, signal?: AbortSignal): Promise<RunOutcome> {
		const { clock } = this.#options;
		const deadline = new AbortController();
		const cancel = clock.after(timeoutMs, () => deadline.abort());
		const until = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
		try {
			if (typeof command === "number") return await this.#outcome(this.#known(command, options.origin), until);
			if (await this.#isPlain(options.origin, until)) {
				return { ...(await this.#plain.run(command, options, until)), unhookedBy: this.#marks.unhookedBy };
			}
			const sent = this.#sent.repeated(command, options) ?? (await this.#send(command, options, until));
			return sent ? await this.#outcome(sent, until) : await this.#busy(options.origin);
		} finally {
			cancel();
		}
	}

	/** Whether only the kernel shows what the shell does, because there are no usable marks. */
	async #isPlain(origin: StreamPosition | undefined, until: AbortSignal): Promise<boolean> {
		const { hooks, clock, exit, inspect } = this.#options;
		if (!hooks || this.#marks.unhookedBy !== null || this.#plain.has(origin)) return true;
		if (this.#sent.has(origin)) return false;
		while (this.#marks.phase !== "prompt" && !until.aborted && !exit()) {
			if (await this.#isInOther()) return true;
			const leftMs = this.#movedAt + HOOKS_MS - clock.monotonic();
			// A command that has removed all marks is never marked as over.
			const isUnmarked = (leftMs <= 0 || this.#marks.phase === "running") && this.#isUnmarked(await inspect());
			if (leftMs <= 0 && isUnmarked) {
				if (!this.#marks.isPrompting) return true;
				this.#marks.endPrompt(clock.now());
				this.#moved(this.#marks.phase);
				this.#reportCommands();
				this.#changed.happen();
				return false;
			}
			if (!this.#isOnItsWay && !isUnmarked) return false;
			const cancel = clock.after(Math.max(leftMs, HOOKS_LOOK_MS), () => this.#changed.happen());
			await this.#changed.wait(until);
			cancel();
		}
		return false;
	}

	/** Until the marks end the command, further commands go to the other shell, even while that runs something. */
	async #isInOther(): Promise<boolean> {
		if (this.#hasOther || this.#marks.phase !== "running") return this.#hasOther;
		const front = await this.#options.inspect();
		if (this.#marks.phase === "running") this.#hasOther = this.#isOther(front);
		return this.#hasOther;
	}

	#isOther(front: Inspection): boolean {
		return isAtPrompt(front) && this.prompt.isOtherInFront;
	}

	/** Whether a shell is at its prompt without having marked it. */
	#isUnmarked(front: Inspection): boolean {
		return isAtPrompt(front) && (this.#isOnItsWay || front.pid === this.#options.pid());
	}

	/** The shell has no prompt yet; what it runs before one may take any time. */
	get #isOnItsWay(): boolean {
		return this.#marks.phase === "ended" || this.#marks.phase === "starting";
	}

	/** A command by its number. `origin` is the caller's stream position, which this does not use up. */
	#known(seq: number, origin: StreamPosition | undefined): Sent {
		const found = this.#marks.commands.find((command) => command.seq === seq);
		if (!found) throw new SessionError("not_found", `command ${seq} of this session is unknown or was forgotten`);
		const { from, exitCode } = found;
		return { command: "", origin, from, reception: "begun", prompts: 0, seq, exitCode, said: null };
	}

	/** Undefined if another command runs or text is on the line; nothing was sent then. */
	async #send(command: string, options: ActOptions, until: AbortSignal): Promise<Sent | undefined> {
		const { hooks, end, type, exit } = this.#options;
		// Always wait for a command that is just being put: it may be this one. The first waiter puts its own command
		// before another one is woken.
		while (this.#isPutting || (this.#isOnItsWay && !until.aborted && !exit())) {
			await this.#changed.wait(this.#isPutting ? undefined : until);
		}
		if (!this.#isLearned && this.#marks.phase === "prompt") {
			await this.#learnPrompt();
			return this.#send(command, options, until);
		}
		const known = this.#sent.repeated(command, options);
		if (known || !hooks) return known;
		if (!(await this.#untilEmptyLine(until))) {
			const isRetried = this.#isOnItsWay && !until.aborted && !exit();
			return isRetried ? this.#send(command, options, until) : undefined;
		}
		// Another call may have sent its command meanwhile, maybe the same one.
		if (this.#isPutting) return this.#send(command, options, until);
		if (!this.#isFree) return this.#sent.repeated(command, options);
		this.#isPutting = true;
		try {
			this.#marks.expect(await hooks.put(command));
		} finally {
			this.#isPutting = false;
			this.#changed.happen();
		}
		// A client may have typed meanwhile, or ended the shell.
		if (!this.#isFree) return undefined;
		try {
			type(RUN_KEY, options);
		} catch (error) {
			await hooks.clear();
			throw error;
		}
		const sent: Sent = {
			command,
			origin: options.origin,
			from: end(),
			reception: undefined,
			prompts: 0,
			seq: null,
			exitCode: null,
			said: null,
		};
		this.#pending = sent;
		this.#sent.add(sent);
		return sent;
	}

	/** False if there is text on the shell's line, or the shell is no longer at its prompt. */
	async #untilEmptyLine(until: AbortSignal): Promise<boolean> {
		const { isInputWaiting, untilInputTaken, exit } = this.#options;
		while (this.#marks.phase === "prompt" && !this.#pending && !exit()) {
			if (isInputWaiting()) {
				if (until.aborted) return false;
				await untilInputTaken(until);
				continue;
			}
			if (this.#inputs === this.#inputsAtEmpty) return true;
			this.#asking ??= this.#askForLine().finally(() => {
				this.#asking = undefined;
			});
			if ((await this.#asking) === false) return false;
		}
		return false;
	}

	/**
	 * Asks the shell whether its line is empty. Only the shell knows the effect of keys such as Up, Tab or Backspace, and
	 * of input typed ahead. It is asked after it has read all input, so that no program it starts gets the key. Undefined
	 * if something else happened meanwhile.
	 */
	async #askForLine(): Promise<boolean | undefined> {
		const { clock, untilWaiting, isInputWaiting, ask } = this.#options;
		const late = new AbortController();
		const cancel = clock.after(LINE_MS, () => late.abort());
		const over = AbortSignal.any([late.signal, this.#phaseOver.signal]);
		try {
			const front = await untilWaiting(0, over);
			if (late.signal.aborted) return false;
			if (over.aborted || isInputWaiting()) return undefined;
			// A key has made the shell start something that reads the next keys.
			if (!isAtPrompt(front)) return false;
			const inputs = this.#inputs;
			this.#isLineEmpty = undefined;
			ask(LINE_KEY);
			while (this.#isLineEmpty === undefined && !over.aborted) await this.#changed.wait(over);
			if (late.signal.aborted) return false;
			if (this.#isLineEmpty === undefined || this.#inputs !== inputs) return undefined;
			if (this.#isLineEmpty) this.#inputsAtEmpty = inputs;
			// A ^C before the shell reads again would cancel its response instead of the line.
			else await untilWaiting(0, over);
			return this.#isLineEmpty;
		} finally {
			cancel();
		}
	}

	#learnPrompt(): Promise<void> {
		this.#learning ??= this.#seePrompt();
		return this.#learning;
	}

	async #seePrompt(): Promise<void> {
		const { clock, untilWaiting } = this.#options;
		const late = new AbortController();
		const cancel = clock.after(LEARN_MS, () => late.abort());
		await untilWaiting(0, late.signal).finally(cancel);
		this.#isLearned = true;
	}

	get #isFree(): boolean {
		if (this.#pending || this.#isPutting || this.#options.isInputWaiting()) return false;
		return this.#marks.phase === "prompt" && this.#inputs === this.#inputsAtEmpty;
	}

	/** A command's end is complete at the next prompt, or when the shell ends. */
	#reportCommands(): void {
		const last = this.#marks.commands.at(-1);
		if (!last) return;
		const isOver = (last.to !== null && this.#marks.phase === "prompt") || this.#options.exit() !== undefined;
		this.events.note(last, isOver);
	}

	#moved(phase: ShellPhase): void {
		this.#movedAt = this.#options.clock.monotonic();
		this.#hasOther = false;
		this.#unmarked = undefined;
		if (phase === "running") this.prompt.noteCommand(this.#options.turns());
		// Before a typed line can remove the marks.
		if (phase === "prompt") this.#learnPrompt().catch(this.#options.onFailure);
		this.#phaseOver.abort();
		this.#phaseOver = new AbortController();
		if (phase === "prompt" && this.#pending && ++this.#pending.prompts >= PROMPTS_UNTIL_LOST) {
			this.#receive(this.#pending, "rejected", { exitCode: null, offset: this.#options.end() });
		}
	}

	#receive(
		sent: Sent,
		reception: CommandReception,
		{ exitCode, offset }: Pick<ReceptionDetails, "exitCode" | "offset">,
	): void {
		this.#pending = undefined;
		sent.reception = reception;
		sent.exitCode = exitCode;
		// Skip what its line editor drew.
		sent.said = { from: Math.min(offset, Math.max(sent.from, this.#options.editedTo())), to: offset };
		if (reception === "begun") {
			this.#marks.name(sent.command);
			sent.seq = this.#marks.commands.at(-1)?.seq ?? null;
		}
		// The rest of it will never come.
		if (reception === "continued") this.#giveUp().catch(this.#options.onFailure);
	}

	/**
	 * Cancels an incomplete line. Shells accept ^C for that only while they read: one that arrives just after the
	 * continuation prompt may have no effect.
	 */
	async #giveUp(): Promise<void> {
		const { untilWaiting, interrupt, exit } = this.#options;
		let after = 0;
		for (let turn = 0; turn < MOST_INTERRUPTS && this.#marks.phase === "continued" && !exit(); turn++) {
			const front = await untilWaiting(after);
			after = front.episode;
			if (this.#marks.phase === "continued" && !exit()) interrupt();
		}
	}

	async #outcome(sent: Sent, until: AbortSignal): Promise<RunOutcome> {
		while (!sent.reception && !until.aborted && !this.#options.exit()) await this.#changed.wait(until);
		const watch = this.#watchForWait();
		try {
			for (;;) {
				const settled = this.#settled(sent);
				if (settled) return settled;
				// A shell that reads the rest of a canceled line is not a command that asks.
				if (watch.found && sent.reception === "begun") return this.#seen(sent, watch.found);
				if (until.aborted) return this.#unsettled("running", sent, await this.#options.inspect());
				await this.#changed.wait(until);
			}
		} finally {
			watch.end();
		}
	}

	/** Watches whether the command waits for input, once it has run for a moment. */
	#watchForWait(): { readonly found: Inspection | undefined; end(): void } {
		const { clock, untilWaiting, onFailure } = this.#options;
		const over = new AbortController();
		let found: Inspection | undefined;
		const look = async () => {
			let front = await untilWaiting(0, over.signal);
			// Marks of this shell may still be on their way. Those of a shell that replaced it never come.
			const leftMs = this.#isUnmarked(front) && !this.#isOther(front) ? this.#marksDueIn(front) : 0;
			if (leftMs > 0) {
				await new Promise<void>((resolve) => clock.after(leftMs, resolve));
				front = await untilWaiting(0, over.signal);
			}
			if (!isWaitingForInput(front) || over.signal.aborted) return;
			found = front;
			this.#changed.happen();
		};
		const cancel = clock.after(LOOK_AFTER_MS, () => void look().catch(onFailure));
		return {
			get found() {
				return found;
			},
			end() {
				cancel();
				over.abort();
			},
		};
	}

	/** Milliseconds left for the marks of an unmarked prompt. A caller may wait in slices that are shorter than this. */
	#marksDueIn({ episode }: Inspection): number {
		const now = this.#options.clock.monotonic();
		if (this.#unmarked?.episode !== episode) this.#unmarked = { episode, at: now };
		return this.#unmarked.at + MARKS_MS - now;
	}

	#settled(sent: Sent): RunOutcome | undefined {
		const { exit, end } = this.#options;
		const { reception } = sent;
		const next = this.#nextOf(sent.origin);
		const isGivenUp = reception === "incomplete" || (reception === "continued" && this.#marks.phase !== "continued");
		if (reception === "rejected" || isGivenUp) {
			const status = isGivenUp ? "incomplete" : "rejected";
			// A canceled line has no output except what the line editor drew.
			const output = isGivenUp || !sent.said ? { from: sent.from, to: sent.from } : sent.said;
			return { status, exact: true, seq: null, exitCode: sent.exitCode, cwd: this.cwd, output, front: null, next };
		}
		const found = this.#commandOf(sent);
		const from = found?.from ?? sent.from;
		// Its directory is reported right after its end.
		const isOver = found !== undefined && (found.cwd !== null || this.#marks.phase !== "ended");
		if (isOver && found.to !== null) {
			const { seq, exitCode, cwd, to } = found;
			const output = { from, to };
			// If the user's prompt has replaced our hook, the shell marks the end but not the exit code.
			const exact = exitCode !== null;
			return { status: "ended", exact, seq, exitCode, cwd, output, front: null, next };
		}
		// The command ended the shell.
		const last = exit();
		if (!last) return undefined;
		const output = { from, to: end() };
		const { seq } = sent;
		return { status: "ended", exact: true, seq, exitCode: last.code, cwd: null, output, front: null, next };
	}

	#unsettled(status: "running" | "waiting", sent: Sent, front: Inspection): RunOutcome {
		const { from } = this.#commandOf(sent) ?? sent;
		// Later output is the shell's prompt.
		const ended = sent.seq === this.#marks.commands.at(-1)?.seq ? this.#marks.outputEnd : null;
		const output = { from, to: sent.reception === "begun" ? (ended ?? this.#options.end()) : from };
		const next = this.#nextOf(sent.origin);
		return { status, exact: true, seq: sent.seq, exitCode: null, cwd: this.cwd, output, front, next };
	}

	/** The foreground process waits: the command, or the shell if the end was not marked. */
	#seen(sent: Sent, front: Inspection): RunOutcome {
		const answer = this.#unsettled("waiting", sent, front);
		return this.#isUnmarked(front) ? { ...answer, status: "ended", exact: false, cwd: front.cwd, front: null } : answer;
	}

	#commandOf({ seq }: Sent): ShellCommand | undefined {
		return this.#marks.commands.find((command) => command.seq === seq);
	}

	async #busy(origin: StreamPosition | undefined): Promise<RunOutcome> {
		const { end, inspect } = this.#options;
		const why = this.#busyReason;
		const front = await inspect();
		if (front.state === "ended") throw shellEndedError();
		const output = { from: end(), to: end() };
		const next = this.#nextOf(origin);
		return { status: "busy", why, exact: true, seq: null, exitCode: null, cwd: this.cwd, output, front, next };
	}

	get #busyReason(): BusyReason {
		if (this.#isOnItsWay) return "starting";
		const isTyped = this.#marks.phase === "prompt" || this.#marks.phase === "continued";
		return isTyped && !this.#pending && !this.#isPutting ? "typed" : "command";
	}

	#nextOf(origin: StreamPosition | undefined): number {
		return origin ? this.#options.receipt(origin.stream).next : 0;
	}
}

function isOwnKey(bytes: Uint8Array): boolean {
	return [RUN_KEY, LINE_KEY].some((key) => key.length === bytes.length && key.every((byte, at) => byte === bytes[at]));
}
