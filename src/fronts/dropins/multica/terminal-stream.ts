/**
 * Connects one client with a terminal, over either socket: output to it, input and sizes from it, then the exit.
 *
 * A writer gets all output: its reader is lossless, so the program waits for a client that is slower than the journal
 * allows. A viewer that is too slow is disconnected and may reconnect.
 */

import { randomUUID } from "node:crypto";
import type { Item } from "../../../core/log/event.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { Session } from "../../../core/session/session.ts";
import { ClientInput, type InputSource } from "../../../services/input/client-input.ts";
import { allowedFlow } from "../../../services/reading/flow.ts";
import type { Exit, Size } from "../../../words/state.ts";
import { TerminalError } from "./errors.ts";
import { dataFrames, exitFrame, gapFrame } from "./messages.ts";
import type { Terminals } from "./terminals.ts";

/**
 * Output replayed to a client: about five thousand lines, as many as the panel keeps.
 * @limit output shown to a client that returns without `since` | older output is not shown
 */
const REPLAY_BYTES = 256 * 1024;
/** The replay may skip this much to start with a whole line, so that characters and sequences are whole. */
const LINE_BYTES = 4 * 1024;
const LINE_FEED = 0x0a;

type TerminalOptions = {
	readonly session: Session;
	/** Performs and audits the client's input. */
	readonly witness: AuditedCaller;
	readonly terminals: Terminals;
	readonly principal: Principal;
	/** Sends one frame; resolves when another may be sent. */
	readonly send: (frame: string) => Promise<void>;
	/** The client's input; its end ends the client's part. Viewers send none. */
	readonly input: InputSource;
	readonly isViewer: boolean;
	readonly resizeMs: number;
};

/** Offset at which a client starts reading, and whether it may be in the middle of a line. */
type Beginning = { readonly offset: number; readonly isAnywhere: boolean };

/** The start for a client that knows none of the terminal's output. */
export async function replayStart(session: Session): Promise<Beginning> {
	const { offset } = await session.end();
	return { offset: Math.max(0, offset - REPLAY_BYTES), isAnywhere: offset > REPLAY_BYTES };
}

/** How the stream ended: the client left, the shell ended, or its keeper is gone. */
export type Ending = "left" | "exited" | "lost";

export class Terminal {
	readonly session: Session;
	readonly #options: TerminalOptions;
	/** The client's input, and the name of its stream in the session's ledger. */
	readonly #input: ClientInput | undefined;
	readonly #stream: string;
	/** Last size set by the client. */
	#size: Size;
	#nextSize: Size | undefined;
	#resizing: NodeJS.Timeout | undefined;

	static async open(options: TerminalOptions): Promise<Terminal> {
		// Random, because bytes written by another client to the same stream would be taken for ours.
		const stream = randomUUID();
		if (options.isViewer) return new Terminal(options, stream, undefined);
		const { input: wire } = options;
		const session = options.witness.session(options.session);
		const receipt = await session.receipt(stream);
		// A write fails when the program has ended, which the exit reports.
		const onFailure = () => {};
		// The protocol has no message for input that was not approved.
		const onNotApproved = () => {};
		const input = new ClientInput({ session, wire, stream, receipt, fence: undefined, onFailure, onNotApproved });
		return new Terminal(options, stream, input);
	}

	private constructor(options: TerminalOptions, stream: string, input: ClientInput | undefined) {
		this.session = options.session;
		this.#options = options;
		this.#stream = stream;
		this.#input = input;
		this.#size = options.session.state.size;
	}

	write(bytes: Uint8Array): void {
		this.#settleSize();
		if (bytes.byteLength > 0) this.#input?.add({ kind: "write", bytes });
	}

	resize(size: Size): void {
		this.#nextSize = size;
		if (this.#resizing !== undefined) return;
		this.#settleSize();
		this.#resizing = setTimeout(() => {
			this.#resizing = undefined;
			this.#settleSize();
		}, this.#options.resizeMs);
	}

	/** Sends all output from an offset on, then the exit. */
	async run({ offset, isAnywhere }: Beginning): Promise<Ending> {
		const { session, principal, isViewer, send, input } = this.#options;
		const signal = input.ended;
		const flow = allowedFlow(principal, session, isViewer ? "live" : "lossless");
		let exit: Exit | undefined;
		let isLost = false;
		let isCut = isAnywhere;
		for await (const item of session.follow({ offset }, { ...flow, signal })) {
			if (item.kind === "exited") exit = item.exit;
			if (item.kind === "lost") isLost = true;
			if (item.kind === "gap") await this.#sendGap(item);
			if (item.kind !== "output") continue;
			const skipped = isCut ? untilLine(item.bytes) : 0;
			isCut = false;
			const shown = item.bytes.subarray(skipped);
			for (const frame of dataFrames(session.id, item.offset + skipped, shown)) await send(frame);
		}
		if (signal.aborted) return "left";
		await send(exitFrame(session.id, exit, isLost ? "daemon_disconnected" : this.#reason(exit)));
		return isLost ? "lost" : "exited";
	}

	/** Called when the client has left: applies its remaining input. */
	async finish(): Promise<void> {
		clearTimeout(this.#resizing);
		this.#settleSize();
		await this.#input?.finished();
		// No other client can resume the stream.
		if (this.#input) await this.session.forgetStream(this.#stream).catch(() => {});
	}

	async #sendGap(gap: Extract<Item, { kind: "gap" }>): Promise<void> {
		const { session, send } = this.#options;
		if (gap.reason === "live")
			throw new TerminalError("limit_reached", "the client reads too slowly; reconnect to continue");
		await send(gapFrame(session.id, gap));
	}

	/** Applies a pending resize before later input. */
	#settleSize(): void {
		const size = this.#nextSize;
		this.#nextSize = undefined;
		// Another client may have set another size.
		if (!size || (isSame(size, this.#size) && isSame(size, this.session.state.size))) return;
		this.#size = size;
		this.#input?.add({ kind: "resize", size });
	}

	/** `exited` if the program ended by itself; otherwise the reason given for ending it. */
	#reason(exit: Exit | undefined): string {
		const { session, terminals } = this.#options;
		if (exit?.reason === undefined) return "exited";
		if (exit.reason === "idle") return "idle_timeout";
		return exit.reason === "killed" ? (terminals.reasonOf(session) ?? "killed") : exit.reason;
	}
}

/** Bytes to skip to the start of a line; 0 if there is no line end near. */
function untilLine(bytes: Uint8Array): number {
	const end = bytes.subarray(0, LINE_BYTES).indexOf(LINE_FEED);
	return end + 1;
}

function isSame(a: Size, b: Size): boolean {
	return a.cols === b.cols && a.rows === b.rows;
}
