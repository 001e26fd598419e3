/**
 * One program of a client: a core session, read once from its beginning to its end.
 *
 *   running ──exited──▶ draining ──closed, and everything told──▶ `ended` resolves
 *
 * While it drains it can't be acted on any more, but output may still come, for as long as the core waits for it.
 */

import { constants } from "node:os";
import type { Act } from "../../../core/act.ts";
import type { Exit, Size } from "../../../core/event.ts";
import { OutputCap } from "../../../core/output-cap.ts";
import type { Session } from "../../../core/session.ts";
import { refused } from "../errors.ts";
import type { AppLimits } from "../limits.ts";
import { Input } from "./input.ts";
import type { OutputStream, Sink } from "./output.ts";
import type { Wording } from "./wording.ts";

export type Ending = {
	readonly exitCode: number;
	/** Whether somebody still held its output when no more was waited for. */
	readonly outputDrainTimedOut: boolean;
	readonly stdout: string;
	readonly stdoutCapReached: boolean;
	readonly stderr: string;
	readonly stderrCapReached: boolean;
};

export type ProcessOptions = {
	readonly id: string;
	readonly session: Session;
	readonly wording: Wording;
	readonly isWritable: boolean;
	/** Of each stream; null for all there is. */
	readonly cap: number | null;
	/** It has no time at all: what it would have ended with by itself is of no interest. */
	readonly isOverdue: boolean;
	readonly sink: Sink;
	readonly limits: AppLimits;
	/** Aborted when its connection is gone. */
	readonly signal: AbortSignal;
	readonly report: (problem: unknown) => void;
};

const TIMED_OUT = 124;
/** When nobody can know how it ended. */
const UNKNOWN_EXIT = -1;
const atOnce = { signal: "SIGKILL", graceMs: 0 } as const;
const NEWLINE = Uint8Array.of(0x0a);

export class AppProcess {
	readonly ended: Promise<Ending>;
	readonly #options: ProcessOptions;
	readonly #input: Input;
	readonly #cap: OutputCap;
	#isStdinClosed = false;
	#isCutShort = false;

	constructor(options: ProcessOptions) {
		const { session, isOverdue } = options;
		this.#options = options;
		this.#input = new Input(options);
		this.#cap = new OutputCap(options.cap);
		const unwatch = session.watch(() => this.#note());
		this.#note();
		if (isOverdue) this.#kill("timeout");
		this.ended = this.#read().finally(unwatch);
	}

	/** Resolves when the input is queued, or done if it may have to be approved. In this order, whatever else is asked meanwhile: the bytes, then the end. */
	async write(bytes: Uint8Array | null, isClosing: boolean): Promise<void> {
		this.#checkRunning();
		const { isWritable, wording, session } = this.#options;
		if (!isWritable) throw refused(wording.noStdin);
		const hasBytes = bytes !== null && bytes.byteLength > 0;
		if (hasBytes && this.#isStdinClosed) throw refused("stdin is already closed");
		this.#input.checkRoom();
		const acts: Act[] = hasBytes ? [{ kind: "write", bytes }] : [];
		const isEnding = isClosing && !this.#isStdinClosed;
		if (isEnding) {
			this.#isStdinClosed = true;
			// A terminal takes its end-of-file character for that only at the beginning of a line.
			if (session.spec.mode === "pty") acts.push({ kind: "write", bytes: NEWLINE });
			acts.push({ kind: "eof" });
		}
		if (acts.length === 0) return;
		try {
			await this.#input.add(...acts);
		} catch (error) {
			if (isEnding) this.#isStdinClosed = false;
			throw error;
		}
	}

	async resize(size: Size): Promise<void> {
		this.#checkRunning();
		if (this.#options.session.spec.mode !== "pty")
			throw refused("failed to resize PTY: process is not attached to a PTY");
		this.#input.checkRoom();
		await this.#input.add({ kind: "resize", size });
	}

	/** The signal is on its way when this returns, whatever waits in the input. */
	terminate(): void {
		this.#checkRunning();
		this.#kill("killed");
	}

	#kill(reason: "timeout" | "killed"): void {
		const { session, report } = this.#options;
		session.kill({ ...atOnce, reason }).catch(report);
	}

	#checkRunning(): void {
		if (this.#options.session.state.status !== "running") throw this.#over();
	}

	#over(): Error {
		const { wording, id } = this.#options;
		return refused(wording.over(id));
	}

	#note(): void {
		if (this.#options.session.state.status !== "running") this.#input.close(this.#over());
	}

	async #read(): Promise<Ending> {
		const { session, sink, signal, report } = this.#options;
		try {
			for await (const item of session.follow({ seq: 1 }, { flow: "lossless", signal })) {
				if (item.kind === "gap")
					report(new Error(`invariant: ${item.to - item.from} bytes lost before they were read`));
				if (item.kind === "closed") this.#isCutShort = item.isCutShort ?? false;
				if (item.kind !== "output") continue;
				// After the cap it is read and thrown away, so that the program neither waits nor ends for it.
				const capped = this.#cap.take(item.stream, item.bytes);
				if (!capped) continue;
				sink.add(streamOf(item.stream), capped);
				const room = sink.room();
				if (room !== undefined) await room;
			}
		} catch (error) {
			this.#kill("killed");
			throw error;
		}
		await sink.flushed();
		return this.#ending();
	}

	#ending(): Ending {
		const { session, isOverdue, sink } = this.#options;
		return {
			exitCode: isOverdue ? TIMED_OUT : exitCode(session.state.exit),
			outputDrainTimedOut: this.#isCutShort,
			stdout: sink.text("stdout"),
			stdoutCapReached: this.#cap.hasReached("stdout") || this.#cap.hasReached("pty"),
			stderr: sink.text("stderr"),
			stderrCapReached: this.#cap.hasReached("stderr"),
		};
	}
}

function streamOf(stream: "stdout" | "stderr" | "pty"): OutputStream {
	return stream === "stderr" ? "stderr" : "stdout";
}

/** As shells say it: the code, or 128 and the number of the signal; of one whose time was over neither. */
function exitCode(exit: Exit | null): number {
	if (exit?.reason === "timeout") return TIMED_OUT;
	if (!exit) return UNKNOWN_EXIT;
	if (exit.code !== null) return exit.code;
	const number = constants.signals[exit.signal as NodeJS.Signals];
	return number === undefined ? UNKNOWN_EXIT : 128 + number;
}
