/**
 * A running program, on a terminal or on pipes: its output, its exit, the end of its output, its end.
 *
 *   running ──leader reaped──▶ exited ──outputs at their end, or drained after drainMs──▶ closed
 *
 * `exited` is reported at once, `closed` when no byte can follow. The drain time runs only while output is read.
 * Killing the tree ends the wait.
 */

import { closeSync } from "node:fs";
import type { Clock } from "../core/async/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Fact } from "../core/log/event.ts";
import {
	type Command,
	checkSize,
	type KillOptions,
	type Process,
	type TerminalState,
	withReason,
} from "../core/process/process.ts";
import type { ProcessSnapshot } from "../core/process/process-snapshot.ts";
import { inspect, isNativeError, type Reaped } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import type { Exit, Size, Stream } from "../words/state.ts";
import { Writer } from "./input-writer.ts";
import { InspectionTurns } from "./inspection-turns.ts";
import { defaultGraceMs, type Killing, killRemaining, killTree } from "./kill.ts";
import type { OomCounter } from "./oom-counter.ts";
import type { OutputReader, OutputReaderOptions } from "./output-reader.ts";
import { signalName, signalNumber } from "./signal-numbers.ts";

/** One output of a program. The reader takes ownership of its descriptors. */
export type Output = {
	readonly stream: Stream;
	readonly fds: readonly number[];
	readonly open: (options: OutputReaderOptions) => OutputReader;
};

/**
 * The input and outputs of a program: the differences between a terminal and pipes. Not used after `closed`, when the
 * descriptors may be reused.
 */
export type Stdio = {
	readonly kind: "pty" | "pipe";
	/** The signal that asks a tree to exit. */
	readonly hangUp: number;
	readonly outputs: readonly Output[];
	/** Called only until the leader was reaped. */
	signal(signo: number): void;
	eof(writer: Writer): Promise<void>;
	resize(size: Size): void;
	terminal(): TerminalState | undefined;
};

type ProgramOptions = {
	/** The program takes ownership of its descriptors. */
	readonly minder: Minder;
	readonly stdio: Stdio;
	readonly command: Command;
	readonly report: (fact: Fact) => void;
	readonly clock: Clock;
	readonly oom: OomCounter;
};

export class Program implements Process {
	readonly pid: number;
	readonly gone: Promise<void>;
	readonly #minder: Minder;
	readonly #command: Command;
	readonly #stdio: Stdio;
	readonly #clock: Clock;
	readonly #report: (fact: Fact) => void;
	readonly #oom: OomCounter;
	readonly #writer: Writer;
	readonly #readers: OutputReader[] = [];
	readonly #inspections = new InspectionTurns();
	readonly #slave: number;
	readonly #closed: Promise<void>;
	#resolveClosed: () => void = () => {};
	#hasExited = false;
	#isClosed = false;
	#isPaused = false;
	#cancelDrain: (() => void) | undefined;
	/** The drain time is over. */
	#isDrained = false;
	#killing: Killing | undefined;
	#isKilled = false;
	/** The kill of processes left behind by a killed minder. */
	#survivors: Promise<void> | undefined;
	/** The first request that gave a reason for the end. */
	#ending: KillOptions | undefined;

