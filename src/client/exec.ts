/** Runs commands in a living shell, each once, across lost connections and restarts of the server. */

import { fenceHeader, idempotencyKeyHeader, limits, type RunAnswer, type RunCommand } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";
import { newStreamId } from "./outbox.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";

export type ExecOptions = {
	/** The answer says `running` after this long; never by default. The command runs on, and can be waited for by its `seq`. */
	readonly timeoutMs?: number;
	/** How much of the output the answer has as text, in bytes: its end; 64 KiB by default, 4 MiB at most. */
	readonly limit?: number;
	/** How long the server may be away, in milliseconds; a minute by default. */
	readonly patienceMs?: number;
	/** Of the lease that we have, while nobody else may write. */
	readonly fence?: number;
	/** Ends the waiting, not the command. */
	readonly signal?: AbortSignal;
};

type Origin = { readonly stream: string; readonly position: number };

const PATIENCE_MS = 60_000;
/** After a rest as long as this a new stream is begun: the server may forget an old one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

export class Shell {
	readonly #transport: Transport;
	readonly #path: string;
	/** Where the next command goes; undefined while one is on its way there. */
	#origin: Origin | undefined = { stream: newStreamId(), position: 0 };
	#lastUseAt = performance.now();

	constructor(transport: Transport, path: string) {
		this.#transport = transport;
		this.#path = path;
	}

	async exec(command: string | number, options: ExecOptions): Promise<RunAnswer> {
		const isRested = performance.now() - this.#lastUseAt > STREAM_REST_MS;
		const origin = (!isRested && this.#origin) || { stream: newStreamId(), position: 0 };
		this.#origin = undefined;
		const answer = await this.#outcome(command, origin, options);
		// What failed may have come to its place or not, so only then it goes on from there.
		this.#origin ??= { stream: origin.stream, position: answer.next };
		this.#lastUseAt = performance.now();
		return answer;
	}

	/** The same request again and again, which the session recognises, until there is something to tell. */
	async #outcome(command: string | number, origin: Origin, options: ExecOptions): Promise<RunAnswer> {
		const { timeoutMs = Number.POSITIVE_INFINITY, patienceMs = PATIENCE_MS, limit, signal } = options;
		const begin = performance.now();
		const backoff = new Backoff(this.#transport.times);
		let lostAt: number | undefined;
		for (;;) {
			const leftMs = Math.max(0, timeoutMs - (performance.now() - begin));
			const json: RunCommand = {
				...(typeof command === "string" ? { command } : { resume: command }),
				timeoutMs: Math.ceil(Math.min(leftMs, limits.maxWaitMs)),
				...(limit === undefined ? {} : { limit }),
			};
			try {
				const answer = await this.#ask(json, origin, options);
				if (answer.status !== "running" || leftMs <= limits.maxWaitMs) return answer;
				lostAt = undefined;
				backoff.reset();
			} catch (error) {
				if (!(error instanceof HawserError) || !error.isTemporary || signal?.aborted) throw error;
				lostAt ??= performance.now();
				if (performance.now() - lostAt >= patienceMs) throw error;
				await pause(backoff.next(), signal);
			}
		}
	}

	async #ask(json: RunCommand, { stream, position }: Origin, { fence, signal }: ExecOptions): Promise<RunAnswer> {
		const response = await this.#transport.request({
			method: "POST",
			path: this.#path,
			json,
			headers: {
				[idempotencyKeyHeader]: `${stream}:${position}`,
				...(fence === undefined ? {} : { [fenceHeader]: String(fence) }),
			},
			signal,
		});
		const body = await this.#transport.body(response, signal);
		return JSON.parse(new TextDecoder().decode(body)) as RunAnswer;
	}
}
