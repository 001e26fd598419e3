/**
 * One program of a client: a core session, read once from start to end.
 *
 *   running ──exited──▶ draining ──closed, and all output sent──▶ `ended` resolves
 *
 * While it drains, requests are refused, but output may still arrive for as long as the core waits for it.
 */

import { constants } from "node:os";
import type { Action } from "../../../../core/input/action.ts";
import { LOG_START } from "../../../../core/log/event.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Exit, Size } from "../../../../words/state.ts";
import { invalidRequest } from "../errors.ts";
import type { AppLimits } from "../limits.ts";
import type { FamilyText } from "./error-text.ts";
import { Input } from "./input.ts";
import type { OutputStream, Sink } from "./output.ts";
import { OutputCap } from "./output-cap.ts";

export type Ending = {
	readonly exitCode: number;
	/** Whether another process still held the output when the wait for it ended. */
	readonly outputDrainTimedOut: boolean;
	readonly stdout: string;
	readonly stdoutCapReached: boolean;
	readonly stderr: string;
	readonly stderrCapReached: boolean;
};

type ProcessOptions = {
	readonly id: string;
	readonly session: Session;
	readonly wording: FamilyText;
	readonly isWritable: boolean;
	/** Limit per stream; null for no limit. */
	readonly cap: number | null;
	/** The time limit is zero, so the result is always a timeout. */
	readonly isOverdue: boolean;
	readonly sink: Sink;
	readonly limits: AppLimits;
	/** Aborted when the connection is over. */
	readonly signal: AbortSignal;
	readonly report: (problem: unknown) => void;
};

const TIMED_OUT = 124;
/** Reported when the exit code can't be known. */
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

	/**
	 * Writes the bytes and then closes the input, in this order even if other requests arrive meanwhile. Resolves when
	 * both are queued, or applied if they may need approval.
	 */
	async write(bytes: Uint8Array | null, isClosing: boolean): Promise<void> {
		this.#checkRunning();
		const { isWritable, wording, session } = this.#options;
		if (!isWritable) throw invalidRequest(wording.noStdin);
		const hasBytes = bytes !== null && bytes.byteLength > 0;
		if (hasBytes && this.#isStdinClosed) throw invalidRequest("stdin is already closed");
		this.#input.checkRoom();
		const acts: Action[] = hasBytes ? [{ kind: "write", bytes }] : [];
		const isEnding = isClosing && !this.#isStdinClosed;
		if (isEnding) {
			this.#isStdinClosed = true;
			// A terminal honors its end-of-file character only at the beginning of a line.
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
			throw invalidRequest("failed to resize PTY: process is not attached to a PTY");
		this.#input.checkRoom();
		await this.#input.add({ kind: "resize", size });
	}

	/** Sends the signal before it returns, regardless of queued input. */
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
		return invalidRequest(wording.over(id));
	}

	#note(): void {
		if (this.#options.session.state.status !== "running") this.#input.close(this.#over());
	}

	async #read(): Promise<Ending> {
		const { session, sink, signal, report } = this.#options;
		try {
			for await (const item of session.follow(LOG_START, { flow: "lossless", signal })) {
				if (item.kind === "gap")
					report(new Error(`invariant: ${item.to - item.from} bytes lost before they were read`));
				if (item.kind === "closed") this.#isCutShort = item.isCutShort ?? false;
				if (item.kind !== "output") continue;
				// Output above the cap is still read, so that the program neither blocks nor fails.
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

/** As in shells: the code, or 128 plus the signal's number. A timeout has its own code. */
function exitCode(exit: Exit | null): number {
	if (exit?.reason === "timeout") return TIMED_OUT;
	if (!exit) return UNKNOWN_EXIT;
	if (exit.code !== null) return exit.code;
	const number = constants.signals[exit.signal as NodeJS.Signals];
	return number === undefined ? UNKNOWN_EXIT : 128 + number;
}
