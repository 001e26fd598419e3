/** Applies a client's frames to its program, from before it is connected until after it has left. */

import { randomUUID } from "node:crypto";
import type { Session } from "../../../../core/session/session.ts";
import type { SessionSpec } from "../../../../core/session/session-info.ts";
import { ClientInput } from "../../../../services/input/client-input.ts";
import type { ClientFrame } from "../messages.ts";
import { closeCodes, type Wire } from "../wire.ts";

/**
 * Input queued before the client is connected; then reading pauses.
 * @limit input of a client before its program has started | no more is read
 */
const MAX_EARLY_BYTES = 1024 * 1024;
/** Time for a program to end after failed input; its end explains the failure. */
const EXIT_TIMEOUT_MS = 1_000;

/** Decodes a message; undefined ends the connection. */
type Decode = (data: Buffer, isBinary: boolean) => ClientFrame | undefined;

export class SocketInput {
	readonly #wire: Wire;
	#program: { readonly session: Session; readonly input: ClientInput } | undefined;
	/** The exclusive lease on the session's input. */
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

	/** Takes control of the program and greets the client, then applies queued and later frames. */
	async open(session: Session, holder: string, greet: () => Promise<void>): Promise<void> {
		const wire = this.#wire;
		const stream = streamOf(session);
		const fence = await acquire(session, holder);
		if (fence !== undefined) this.#lease = { session, fence };
		const receipt = await session.receipt(stream);
		await greet();
		const onFailure = (reason: string) => void this.#inputFailed(session, reason);
		const onNotApproved = (error: string) => wire.answer({ type: "error", code: "STDIN_WRITE_FAILED", error });
		const input = new ClientInput({ session, wire, stream, receipt, fence, onFailure, onNotApproved });
		this.#program = { session, input };
		wire.resume();
		for (const frame of this.#early.splice(0)) this.#obey(frame, session, input);
	}

	/** Applies what the client sent before the connection ended. */
	async finish(): Promise<void> {
		await this.#program?.input.finished();
		// Not awaited: the next holder takes control anyway, and then this has no effect.
		this.#lease?.session.release(this.#lease.fence).catch(() => {});
	}

	#receive(frame: ClientFrame, bytes: number): void {
		if (this.#program) {
			this.#obey(frame, this.#program.session, this.#program.input);
			return;
		}
		this.#early.push(frame);
		// Overhead per frame, so that many empty ones count.
		this.#earlyBytes += bytes + 64;
		if (this.#earlyBytes > MAX_EARLY_BYTES) this.#wire.pause();
	}

	#obey(frame: ClientFrame, session: Session, input: ClientInput): void {
		switch (frame.type) {
			case "stdin":
				if (frame.bytes.byteLength > 0) input.add({ kind: "write", bytes: frame.bytes });
				break;
			case "resize":
				if (session.spec.mode === "pty") input.add({ kind: "resize", size: { cols: frame.cols, rows: frame.rows } });
				break;
			case "signal":
				// On a terminal a signal is a key press for the foreground group. SIGKILL is meant for the shell.
				if (frame.signal === "SIGKILL" && session.spec.mode === "pty") kill(session);
				else input.add({ kind: "signal", signal: frame.signal, urgent: true });
				break;
			case "ping":
				// Answered at once, not behind queued input.
				this.#wire.answer({ type: "pong" });
				break;
			case "unknown":
				this.#wire.answer(frame.answer);
				break;
			case "nothing":
		}
	}

	/** If the program is ending, its exit follows by itself. If it continues without input, the connection ends. */
	async #inputFailed(session: Session, error: string): Promise<void> {
		const wire = this.#wire;
		await wire.say({ type: "error", code: "STDIN_WRITE_FAILED", error });
		const timer = setTimeout(async () => {
			const info = await session.info().catch(() => undefined);
			if (info?.status === "running") wire.close(closeCodes.failed, "stdin write failed");
		}, EXIT_TIMEOUT_MS);
		wire.ended.addEventListener("abort", () => clearTimeout(timer), { once: true });
	}
}

const streams = new WeakMap<SessionSpec, string>();

/**
 * Name of our stream in a session's ledger. Random, because bytes written by another client to the same stream would be
 * taken for ours.
 */
function streamOf({ spec }: Session): string {
	const stream = streams.get(spec) ?? randomUUID();
	streams.set(spec, stream);
	return stream;
}

/** Takes the exclusive lease. Undefined if the program takes no more input. */
async function acquire(session: Session, holder: string): Promise<number | undefined> {
	try {
		return (await session.acquire(holder, { exclusive: true, take: true })).fence;
	} catch {
		return undefined;
	}
}

/** The end is reported through the log. */
function kill(session: Session): void {
	session.kill({ signal: "SIGKILL", graceMs: 0, reason: "killed" }).catch(() => {});
}
