/** Waits for a session to end, go quiet, or write a text. `screen.ts` waits for screens. */

import type { AgentMessage, AgentState, ExitMessage, ScreenMessage } from "../../api/types.ts";
import type { Attachment, AttachOptions } from "../attach/attachment.ts";
import { toHawserError } from "../attach/final-errors.ts";
import { RestartableTimer } from "./countdown.ts";
import { offsetsOf } from "./offsets.ts";
import { OutputMatcher } from "./output-matcher.ts";

export type WaitCondition = OutputCondition | ScreenCondition | AgentCondition;

/** The session's coding agent has one of these states. */
export type AgentCondition = { readonly agent: AgentState | readonly AgentState[] };

type OutputCondition =
	/** The program ended. */
	| { readonly exit: true }
	/** No output for this many milliseconds. Time without a connection does not count. */
	| { readonly idle: number }
	/**
	 * A string or regular expression in the output as displayed: the last 64 KiB of text without escape sequences, with
	 * `\n` line endings.
	 */
	| { readonly match: string | RegExp };

/** A string or regular expression in a row, or unchanged text for this many milliseconds, at most a minute. */
export type ScreenCondition = (
	| { readonly screen: string | RegExp; readonly ignoreCase?: boolean }
	| { readonly stable: number }
) & {
	/** First and last row to consider, from zero. */
	readonly region?: readonly [number, number];
};

export type WaitOptions = {
	/** The result is `timeout` after this time. Default: never. */
	readonly timeoutMs?: number;
	/**
	 * Match from this byte on. Default: the end of the output before the newest input through this `Session`, so that
	 * earlier output does not match; 0 before any input.
	 */
	readonly since?: number | "end";
	/** Also match in the echo of the line just written through this `Session`. */
	readonly includeEcho?: boolean;
	/** How long the server may be unreachable before `wait` rejects with `node_unavailable`, as for an attachment. */
	readonly reconnectTimeoutMs?: number;
	readonly signal?: AbortSignal;
};

/** `offset` is where to continue reading; for a match, the first byte after it. */
export type WaitResult =
	| { readonly kind: "exit"; readonly exit: ExitMessage; readonly offset: number }
	| { readonly kind: "idle"; readonly offset: number }
	| { readonly kind: "match"; readonly match: RegExpExecArray; readonly offset: number }
	/** The screen condition was met. */
	| { readonly kind: "screen" | "stable"; readonly screen: ScreenMessage; readonly offset: number }
	| { readonly kind: "agent"; readonly agent: AgentMessage; readonly offset: number }
	| { readonly kind: "timeout"; readonly offset: number }
	/** The program's exit status is unknown. */
	| { readonly kind: "lost"; readonly message: string; readonly offset: number };

export async function waitFor(
	attach: (options: AttachOptions) => Attachment,
	condition: OutputCondition,
	options: WaitOptions & { readonly typed?: readonly string[] },
): Promise<WaitResult> {
	const { typed = [], signal, timeoutMs, reconnectTimeoutMs } = options;
	signal?.throwIfAborted();
	if (!("exit" in condition) && !("idle" in condition) && !("match" in condition)) {
		throw new TypeError("wait needs a condition: exit, idle, match, screen or stable");
	}
	const isMatch = "match" in condition;
	const attachment = attach({
		since: isMatch ? (options.since ?? 0) : "end",
		role: "viewer",
		flow: isMatch ? "lossless" : "live",
		...(reconnectTimeoutMs === undefined ? {} : { reconnectTimeoutMs: reconnectTimeoutMs }),
	});
	const at = (kind: "timeout" | "idle") => ({ kind, offset: attachment.offset ?? 0 });
	const settled = new AbortController();
	const over = new Promise<WaitResult>((resolve, reject) => {
		const quiet = new RestartableTimer("idle" in condition ? condition.idle : undefined, () => resolve(at("idle")));
		const whole = new RestartableTimer(timeoutMs, () => resolve(at("timeout")));
		whole.start();
		settled.signal.addEventListener("abort", () => {
			quiet.stop();
			whole.stop();
		});
		signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: settled.signal });
		watch(attachment, condition, { quiet, typed }).then(resolve, (error: unknown) => reject(toHawserError(error)));
	});
	try {
		return await over;
	} finally {
		settled.abort();
		await attachment.detach();
	}
}

async function watch(
	attachment: Attachment,
	condition: OutputCondition,
	{ quiet, typed }: { readonly quiet: RestartableTimer; readonly typed: readonly string[] },
): Promise<WaitResult> {
	const search = "match" in condition ? new OutputMatcher(condition.match) : undefined;
	let isFirst = true;
	let exit: ExitMessage | null = null;
	for await (const event of attachment) {
		switch (event.kind) {
			case "connection":
				// Output may have been missed, so the quiet time starts again.
				if (event.state === "disconnected") {
					quiet.stop();
					break;
				}
				quiet.start();
				// Nothing echoes on pipes.
				if (isFirst && event.session.mode === "pty") search?.passOver(typed);
				isFirst = false;
				exit ??= event.session.exit;
				if (event.session.state === "lost" && !search) {
					return { kind: "lost", message: "the session was lost", offset: offsetsOf(event.session).end };
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
		// The program's last output may come after its exit.
		if (exit && "exit" in condition) break;
	}
	if (exit) return { kind: "exit", exit, offset: attachment.offset ?? 0 };
	throw new Error("invariant: a session ended without an exit");
}
