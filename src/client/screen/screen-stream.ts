/** Screens of several sessions for thumbnails, across lost connections and server restarts. */

import type { ScreenRunMessage, ScreensBegin, ScreensError, ScreenUpdate } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { isTransient } from "../attach/final-errors.ts";
import { HawserError } from "../errors.ts";
import { serverEvents } from "../http/event-stream.ts";
import { Backoff } from "../http/retries.ts";
import type { Transport } from "../http/transport.ts";

export type ScreenStreamOptions = {
	/** Sessions to start with. */
	readonly sessions?: readonly string[];
	readonly signal?: AbortSignal;
};

/** A screen with all its rows, and which of them changed. */
export type StyledScreen = Omit<ScreenUpdate, "changes" | "reset"> & {
	/** One array per row, of text runs with one style each. */
	readonly lines: readonly (readonly ScreenRunMessage[])[];
	readonly changed: readonly number[];
};

export type ScreenStreamItem =
	| { readonly kind: "screen"; readonly screen: StyledScreen }
	/** The session's screen is not available. No update follows until the session is shown again. */
	| { readonly kind: "error"; readonly session: string; readonly error: HawserError };

export class ScreenStream implements AsyncIterable<ScreenStreamItem> {
	readonly #transport: Transport;
	readonly #signal: AbortSignal | undefined;
	#wanted: readonly string[];
	/** ID of the current connection's stream. */
	#stream: string | undefined;
	readonly #lines = new Map<string, (readonly ScreenRunMessage[])[]>();
	#sending: Promise<void> | undefined;

	constructor(transport: Transport, { sessions = [], signal }: ScreenStreamOptions = {}) {
		this.#transport = transport;
		this.#signal = signal;
		this.#wanted = [...sessions];
	}

	/** Sends only these sessions from now on. Invisible ones need no updates. */
	show(sessions: readonly string[]): void {
		this.#wanted = [...sessions];
		this.#sending ??= this.#sendSelection().finally(() => {
			this.#sending = undefined;
		});
	}

	/** Ends without an error when the signal is aborted. */
	async *[Symbol.asyncIterator](): AsyncGenerator<ScreenStreamItem, void, void> {
		const signal = this.#signal;
		const backoff = new Backoff(this.#transport.times);
		while (!signal?.aborted) {
			const asked = this.#wanted;
			try {
				const query = { session: asked };
				for await (const { event, data } of serverEvents(this.#transport, "followScreens", { query, signal })) {
					backoff.reset();
					if (event === "begin") {
						this.#stream = (JSON.parse(data) as ScreensBegin).stream;
						// The selection changed before the stream had an ID.
						if (this.#wanted !== asked) this.show(this.#wanted);
					} else if (event === "screen") {
						const screen = this.#fold(JSON.parse(data) as ScreenUpdate);
						if (screen) yield { kind: "screen", screen };
					} else if (event === "error") {
						const { session, code, message } = JSON.parse(data) as ScreensError;
						yield { kind: "error", session, error: new HawserError(code, message) };
					}
				}
			} catch (error) {
				if (signal?.aborted) return;
				if (!(error instanceof HawserError) || !isTransient(error)) throw error;
			} finally {
				this.#stream = undefined;
				this.#lines.clear();
			}
			await sleep(backoff.next(), signal);
		}
	}

	/** Retries until the server has the current selection. A new connection starts with it. */
	async #sendSelection(): Promise<void> {
		for (let sent: readonly string[] | undefined; this.#stream !== undefined && sent !== this.#wanted; ) {
			sent = this.#wanted;
			// Not earlier: until the server has the selection, its updates build on these rows.
			for (const id of this.#lines.keys()) if (!sent.includes(id)) this.#lines.delete(id);
			const call = { params: { stream: this.#stream }, body: { sessions: sent }, signal: this.#signal };
			await this.#transport.open("showScreens", call).catch(() => {});
		}
	}

	/** Undefined for an update of a session that is no longer shown. */
	#fold({ changes, reset, ...rest }: ScreenUpdate): StyledScreen | undefined {
		const before = this.#lines.get(rest.session);
		if (!reset && !before) return undefined;
		const lines = Array.from({ length: rest.rows }, (_, row) => (reset ? [] : (before?.[row] ?? [])));
		for (const { row, runs } of changes) lines[row] = runs;
		this.#lines.set(rest.session, lines);
		const changed = reset ? lines.map((_, row) => row) : changes.map(({ row }) => row);
		return { ...rest, lines, changed };
	}
}
