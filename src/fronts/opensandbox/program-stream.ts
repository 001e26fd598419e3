/** A program's output as events, until its shell has ended and nothing that it printed can follow. */

import { SessionError } from "../../core/errors.ts";
import type { Exit, Item } from "../../core/event.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { StartRequest } from "../front.ts";
import { type EventStream, encodeLines } from "./event-stream.ts";
import { type LineRule, Lines } from "./lines.ts";

/** How a program is started whose output goes to one client as it comes, and which need not outlive the server. */
export const streamed: Omit<StartRequest, "argv"> = {
	mode: "pipe",
	stdin: "closed",
	durable: false,
	// What waits for the client; the program waits when it is full.
	retention: { memoryBytes: 256 * 1024, journalBytes: 0 },
	// Who is left in the background keeps its pipe, and goes on.
	drainMs: null,
};

/** What may still come of a shell that ended while its client was slow: more than the pipes hold. */
const MOST_AFTER_EXIT = 1024 * 1024;

type Following = {
	readonly session: Session;
	readonly stream: EventStream;
	readonly rule: LineRule;
	/** How long is waited, after the end of the shell, for others that hold its pipes. */
	readonly drainMs: number;
	/** Hears of the lines before the client does. */
	readonly onLines?: (lines: readonly string[]) => void;
};

/** How it went on: the program ended, somehow; or we can't tell, because nobody listens or the client was too slow. */
export type Followed =
	| { readonly kind: "ended"; readonly exit: Exit | null; readonly ms: number }
	| { readonly kind: "left" }
	| { readonly kind: "stalled"; readonly message: string };

/** Sends what the program prints. Loses nothing: a client that is slow makes the program wait, for as long as the core lets it. */
export async function sendOutput({ session, stream, rule, drainMs, onLines }: Following): Promise<Followed> {
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

/** Lets the server forget a program that nobody follows any more, as soon as nobody holds its pipes; nobody is ended for it. */
export async function forgetAtEnd(sessions: Sessions, session: Session): Promise<void> {
	// A live cursor, which makes nobody wait.
	for await (const item of session.follow("end", { flow: "live" })) if (isFinal(item)) break;
	await sessions.forget(session.id);
}

function isFinal({ kind }: Item): boolean {
	return kind === "closed" || kind === "lost";
}

/**
 * Everything up to the log's end. When others hold the pipes after the end of the shell, that does not come:
 * then for as long as we have waited for them, or they have said enough. Waiting for our own client does not count.
 */
async function* untilDrained(session: Session, drainMs: number, signal: AbortSignal): AsyncGenerator<Item, void, void> {
	const over = new AbortController();
	const stop = () => over.abort();
	signal.addEventListener("abort", stop, { once: true });
	if (signal.aborted) stop();
	const items = session.follow({ seq: 1 }, { flow: "lossless", signal: over.signal })[Symbol.asyncIterator]();
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
