/** One end of the Unix socket between a server and a keeper: sends and takes frames, and says when to stop sending. */

import { connect, type Socket } from "node:net";
import { Change } from "../core/change.ts";
import { encodeFrame, FRAME_LIMITS, type Frame, FrameDecoder, type FrameLimits } from "./frames.ts";

/** Unsent bytes past which a stream waits, whatever its own window allows: with many streams the windows add up. */
const BACKLOG_BYTES = 2 * 1024 * 1024;

type LinkHandlers<Incoming> = {
	readonly onFrame: (frame: Frame<Incoming>) => void;
	/** Called once; no frame comes after it. */
	readonly onClose: (error: Error | undefined) => void;
};

/** Broken frames and errors close it; what is behind it is told once. */
export class Link<Incoming, Outgoing> {
	readonly #socket: Socket;
	readonly #handlers: LinkHandlers<Incoming>;
	readonly #drain = new Change();
	#limits = FRAME_LIMITS;
	#failure: Error | undefined;
	#isClosed = false;

	/** The end that the link was made to. */
	static accept<Incoming, Outgoing>(socket: Socket, handlers: LinkHandlers<Incoming>): Link<Incoming, Outgoing> {
		const decoder = new FrameDecoder();
		const link = new Link<Incoming, Outgoing>(socket, handlers);
		socket.on("data", (chunk) => {
			link.#take(decoder.push(chunk));
			// The decoder has copied it, and it may have been a secret.
			chunk.fill(0);
		});
		return link;
	}

	/** The end that makes the link. All output of a session comes this way, so it is read without being copied. */
	static connect<Incoming, Outgoing>(path: string, handlers: LinkHandlers<Incoming>): Link<Incoming, Outgoing> {
		const decoder = new FrameDecoder();
		const onread = {
			buffer: () => decoder.space(),
			callback: (length: number) => {
				link.#take(decoder.fill(length));
				return true;
			},
		};
		const link = new Link<Incoming, Outgoing>(connect({ path, onread }), handlers);
		return link;
	}

	private constructor(socket: Socket, handlers: LinkHandlers<Incoming>) {
		this.#socket = socket;
		this.#handlers = handlers;
		socket.on("error", (error) => {
			this.#failure ??= error;
		});
		socket.on("drain", () => this.#drain.happen());
		socket.on("close", () => {
			this.#isClosed = true;
			this.#drain.happen();
			handlers.onClose(this.#failure);
		});
	}

	/** From now on no more is sent in one frame than the other end takes. */
	limitTo(limits: FrameLimits): void {
		this.#limits = limits;
	}

	/**
	 * Sends a frame; of no effect once the link is closed. Throws `limit_exceeded` for one that is too large, and
	 * nothing is sent then. Streams wait for `drained` after each; what is asked and answered once needs no such bound.
	 */
	send(header: Outgoing, body?: Uint8Array): void {
		if (this.#isClosed) return;
		const parts = encodeFrame(header, body, this.#limits);
		this.#socket.cork();
		for (const part of parts) this.#socket.write(part);
		this.#socket.uncork();
	}

	/** Resolves when there is room to send more, at the latest when the link is closed or the signal aborts. */
	async drained(signal: AbortSignal): Promise<void> {
		while (this.#socket.writableLength > BACKLOG_BYTES && !this.#isClosed && !signal.aborted) {
			await this.#drain.next(signal);
		}
	}

	/** Closes at once, and says why to who hears of it. */
	close(because?: Error): void {
		this.#failure ??= because;
		this.#socket.destroy();
	}

	/** Closes once everything sent so far has left. */
	end(): void {
		this.#socket.end();
	}

	#take(frames: Iterable<Frame<unknown>>): void {
		try {
			for (const frame of frames) this.#handlers.onFrame(frame as Frame<Incoming>);
		} catch (error) {
			this.close(error as Error);
		}
	}
}
