/**
 * Runs commands in a living shell: each once, and, where it has our hooks, told exactly by the shell's own marks. Where
 * it has none, `plain-shell.ts` does what can be done.
 *
 * With hooks, nothing of a command is typed. It is put where they fetch it when a key arrives that no keyboard has; the
 * key goes through the session's input like any other, so a repeat of it is recognised by its place in its stream.
 */

import type { ActOptions, Origin } from "./act.ts";
import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import { CommandEvents } from "./command-events.ts";
import { SessionError } from "./errors.ts";
import { type Inspection, isWaiting } from "./inspection.ts";
import { PlainShell, type PlainShellOptions, shellEnded } from "./plain-shell.ts";
import type { RunAnswer, RunRequest } from "./run.ts";
import type { ShellMark } from "./scan.ts";
import { type SentCommand, SentCommands } from "./sent-commands.ts";
import type { SessionStart } from "./session.ts";
import {
	type Reception,
	type ReceptionDetails,
	type ShellCommand,
	ShellMarks,
	type ShellPhase,
} from "./shell-marks.ts";

/** `CSI 7707 ; 1 ~`, to which the hooks are bound. */
const RUN_KEY: Uint8Array = new TextEncoder().encode("\u001b[7707;1~");
/** Before that a command is not looked at: most are over, and who is about to read is not there yet. */
const LOOK_AFTER_MS = 30;
/**
 * A shell that is at a prompt so long after its start, or its last mark, without having marked that, does not mark any
 * more: it was kept from reading our files, or its output leads elsewhere.
 */
const HOOKS_MS = 3_000;
/** How often it is looked whether it is, from then on. */
const HOOKS_LOOK_MS = 250;
/** Marks are there before the shell reads; who reads so long without is a command that has a line edited, or marks are lost. */
const MARKS_MS = 1_000;
/** A key that was not received by the second prompt after it was eaten by something else. */
const PROMPTS_UNTIL_LOST = 2;
/** How often a line that is not whole is tried to be ended: a shell that has not heeded so many heeds none. */
const MOST_INTERRUPTS = 3;

/** What a session with hooks has besides. */
export type ShellHooks = {
	/** Shown by the shell's marks, and by nobody else's. */
	readonly key: string;
	/** Puts a command where the shell fetches it, with a word that its end is known by; resolves with that. */
	put(command: string): Promise<string>;
	/** The shell has fetched what there was; nothing of it need stay. */
	clear(): Promise<void>;
	/** The shell has ended. */
	end(): Promise<void>;
};

/** A start whose shell has hooks. */
export type HookedStart = { readonly start: SessionStart; readonly hooks: ShellHooks };

/** A command on its way to the shell. */
type Sent = SentCommand & {
	/** The output's end at that time. */
	readonly from: number;
	reception: Reception | undefined;
	/** How many prompts came since, while it was not received. */
	prompts: number;
	seq: number | null;
	exitCode: number | null;
	/** What the shell said when it refused it. */
	said: RunAnswer["output"] | null;
};

type ShellRunnerOptions = PlainShellOptions & {
	readonly hooks: ShellHooks | undefined;
	/** Where a line editor last gave the terminal back. */
	readonly editedTo: () => number;
	readonly clock: Clock;
	readonly onFailure: (error: unknown) => void;
};

export class ShellRunner {
	readonly #options: ShellRunnerOptions;
	readonly #marks: ShellMarks;
	readonly #plain: PlainShell;
	/** When its phase began. */
	#movedAt: number;
	readonly #changed = new Change();
	readonly events: CommandEvents = new CommandEvents();
	readonly #sent: SentCommands<Sent>;
	/** What the shell has not received yet. */
	#pending: Sent | undefined;
	/** A command is being put where the shell fetches it. */
	#isPutting = false;
	/** Somebody has typed at the prompt, or since the last command. */
	#isTyped = false;

