/** Streams a program's output as events until its shell has ended and no more output can follow. */

import { SessionError } from "../../../core/errors.ts";
import { type Item, LOG_START } from "../../../core/log/event.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import type { StartRequest } from "../../../services/starts/request.ts";
import type { Exit } from "../../../words/state.ts";
import { type EventStream, encodeLines } from "./event-stream.ts";
import { type LineRule, Lines } from "./output-lines.ts";

/** Start options of a program whose output goes to one client. It need not outlive the server. */
export const streamed: Omit<StartRequest, "argv"> = {
	mode: "pipe",
	stdin: "closed",
	durable: false,
	// Output not yet sent to the client. When it is full, the program waits.
	retention: { memoryBytes: 256 * 1024, journalBytes: 0 },
	// Background children keep their pipe and continue.
	drainMs: null,
};

/** Output still accepted from a shell that ended while its client was slow: more than the pipes hold. */
const MOST_AFTER_EXIT = 1024 * 1024;

type Following = {
	readonly session: Session;
	readonly stream: EventStream;
	readonly rule: LineRule;
	/** Time to wait, after the shell's end, for other processes that hold its pipes. */
	readonly drainMs: number;
	/** Called with the lines before they are sent. */
	readonly onLines?: (lines: readonly string[]) => void;
};

/** How the stream ended: with the program, or early because the client left or was too slow. */
type StreamEnd =
	| { readonly kind: "ended"; readonly exit: Exit | null; readonly ms: number }
	| { readonly kind: "left" }
	| { readonly kind: "stalled"; readonly message: string };

/** Sends all output, without loss. A slow client makes the program wait, within the core's limits. */
export async function sendOutput({ session, stream, rule, drainMs, onLines }: Following): Promise<StreamEnd> {
	const channels = { stdout: new Lines(rule), stderr: new Lines(rule) };
	const textOf = (type: "stdout" | "stderr", lines: readonly string[], time: number) => {
		if (lines.length > 0) onLines?.(lines);
		return encodeLines(type, lines, time);
	};
	let exit: Exit | null = null;
	let endedAt = Date.now();
	try {
		for await (const item of untilDrained(session, drainMs, stream.gone)) {
			if (item.kind === "output") {
				const type = item.stream === "stderr" ? "stderr" : "stdout";
				const { bytes, time } = item;
				const text = await stream.inTurn(bytes.byteLength, () => textOf(type, channels[type].push(bytes), time));
				await stream.write(text);
			}
			if (item.kind === "exited") exit = item.exit;
			if (item.kind === "exited" || item.kind === "lost") endedAt = item.time;
		}
	} catch (error) {
		if (!(error instanceof SessionError) || error.code !== "limit_exceeded") throw error;
		return { kind: "stalled", message: error.message };
	}
	if (stream.gone.aborted) return { kind: "left" };
	for (const type of ["stdout", "stderr"] as const) {
		await stream.write(textOf(type, channels[type].finish(), endedAt));
	}
	return { kind: "ended", exit, ms: endedAt - session.spec.createdAt };
}

/** Forgets a program's session once its pipes are closed. Nothing is ended for it. */
export async function forgetAtEnd(sessions: Sessions, session: Session): Promise<void> {
	// A live cursor never makes the program wait.
	for await (const item of session.follow("end", { flow: "live" })) if (isFinal(item)) break;
	await sessions.forget(session.id);
}

function isFinal({ kind }: Item): boolean {
	return kind === "closed" || kind === "lost";
}

/**
 * Yields all items to the log's end. If other processes hold the pipes after the shell's end, stops when `drainMs` is
 * used up or they have written enough. Time spent waiting for the client does not count.
 */
async function* untilDrained(session: Session, drainMs: number, signal: AbortSignal): AsyncGenerator<Item, void, void> {
	const over = new AbortController();
	const stop = () => over.abort();
	signal.addEventListener("abort", stop, { once: true });
	if (signal.aborted) stop();
	const items = session.follow(LOG_START, { flow: "lossless", signal: over.signal })[Symbol.asyncIterator]();
	let hasExited = false;
	let leftMs = drainMs;
	let leftBytes = MOST_AFTER_EXIT;
	try {
		while (leftBytes > 0) {
			const since = performance.now();
			const timer = hasExited ? setTimeout(stop, leftMs) : undefined;
			const { value: item, done } = await items.next();
			clearTimeout(timer);
			if (done) return;
			if (hasExited) leftMs -= performance.now() - since;
			if (hasExited && item.kind === "output") leftBytes -= item.bytes.byteLength;
			yield item;
			if (item.kind === "exited") hasExited = true;
		}
	} finally {
		signal.removeEventListener("abort", stop);
		stop();
		await items.return?.();
	}
}
