/** Requests that wait on the server for a condition, across restarts of the server. */

import type { SessionMessage } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { HawserError } from "../errors.ts";
import { Backoff, defaultTimeouts } from "../http/retries.ts";
import type { WaitResult } from "./wait.ts";

/** Long-poll time of one request. */
export const WAIT_MS = 30_000;

type RepeatOptions = { readonly signal: AbortSignal | undefined; readonly reconnectTimeoutMs: number };

/** Repeats a request while the server is unreachable. Undefined when aborted. */
export async function askRepeatedly<Answer>(
	ask: (options: { readonly signal?: AbortSignal }) => Promise<Answer>,
	{ signal, reconnectTimeoutMs }: RepeatOptions,
): Promise<Answer | undefined> {
	const began = performance.now();
	const pauses = new Backoff(defaultTimeouts);
	for (;;) {
		try {
			return await ask(signal ? { signal } : {});
		} catch (error) {
			if (signal?.aborted) return undefined;
			const isTemporary = error instanceof HawserError && error.isTemporary;
			if (!isTemporary || performance.now() - began >= reconnectTimeoutMs) throw error;
		}
		await sleep(pauses.next(), signal);
	}
}

type EndSource = { info(options: { readonly signal?: AbortSignal }): Promise<Pick<SessionMessage, "exit">> };

/** The result of a wait for an ended session. */
export async function endOf(session: EndSource, offset: number, signal: AbortSignal | undefined): Promise<WaitResult> {
	const { exit } = await session.info(signal ? { signal } : {});
	return exit ? { kind: "exit", exit, offset } : { kind: "lost", message: "the session was lost", offset };
}
