/**
 * One client at a terminal, over whatever socket: output to it, input and sizes from it, and at last the exit.
 *
 * Who controls a terminal gets everything: it is read without loss, and its program waits for a client that is slower
 * than what the journal holds. Who only looks is cut off when it is too slow, and may come again.
 */

import { randomUUID } from "node:crypto";
import type { Principal } from "../../core/access.ts";
import type { Exit, Item, Size } from "../../core/event.ts";
import type { Session } from "../../core/session.ts";
import type { Witness } from "../../core/witness.ts";
import { flowFor } from "../front.ts";
import { type InputSource, ProgramInput } from "../program-input.ts";
import { TerminalError } from "./errors.ts";
import { dataFrames, exitFrame, gapFrame } from "./frames.ts";
import type { Terminals } from "./terminals.ts";

/** What is shown again of the past: some five thousand lines, which is what the panel keeps of them. */
const REPLAY_BYTES = 256 * 1024;
/** How far the replay may be cut to begin with a whole line, and so with whole characters and sequences. */
const LINE_BYTES = 4 * 1024;
const LINE_FEED = 0x0a;

export type TerminalOptions = {
	readonly session: Session;
	/** Tells the audit what is typed and set. */
	readonly witness: Witness;
	readonly terminals: Terminals;
	readonly principal: Principal;
	/** Sends one frame; resolves when more may be sent. */
	readonly send: (frame: string) => Promise<void>;
	/** Where input comes from, and what ends this client's part; nobody types who only looks. */
	readonly input: InputSource;
	readonly isViewer: boolean;
	readonly resizeMs: number;
};

/** Where a client begins to read, and whether that is anywhere in a line. */
export type Beginning = { readonly offset: number; readonly isAnywhere: boolean };

/** For a client that knows nothing of a terminal's past. */
export async function replayStart(session: Session): Promise<Beginning> {
	const { offset } = await session.end();
	return { offset: Math.max(0, offset - REPLAY_BYTES), isAnywhere: offset > REPLAY_BYTES };
}

/** How it went on: the client left, the shell ended, or whoever held it is gone. */
export type Ending = "left" | "exited" | "lost";

export class Terminal {
	readonly session: Session;
	readonly #options: TerminalOptions;
	/** What is typed, and its stream in the session's ledger. */
	readonly #input: ProgramInput | undefined;
	readonly #stream: string;
	/** As the client last set it. */
	#size: Size;
	#nextSize: Size | undefined;
	#resizing: NodeJS.Timeout | undefined;

	static async open(options: TerminalOptions): Promise<Terminal> {
		// Unguessable, because whoever else writes to it would swallow what we write.
		const stream = randomUUID();
		if (options.isViewer) return new Terminal(options, stream, undefined);
		const { input: wire } = options;
		const session = options.witness.session(options.session);
		const receipt = await session.receipt(stream);
		// What fails to be written is for a program that has ended, which its exit tells.
		const onFailure = () => {};
		// Nor has the protocol a word for what is left out of the input of a terminal that goes on.
		const onNotApproved = () => {};
		const input = new ProgramInput({ session, wire, stream, receipt, fence: undefined, onFailure, onNotApproved });
		return new Terminal(options, stream, input);
	}

	private constructor(options: TerminalOptions, stream: string, input: ProgramInput | undefined) {
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

	/** Sends everything from there on, and at last the exit. */
	async run({ offset, isAnywhere }: Beginning): Promise<Ending> {
		const { session, principal, isViewer, send, input } = this.#options;
		const signal = input.ended;
		const flow = flowFor(principal, session, isViewer ? "live" : "lossless");
		let exit: Exit | undefined;
		let isLost = false;
		let isCut = isAnywhere;
		for await (const item of session.follow({ offset }, { ...flow, signal })) {
			if (item.kind === "exited") exit = item.exit;
			if (item.kind === "lost") isLost = true;
			if (item.kind === "gap") await this.#tellGap(item);
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

	/** Once the client has gone: what it has said is still done. */
	async finish(): Promise<void> {
		clearTimeout(this.#resizing);
		this.#settleSize();
		await this.#input?.finished();
		// Nobody can come back to it.
		if (this.#input) await this.session.forgetStream(this.#stream).catch(() => {});
	}

	async #tellGap(gap: Extract<Item, { kind: "gap" }>): Promise<void> {
		const { session, send } = this.#options;
		if (gap.reason === "live") throw new TerminalError("limit_reached", "too slow to look on; come again");
		await send(gapFrame(session.id, gap));
	}

	/** In order with what is typed: a size that waits is set before it. */
	#settleSize(): void {
		const size = this.#nextSize;
		this.#nextSize = undefined;
		// Others may have set another one meanwhile.
		if (!size || (isSame(size, this.#size) && isSame(size, this.session.state.size))) return;
		this.#size = size;
		this.#input?.add({ kind: "resize", size });
	}

	/** A program that ended by itself `exited`, whatever its code; of the others, whoever ended it says why. */
	#reason(exit: Exit | undefined): string {
		const { session, terminals } = this.#options;
		if (exit?.reason === undefined) return "exited";
		if (exit.reason === "idle") return "idle_timeout";
		return exit.reason === "killed" ? (terminals.reasonOf(session) ?? "killed") : exit.reason;
	}
}

/** How many bytes to pass over so that a line begins; none where that would be too many. */
function untilLine(bytes: Uint8Array): number {
	const end = bytes.subarray(0, LINE_BYTES).indexOf(LINE_FEED);
	return end + 1;
}

function isSame(a: Size, b: Size): boolean {
	return a.cols === b.cols && a.rows === b.rows;
}