	constructor(options: ShellRunnerOptions) {
		this.#options = options;
		this.#plain = new PlainShell(options);
		this.#sent = new SentCommands(options.receipt);
		this.#movedAt = options.clock.monotonic();
		this.#marks = new ShellMarks({
			key: options.hooks?.key ?? null,
			onReception: (reception, { isTyped, exitCode, offset }) => {
				// What somebody typed ahead comes first, and ours is still to come.
				if (this.#pending && !isTyped) this.#receive(this.#pending, reception, { exitCode, offset });
			},
		});
	}

	get commands(): readonly ShellCommand[] {
		return this.#marks.commands;
	}

	/** Where the shell is, as far as it told. */
	get cwd(): string | null {
		return this.#marks.cwd;
	}

	takeMark(mark: ShellMark): void {
		const { hooks, clock, onFailure } = this.#options;
		const before = this.#marks.phase;
		this.#marks.take(mark, clock.now());
		const { phase } = this.#marks;
		if (phase !== before) this.#moved(phase);
		this.#tellCommands();
		// What was typed before a command begins first, and the command is still to be fetched.
		const isFetched = phase === "running" && !this.#pending;
		if (phase !== before && (before === "starting" || isFetched)) hooks?.clear().catch(onFailure);
		this.#changed.happen();
	}

	/** The program ended, with all of its output. */
	noteEnd(): void {
		this.#tellCommands();
		this.#options.hooks?.end().catch(this.#options.onFailure);
		this.#plain.noteEnd();
		this.#changed.happen();
	}

	/** Somebody's input was written, which may be a part of a line. Answers of terminals are none. */
	noteInput(bytes: Uint8Array): void {
		const { phase } = this.#marks;
		if (!isTyping(bytes)) return;
		if (phase === "prompt" || phase === "ended") this.#isTyped = true;
		this.#plain.noteInput(bytes);
	}

	async run({ command, timeoutMs, options }: RunRequest, signal?: AbortSignal): Promise<RunAnswer> {
		const { clock } = this.#options;
		const deadline = new AbortController();
		const cancel = clock.after(timeoutMs, () => deadline.abort());
		const until = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
		try {
			if (typeof command === "number") return await this.#outcome(this.#known(command), until);
			if (await this.#isPlain(options.origin, until)) return await this.#plain.run(command, options, until);
			const sent = this.#sent.repeated(command, options.origin) ?? (await this.#send(command, options, until));
			return sent ? await this.#outcome(sent, until) : await this.#busy(options.origin);
		} finally {
			cancel();
		}
	}

	/** Whether there is nothing but the kernel that tells what the shell does. */
	async #isPlain(origin: Origin | undefined, until: AbortSignal): Promise<boolean> {
		const { hooks, clock, exit, inspect } = this.#options;
		if (!hooks || this.#plain.has(origin)) return true;
		if (this.#sent.has(origin)) return false;
		while (this.#marks.phase !== "prompt" && !until.aborted && !exit()) {
			const leftMs = this.#movedAt + HOOKS_MS - clock.monotonic();
			if (leftMs <= 0 && this.#isUnmarked(await inspect())) return true;
			if (!this.#isOnItsWay) return false;
			const cancel = clock.after(Math.max(leftMs, HOOKS_LOOK_MS), () => this.#changed.happen());
			await this.#changed.next(until);
			cancel();
		}
		return false;
	}

	/** Whether the shell takes a command, and its marks do not say so. */
	#isUnmarked(front: Inspection): boolean {
		return this.#isOnItsWay ? this.#plain.isAtPrompt(front) : this.#isOwnPrompt(front) && front.confidence === "sure";
	}

	/** Sure if its prompt was marked last; else a command that it runs itself may have a line edited. */
	#isOwnPrompt({ state, pid }: Inspection): boolean {
		return state === "prompt" && pid === this.#options.pid();
	}

	/** What a shell does before its prompt may take any time. */
	get #isOnItsWay(): boolean {
		return this.#marks.phase === "ended" || this.#marks.phase === "starting";
	}

	#known(seq: number): Sent {
		const found = this.#marks.commands.find((command) => command.seq === seq);
		if (!found) throw new SessionError("not_found", `there is no command ${seq} in this session any more`);
		const { from, exitCode } = found;
		return { command: "", origin: undefined, from, reception: "begun", prompts: 0, seq, exitCode, said: null };
	}

	/** Undefined if something else runs or is being typed: nothing was sent then. */
	async #send(command: string, options: ActOptions, until: AbortSignal): Promise<Sent | undefined> {
		const { hooks, end, type, exit } = this.#options;
		// A command that is just being put is waited for at any rate: it may be this one. Of those who wait the first goes on
		// to put its own before another is woken.
		while (this.#isPutting || (this.#isOnItsWay && !until.aborted && !exit())) {
			await this.#changed.next(this.#isPutting ? undefined : until);
		}
		const known = this.#sent.repeated(command, options.origin);
		if (known || !hooks || !this.#isFree) return known;
		this.#isPutting = true;
		try {
			this.#marks.expect(await hooks.put(command));
		} finally {
			this.#isPutting = false;
			this.#changed.happen();
		}
		// Somebody may have typed meanwhile, or have ended the shell.
		if (!this.#isFree) return undefined;
		type(RUN_KEY, options);
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

	get #isFree(): boolean {
		if (this.#pending || this.#isPutting || this.#isTyped || this.#options.isInputWaiting()) return false;
		return this.#marks.phase === "prompt";
	}

	/** All is known of a command's end at the next prompt, or with the end of the shell. */
	#tellCommands(): void {
		const last = this.#marks.commands.at(-1);
		if (!last) return;
		const isOver = (last.to !== null && this.#marks.phase === "prompt") || this.#options.exit() !== undefined;
		this.events.note(last, isOver);
	}

	#moved(phase: ShellPhase): void {
		this.#movedAt = this.#options.clock.monotonic();
		// The shell has the line that was typed; what comes from now on is on the next one.
		if (phase === "running" || phase === "ended") this.#isTyped = false;
		if (phase === "prompt" && this.#pending && ++this.#pending.prompts >= PROMPTS_UNTIL_LOST) {
			this.#receive(this.#pending, "rejected", { exitCode: null, offset: this.#options.end() });
		}
	}

	#receive(
		sent: Sent,
		reception: Reception,
		{ exitCode, offset }: Pick<ReceptionDetails, "exitCode" | "offset">,
	): void {
		this.#pending = undefined;
		sent.reception = reception;
		sent.exitCode = exitCode;
		// After what its line editor drew.
		sent.said = { from: Math.min(offset, Math.max(sent.from, this.#options.editedTo())), to: offset };
		if (reception === "begun") {
			this.#marks.name(sent.command);
			sent.seq = this.#marks.commands.at(-1)?.seq ?? null;
		}
		// The rest of it will never come.
		if (reception === "continued") this.#giveUp().catch(this.#options.onFailure);
	}

	/**
	 * Ends a line that is not whole. Shells take ^C for that only while they read: one that comes when the prompt for the
	 * rest was just written may end nothing.
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

	async #outcome(sent: Sent, until: AbortSignal): Promise<RunAnswer> {
		while (!sent.reception && !until.aborted && !this.#options.exit()) await this.#changed.next(until);
		const watch = this.#watchForWait();
		try {
			for (;;) {
				const settled = this.#settled(sent);
				if (settled) return settled;
				// A shell that reads the rest of what is given up is no command that asks.
				if (watch.found && sent.reception === "begun") return this.#seen(sent, watch.found);
				if (until.aborted) return this.#unsettled("running", sent, await this.#options.inspect());
				await this.#changed.next(until);
			}
		} finally {
			watch.end();
		}
	}

	/** Looks whether the command wants something typed, as soon as it has run for a moment. */
	#watchForWait(): { readonly found: Inspection | undefined; end(): void } {
		const { clock, untilWaiting, onFailure } = this.#options;
		const over = new AbortController();
		let found: Inspection | undefined;
		const look = async () => {
			let front = await untilWaiting(0, over.signal);
			if (this.#isOwnPrompt(front)) {
				await new Promise<void>((resolve) => clock.after(MARKS_MS, resolve));
				front = await untilWaiting(0, over.signal);
			}
			if (!isWaiting(front) || over.signal.aborted) return;
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

	#settled(sent: Sent): RunAnswer | undefined {
		const { exit, end } = this.#options;
		const { reception } = sent;
		const next = this.#nextOf(sent.origin);
		const isGivenUp = reception === "incomplete" || (reception === "continued" && this.#marks.phase !== "continued");
		if (reception === "rejected" || isGivenUp) {
			const status = isGivenUp ? "incomplete" : "rejected";
			// Of what was given up there is only what the line editor drew.
			const output = isGivenUp || !sent.said ? { from: sent.from, to: sent.from } : sent.said;
			return { status, exact: true, seq: null, exitCode: sent.exitCode, cwd: this.cwd, output, front: null, next };
		}
		const found = this.#commandOf(sent);
		const from = found?.from ?? sent.from;
		// Its directory is told right after its end.
		const isOver = found !== undefined && (found.cwd !== null || this.#marks.phase !== "ended");
		if (isOver && found.to !== null) {
			const { seq, exitCode, cwd, to } = found;
			const output = { from, to };
			return { status: "ended", exact: true, seq, exitCode, cwd: cwd ?? this.cwd, output, front: null, next };
		}
		// It ended the shell.
		const last = exit();
		if (!last) return undefined;
		const output = { from, to: end() };
		const { seq } = sent;
		return { status: "ended", exact: true, seq, exitCode: last.code, cwd: null, output, front: null, next };
	}

	#unsettled(status: "running" | "waiting", sent: Sent, front: Inspection): RunAnswer {
		const { from } = this.#commandOf(sent) ?? sent;
		const output = { from, to: sent.reception === "begun" ? this.#options.end() : from };
		const next = this.#nextOf(sent.origin);
		return { status, exact: true, seq: sent.seq, exitCode: null, cwd: this.cwd, output, front, next };
	}

	/** What is in front waits: the command, or, if its end was not marked, the shell. */
	#seen(sent: Sent, front: Inspection): RunAnswer {
		const answer = this.#unsettled("waiting", sent, front);
		return this.#isUnmarked(front) ? { ...answer, status: "ended", exact: false, cwd: front.cwd, front: null } : answer;
	}

	#commandOf({ seq }: Sent): ShellCommand | undefined {
		return this.#marks.commands.find((command) => command.seq === seq);
	}

	async #busy(origin: Origin | undefined): Promise<RunAnswer> {
		const { end, inspect } = this.#options;
		const front = await inspect();
		if (front.state === "ended") throw shellEnded();
		const output = { from: end(), to: end() };
		const next = this.#nextOf(origin);
		return { status: "busy", exact: true, seq: null, exitCode: null, cwd: this.cwd, output, front, next };
	}

	#nextOf(origin: Origin | undefined): number {
		return origin ? this.#options.receipt(origin.stream).next : 0;
	}
}

/** Text, keys and pastes; but not what a terminal answers or tells, which begins with an escape. */
function isTyping(bytes: Uint8Array): boolean {
	if (bytes[0] !== 0x1b) return bytes.byteLength > 0;
	return new TextDecoder().decode(bytes.subarray(0, 6)) === "\u001b[200~";
}
