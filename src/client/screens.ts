/** What the terminals of several sessions show, as pictures are drawn of it, across lost connections and restarts of the server. */

import type { ScreenRunMessage, ScreensBegin, ScreensError, ScreenUpdate } from "../protocol/screens.ts";
import { HawserError } from "./error.ts";
import { isPassing } from "./refusal.ts";
import { serverEvents } from "./server-events.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";

export type ScreensOptions = {
	/** With which sessions to begin. */
	readonly sessions?: readonly string[];
	readonly signal?: AbortSignal;
};

/** A screen with all of its rows, and which of them have changed. */
export type TileScreen = Omit<ScreenUpdate, "changes" | "reset"> & {
	/** One for each row, of text in one style each. */
	readonly lines: readonly (readonly ScreenRunMessage[])[];
	readonly changed: readonly number[];
};

export type ScreensItem =
	| { readonly kind: "screen"; readonly screen: TileScreen }
	/** The screen of this session can't be had; nothing more comes of it until it is shown anew. */
	| { readonly kind: "error"; readonly session: string; readonly error: HawserError };

export class Screens implements AsyncIterable<ScreensItem> {
	readonly #transport: Transport;
	readonly #signal: AbortSignal | undefined;
	#wanted: readonly string[];
	/** The stream of the connection that there is. */
	#stream: string | undefined;
	readonly #lines = new Map<string, (readonly ScreenRunMessage[])[]>();
	#telling: Promise<void> | undefined;

	constructor(transport: Transport, { sessions = [], signal }: ScreensOptions = {}) {
		this.#transport = transport;
		this.#signal = signal;
		this.#wanted = [...sessions];
	}

	/** From now on these sessions, and no others: what nobody sees need not be sent. */
	show(sessions: readonly string[]): void {
		this.#wanted = [...sessions];
		this.#telling ??= this.#tell().finally(() => {
			this.#telling = undefined;
		});
	}

	/** Ends without an error when the signal is aborted. */
	async *[Symbol.asyncIterator](): AsyncGenerator<ScreensItem, void, void> {
		const signal = this.#signal;
		const backoff = new Backoff(this.#transport.times);
		while (!signal?.aborted) {
			const asked = this.#wanted;
			try {
				const query = { session: asked };
				for await (const { event, data } of serverEvents(this.#transport, { path: "/v1/screens", query, signal })) {
					backoff.reset();
					if (event === "begin") {
						this.#stream = (JSON.parse(data) as ScreensBegin).stream;
						// Who was asked for meanwhile could be told to nobody.
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
				if (!(error instanceof HawserError) || !isPassing(error)) throw error;
			} finally {
				this.#stream = undefined;
				this.#lines.clear();
			}
			await pause(backoff.next(), signal);
		}
	}

	/** As often as it takes until the server has heard of what is wanted now; a connection that is lost is made anew with that. */
	async #tell(): Promise<void> {
		for (let told: readonly string[] | undefined; this.#stream !== undefined && told !== this.#wanted; ) {
			told = this.#wanted;
			// Not sooner: as long as the server is not told, it goes on from what it has told itself.
			for (const id of this.#lines.keys()) if (!told.includes(id)) this.#lines.delete(id);
			const path = `/v1/screens/${this.#stream}`;
			const call = { method: "PUT", path, json: { sessions: told }, signal: this.#signal } as const;
			await this.#transport.request(call).catch(() => {});
		}
	}

	/** Undefined for what was on its way when it was not wanted any more. */
	#fold({ changes, reset, ...rest }: ScreenUpdate): TileScreen | undefined {
		const before = this.#lines.get(rest.session);
		if (!reset && !before) return undefined;
		const lines = Array.from({ length: rest.rows }, (_, row) => (reset ? [] : (before?.[row] ?? [])));
		for (const { row, runs } of changes) lines[row] = runs;
		this.#lines.set(rest.session, lines);
		const changed = reset ? lines.map((_, row) => row) : changes.map(({ row }) => row);
		return { ...rest, lines, changed };
	}
}
