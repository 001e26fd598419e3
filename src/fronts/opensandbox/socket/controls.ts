/** What a client does to the program on its WebSocket: frames in, acts out, from before it is connected to after it has left. */

import { randomUUID } from "node:crypto";
import type { Session, SessionSpec } from "../../../core/session.ts";
import { ProgramInput } from "../../program-input.ts";
import type { ClientFrame } from "./frames.ts";
import { closeCodes, type Wire } from "./wire.ts";

/** What a client may send before it is connected, until nothing more is read from it. */
const MAX_EARLY_BYTES = 1024 * 1024;
/** How long after input that failed its program may take to be over, and with it the reason found. */
const EXIT_PATIENCE_MS = 1_000;

/** Makes a frame of a message; undefined ends the connection. */
export type Decode = (data: Buffer, isBinary: boolean) => ClientFrame | undefined;

export class Controls {
	readonly #wire: Wire;
	#program: { readonly session: Session; readonly input: ProgramInput } | undefined;
	/** What keeps others from writing. */
	#lease: { readonly session: Session; readonly fence: number } | undefined;
	#early: ClientFrame[] = [];
	#earlyBytes = 0;

	constructor(wire: Wire, decode: Decode) {
		this.#wire = wire;
		wire.onMessage((data, isBinary) => {
			const frame = decode(data, isBinary);
			if (frame) this.#receive(frame, data.byteLength);
			else wire.close(closeCodes.refused, "not a message of this protocol");
		});
	}

	/** Gets hold of the program and greets the client; all that it said so far, and says from now on, is done after that. */
	async open(session: Session, holder: string, greet: () => Promise<void>): Promise<void> {
		const wire = this.#wire;
		const stream = streamOf(session);
		const fence = await acquire(session, holder);
		if (fence !== undefined) this.#lease = { session, fence };
		const receipt = await session.receipt(stream);
		await greet();
		const onFailure = (reason: string) => void this.#inputFailed(session, reason);
		const onNotApproved = (error: string) => wire.answer({ type: "error", code: "STDIN_WRITE_FAILED", error });
		const input = new ProgramInput({ session, wire, stream, receipt, fence, onFailure, onNotApproved });
		this.#program = { session, input };
		wire.resume();
		for (const frame of this.#early.splice(0)) this.#obey(frame, session, input);
	}

	/** Once the connection has ended: what the client sent before is still done, then nothing more. */
	async finish(): Promise<void> {
		await this.#program?.input.finished();
		// Nobody waits for this, least of all whoever comes next: they take control anyway, and by then this has no effect.
		this.#lease?.session.release(this.#lease.fence).catch(() => {});
	}

	#receive(frame: ClientFrame, bytes: number): void {
		if (this.#program) {
			this.#obey(frame, this.#program.session, this.#program.input);
			return;
		}
		this.#early.push(frame);
		// A little more than its bytes, so that many empty ones count.
		this.#earlyBytes += bytes + 64;
		if (this.#earlyBytes > MAX_EARLY_BYTES) this.#wire.pause();
	}

	#obey(frame: ClientFrame, session: Session, input: ProgramInput): void {
		switch (frame.type) {
			case "stdin":
				if (frame.bytes.byteLength > 0) input.add({ kind: "write", bytes: frame.bytes });
				break;
			case "resize":
				if (session.spec.mode === "pty") input.add({ kind: "resize", size: { cols: frame.cols, rows: frame.rows } });
				break;
			case "signal":
				// To a terminal a signal is a key press, and goes to its foreground. This one is meant for the shell.
				if (frame.signal === "SIGKILL" && session.spec.mode === "pty") kill(session);
				else input.add({ kind: "signal", signal: frame.signal, urgent: true });
				break;
			case "ping":
				// Not in line behind input that a program does not read.
				this.#wire.answer({ type: "pong" });
				break;
			case "unknown":
				this.#wire.answer(frame.answer);
				break;
			case "nothing":
		}
	}

	/** A program that is just ending says so itself, in its own time; one that goes on without its input ends the connection. */
	async #inputFailed(session: Session, error: string): Promise<void> {
		const wire = this.#wire;
		await wire.say({ type: "error", code: "STDIN_WRITE_FAILED", error });
		const timer = setTimeout(async () => {
			const info = await session.info().catch(() => undefined);
			if (info?.status === "running") wire.close(closeCodes.failed, "stdin write failed");
		}, EXIT_PATIENCE_MS);
		wire.ended.addEventListener("abort", () => clearTimeout(timer), { once: true });
	}
}

const streams = new WeakMap<SessionSpec, string>();

/** Our stream in a session's ledger; unguessable, because whoever else writes to it would swallow what we write. */
function streamOf({ spec }: Session): string {
	const stream = streams.get(spec) ?? randomUUID();
	streams.set(spec, stream);
	return stream;
}

/** Nobody else may write meanwhile, whichever way they came. Undefined when there is nothing to write to any more. */
async function acquire(session: Session, holder: string): Promise<number | undefined> {
	try {
		return (await session.acquire(holder, { exclusive: true, take: true })).fence;
	} catch {
		return undefined;
	}
}

/** How it ends is in the log. */
function kill(session: Session): void {
	session.kill({ signal: "SIGKILL", graceMs: 0, reason: "killed" }).catch(() => {});
}
