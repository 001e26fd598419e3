/**
 * A running program, the same on a terminal and on pipes: its output, its exit, the end of its output, its end.
 *
 *   running ──leader reaped──▶ exited ──outputs at their end, or drained after drainMs──▶ closed
 *
 * `exited` comes at once, `closed` when no byte can follow. While paused nobody is hurried: the time for
 * draining runs only while we read. Killing the tree ends the waiting.
 */

import { closeSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Exit, Fact, Size, Stream } from "../core/event.ts";
import type { Sight } from "../core/inspection.ts";
import {
	type Command,
	checkSize,
	type KillOptions,
	type Process,
	type TerminalState,
	withReason,
} from "../core/process.ts";
import { inspect, isNativeError, type Reaped } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import { defaultGraceMs, type Killing, killSurvivors, killTree } from "./kill.ts";
import { inTurn } from "./looks.ts";
import type { OomCounter } from "./oom.ts";
import type { OutputReader, OutputReaderOptions } from "./output-reader.ts";
import { signalName, signalNumber } from "./signals.ts";
import { Writer } from "./writer.ts";

/** One output of a program; its descriptors become the reader's own when it is opened. */
export type Output = {
	readonly stream: Stream;
	readonly fds: readonly number[];
	readonly open: (options: OutputReaderOptions) => OutputReader;
};

/** What a program reads from and writes to: all that differs between a terminal and pipes. Not called after `closed`, when the descriptors may be another's. */
export type Stdio = {
	readonly kind: "pty" | "pipe";
	/** What asks a tree to end. */
	readonly hangUp: number;
	readonly outputs: readonly Output[];
	/** Called only while the leader was not reaped. */
	signal(signo: number): void;
	eof(writer: Writer): Promise<void>;
	resize(size: Size): void;
	terminal(): TerminalState | undefined;
};

type ProgramOptions = {
	/** Its ends become the program's own. */
	readonly minder: Minder;
	readonly stdio: Stdio;
	readonly command: Command;
	readonly report: (fact: Fact) => void;
	readonly clock: Clock;
	readonly oom: OomCounter;
};

export class Program implements Process {
	readonly pid: number;
	readonly #minder: Minder;
	readonly #command: Command;
	readonly #stdio: Stdio;
	readonly #clock: Clock;
	readonly #report: (fact: Fact) => void;
	readonly #oom: OomCounter;
	readonly #writer: Writer;
	readonly #readers: OutputReader[] = [];
	readonly #slave: number;
	readonly #closed: Promise<void>;
	#resolveClosed: () => void = () => {};
	#hasExited = false;
	#isClosed = false;
	#isPaused = false;
	#cancelDrain: (() => void) | undefined;
	/** The time for draining is over. */
	#isDrained = false;
	#killing: Killing | undefined;
	#isKilled = false;
	/** The end of what was left of a program whose minder was killed. */
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
		this.#closed = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
		try {
			for (const { stream, open } of stdio.outputs) {
				const onBytes = (bytes: Uint8Array) => report({ kind: "output", stream, bytes });
				this.#readers.push(open({ clock, onBytes, onEnd: () => this.#closeIfOver() }));
			}
			minder.onExit((reaped) => this.#exit(reaped));
		} catch (thrown) {
			this.#letGo();
			throw thrown;
		}
		this.#writer = new Writer(minder.ends.input, clock);
	}

	write(bytes: Uint8Array): Promise<void> {
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
			throw new SessionError("permission_denied", `the program runs as a user whom the server may not signal`, {
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

	terminal(): TerminalState | undefined {
		return this.#isClosed ? undefined : this.#stdio.terminal();
	}

	async look(): Promise<Sight | undefined> {
		if (this.#isClosed) return undefined;
		const sight = await inTurn(() => inspect(this.#writer.fd, this.#minder.ownPid));
		// What it wrote before it began to wait belongs before that.
		if (!this.#isClosed && !sight.runs) for (const reader of this.#readers) reader.catchUp();
		return sight;
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
		// Its own end may still be on the way to us; whatever others hold open can't matter any more.
		this.#isKilled = true;
		if (this.#hasExited) this.#finish();
		await this.#closed;
	}

	#exit(reaped: Reaped | undefined): void {
		this.#hasExited = true;
		for (const reader of this.#readers) reader.catchUp();
		if (reaped === undefined) {
			// Nobody is left who would see all that it started; what carries the marker is found all the same.
			this.#survivors = killSurvivors(this.#command.sessionId);
			this.#survivors.catch(() => {});
			this.#close({
				kind: "lost",
				message: "the process that watched over its program was killed; how the program ended is unknown",
			});
			return;
		}
		const exit: Exit = { code: reaped.code, signal: reaped.signal === null ? null : signalName(reaped.signal) };
		const isOom = this.#oom.hasJustGrown() && exit.signal === "SIGKILL" && this.#killing === undefined;
		this.#report({ kind: "exited", exit: isOom ? { ...exit, reason: "oom" } : withReason(exit, this.#ending) });
		// Only now can the terminal hang up, when no other process has it open. Up to here we had: a program that
		// closes its descriptors and opens /dev/tty later must find it as it was.
		if (this.#slave >= 0) closeSync(this.#slave);
		// A pipe without a reader says so; a terminal would go on taking bytes that nobody will ever read.
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
		// What had ended by then, and we had no turn to hear of, was not cut short.
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

	/** Closes all, when the kernel has nothing left for reading the output or hearing of the end; the minder ends the program then. */
	#letGo(): void {
		for (const reader of this.#readers) reader.finish();
		const unread = this.#stdio.outputs.slice(this.#readers.length).flatMap(({ fds }) => fds);
		const { input, slave } = this.#minder.ends;
		for (const fd of [input, slave, ...unread]) if (fd >= 0) closeSync(fd);
	}
}