	constructor({ minder, stdio, command, report, clock, oom }: ProgramOptions) {
		this.pid = minder.pid;
		this.#minder = minder;
		this.#command = command;
		this.#stdio = stdio;
		this.#clock = clock;
		this.#report = report;
		this.#oom = oom;
		this.#slave = minder.ends.slave;
		this.gone = this.#untilGone();
		this.#closed = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
		try {
			for (const { stream, open } of stdio.outputs) {
				this.#readers.push(open({ clock, stream, report, onEnd: () => this.#closeIfOver() }));
			}
			minder.onExit((reaped) => this.#exit(reaped));
		} catch (thrown) {
			this.#releaseAll();
			throw thrown;
		}
		this.#writer = new Writer(minder.ends.input, clock);
	}

	write(bytes: Uint8Array): Promise<void> | void {
		return this.#writer.write(bytes);
	}

	async eof(): Promise<void> {
		if (!this.#isClosed) await this.#stdio.eof(this.#writer);
	}

	resize(size: Size): void {
		checkSize(size);
		if (!this.#isClosed) this.#stdio.resize(size);
	}

	signal(name: string): void {
		const signo = signalNumber(name);
		if (this.#hasExited) return;
		try {
			this.#stdio.signal(signo);
		} catch (thrown) {
			if (!isNativeError(thrown) || thrown.code !== "EPERM") throw thrown;
			throw new SessionError("permission_denied", "the server may not signal this program: it runs as another user", {
				cause: thrown,
			});
		}
	}

	pause(): void {
		this.#isPaused = true;
		this.#cancelDrain?.();
		this.#cancelDrain = undefined;
		for (const reader of this.#readers) reader.pause();
	}

	resume(): void {
		if (!this.#isPaused) return;
		this.#isPaused = false;
		for (const reader of this.#readers) reader.resume();
		if (this.#hasExited) this.#limitDrain();
	}

	catchUp(): void {
		if (!this.#isClosed) for (const reader of this.#readers) reader.catchUp();
	}

	terminal(): TerminalState | undefined {
		return this.#isClosed ? undefined : this.#stdio.terminal();
	}

	async look(): Promise<ProcessSnapshot | undefined> {
		if (this.#isClosed) return undefined;
		const snapshot = await this.#inspections.run(() => inspect(this.#writer.fd, this.#minder.ownPid));
		// Output written before the program began to wait must be reported before this snapshot. Even a program that waits
		// may have a thread that runs, such as fish while it colors a line.
		if (!snapshot.runs || snapshot.reads || snapshot.listens) this.catchUp();
		return snapshot;
	}

	async kill(options: KillOptions = {}): Promise<void> {
		const signo = options.signal === undefined ? this.#stdio.hangUp : signalNumber(options.signal);
		const graceMs = options.graceMs ?? defaultGraceMs;
		if (!this.#hasExited && options.reason !== undefined) this.#ending ??= options;
		if (this.#killing === undefined) this.#killing = killTree(this.#minder, this.#command.sessionId, signo, graceMs);
		else this.#killing.hasten(signo, graceMs);
		try {
			await this.#killing.done;
			await this.#survivors;
		} finally {
			this.#killing = undefined;
		}
		// The exit may not be reported yet. Output that other processes hold open no longer matters.
		this.#isKilled = true;
		if (this.#hasExited) this.#finish();
		await this.#closed;
	}

	/** A killed minder leaves processes behind. If they can't be killed, the program is not gone. */
	async #untilGone(): Promise<void> {
		await this.#minder.gone;
		await this.#survivors?.catch(() => new Promise(() => {}));
		await this.#closed;
	}

	#exit(reaped: Reaped | undefined): void {
		this.#hasExited = true;
		for (const reader of this.#readers) reader.catchUp();
		if (reaped === undefined) {
			// Without the minder some descendants can't be found, but those with the marker can.
			this.#survivors = killRemaining(this.#command.sessionId);
			this.#survivors.catch(() => {});
			this.#close({
				kind: "lost",
				message: "the program's minder was killed; how the program ended is unknown",
			});
			return;
		}
		const exit: Exit = { code: reaped.code, signal: reaped.signal === null ? null : signalName(reaped.signal) };
		const isOom = this.#oom.hasJustGrown() && exit.signal === "SIGKILL" && this.#killing === undefined;
		this.#report({ kind: "exited", exit: isOom ? { ...exit, reason: "oom" } : withReason(exit, this.#ending) });
		// Only now may the terminal hang up. Until here we kept it open, because a program may close its descriptors and
		// open /dev/tty later.
		if (this.#slave >= 0) closeSync(this.#slave);
		// A pipe without a reader fails by itself. A terminal would accept bytes that no process reads.
		if (this.#stdio.kind === "pty") this.#writer.refuse("the program has ended");
		if (this.#isKilled) this.#finish();
		else this.#limitDrain();
		this.#closeIfOver();
	}

	#limitDrain(): void {
		const { drainMs } = this.#command;
		if (this.#isClosed || this.#isPaused || drainMs === null) return;
		this.#cancelDrain ??= this.#clock.after(drainMs, () => {
			this.#isDrained = true;
			this.#finish();
		});
	}

	#finish(): void {
		for (const reader of this.#readers) reader.finish();
	}

	#closeIfOver(): void {
		if (!this.#hasExited || !this.#readers.every((reader) => reader.isEnded)) return;
		// An output that has ended in the meantime was not cut short.
		const isCutShort = this.#isDrained && this.#readers.some((reader) => reader.isCutShort);
		this.#close(isCutShort ? { kind: "closed", isCutShort } : { kind: "closed" });
	}

	#close(last: Fact): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#cancelDrain?.();
		if (last.kind === "lost") {
			this.#finish();
			if (this.#slave >= 0) closeSync(this.#slave);
		}
		this.#writer.close("the program has ended");
		this.#report(last);
		this.#resolveClosed();
	}

	/**
	 * Closes all descriptors when the program can't be watched for lack of resources. The minder then kills the program.
	 */
	#releaseAll(): void {
		for (const reader of this.#readers) reader.finish();
		const unread = this.#stdio.outputs.slice(this.#readers.length).flatMap(({ fds }) => fds);
		const { input, slave } = this.#minder.ends;
		for (const fd of [input, slave, ...unread]) if (fd >= 0) closeSync(fd);
	}
}
