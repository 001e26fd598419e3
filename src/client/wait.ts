/** Waits for something to be true of a session: that it ended, that it went quiet, or that it said something; what it shows is waited for in `screen.ts`. */

import type { ExitMessage } from "../protocol/messages.ts";
import type { ScreenMessage } from "../protocol/screens.ts";
import type { Attachment, AttachOptions } from "./attachment.ts";
import { Countdown } from "./countdown.ts";
import { toHawserError } from "./refusal.ts";
import { Search } from "./search.ts";

export type WaitCondition = OutputCondition | ScreenCondition;

type OutputCondition =
	/** The program has ended. */
	| { readonly exit: true }
	/** Nothing was written for so many milliseconds. Those without a connection don't count. */
	| { readonly idle: number }
	/** Looked for in the output as a person sees it: its last 64 KiB of text without escape sequences, lines ending with `\n`. */
	| { readonly match: RegExp };

/** A text or an expression in one of its rows, or that its text is the same for so many milliseconds, a minute at most. */
export type ScreenCondition = (
	| { readonly screen: string | RegExp; readonly ignoreCase?: boolean }
	| { readonly stable: number }
) & {
	/** The first and the last row that count, from zero on. */
	readonly region?: readonly [number, number];
};

export type WaitOptions = {
	/** The result says `timeout` after this long; never by default. */
	readonly timeoutMs?: number;
	/** Where a match is looked for: from this byte on. 0 by default, so that nothing said before is missed. */
	readonly since?: number | "end";
	readonly signal?: AbortSignal;
};

/** `offset` is where to go on reading: for a match, the first byte after it. */
export type WaitResult =
	| { readonly kind: "exit"; readonly exit: ExitMessage; readonly offset: number }
	| { readonly kind: "idle"; readonly offset: number }
	| { readonly kind: "match"; readonly match: RegExpExecArray; readonly offset: number }
	/** What it shows is as it was waited for. */
	| { readonly kind: "screen" | "stable"; readonly screen: ScreenMessage; readonly offset: number }
	| { readonly kind: "timeout"; readonly offset: number }
	/** What became of the program is not known. */
	| { readonly kind: "lost"; readonly message: string; readonly offset: number };

export async function waitFor(
	attach: (options: AttachOptions) => Attachment,
	condition: OutputCondition,
	options: WaitOptions,
): Promise<WaitResult> {
	const { signal, timeoutMs } = options;
	signal?.throwIfAborted();
	const isMatch = "match" in condition;
	const attachment = attach({
		since: isMatch ? (options.since ?? 0) : "end",
		role: "viewer",
		flow: isMatch ? "lossless" : "live",
	});
	const at = (kind: "timeout" | "idle") => ({ kind, offset: attachment.offset ?? 0 });
	const settled = new AbortController();
	const over = new Promise<WaitResult>((resolve, reject) => {
		const quiet = new Countdown("idle" in condition ? condition.idle : undefined, () => resolve(at("idle")));
		const whole = new Countdown(timeoutMs, () => resolve(at("timeout")));
		whole.start();
		settled.signal.addEventListener("abort", () => {
			quiet.stop();
			whole.stop();
		});
		signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: settled.signal });
		watch(attachment, condition, quiet).then(resolve, (error: unknown) => reject(toHawserError(error)));
	});
	try {
		return await over;
	} finally {
		settled.abort();
		await attachment.detach();
	}
}

async function watch(attachment: Attachment, condition: OutputCondition, quiet: Countdown): Promise<WaitResult> {
	const search = "match" in condition ? new Search(condition.match) : undefined;
	let exit: ExitMessage | null = null;
	for await (const event of attachment) {
		switch (event.kind) {
			case "connection":
				// While nobody can tell whether it is quiet, it is not.
				if (event.state === "disconnected") {
					quiet.stop();
					break;
				}
				quiet.start();
				exit ??= event.session.exit;
				if (event.session.state === "lost" && !search) {
					return { kind: "lost", message: "the session was lost", offset: event.session.offsets.end };
				}
				break;
			case "output": {
				quiet.start();
				const found = search?.add(event.offset, event.bytes);
				if (found) return { kind: "match", ...found };
				break;
			}
			case "exited":
				exit = event.exit;
				break;
			case "lost":
				return { kind: "lost", message: event.message, offset: event.offset };
			default:
		}
		// The program's last words may still come after its end.
		if (exit && "exit" in condition) break;
	}
	if (exit) return { kind: "exit", exit, offset: attachment.offset ?? 0 };
	throw new Error("invariant: a session ended without an exit");
}
