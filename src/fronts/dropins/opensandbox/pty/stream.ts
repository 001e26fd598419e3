/** Joins the output of a PTY's programs into one stream with continuous offsets. */

import type { FollowOptions } from "../../../../core/log/cursor.ts";
import type { Item } from "../../../../core/log/event.ts";
import type { Session } from "../../../../core/session/session.ts";

/**
 * Output that can be replayed to a client, as in the original's ring.
 * @limit replayable output of a PTY over all its programs, as in the original | older bytes are gone; the offset of the
 * replay shows it
 */
export const REPLAY_BYTES: number = 1024 * 1024;

/** One program of a PTY: its session, if it still exists, and the offset where its output starts. */
export type Link = { readonly session: Pick<Session, "follow"> | undefined; readonly base: number };

/** Items of the stream. Offsets count from the PTY's first byte. */
export type StreamItem =
	| {
			readonly kind: "output";
			readonly channel: "stdout" | "stderr";
			readonly offset: number;
			readonly bytes: Uint8Array;
	  }
	/** Unread output before `to` is lost. */
	| { readonly kind: "gap"; readonly to: number }
	/** The last program has ended, after all its output. */
	| { readonly kind: "exit"; readonly code: number };

/** Yields everything from `from` until the last program ends or the signal aborts. */
async function* follow(
	chain: readonly Link[],
	from: number,
	options: FollowOptions & { readonly signal: AbortSignal },
): AsyncGenerator<StreamItem, void, void> {
	let position = from;
	for (const [index, { session, base }] of chain.entries()) {
		const next = chain[index + 1];
		if (next && next.base <= position) continue;
		if (position < base) {
			// The previous session was removed, or its end was not stored.
			yield { kind: "gap", to: base };
			position = base;
		}
		let code = -1;
		for await (const item of session?.follow({ offset: position - base }, options) ?? []) {
			if (item.kind === "exited") code = item.exit.code ?? -1;
			const translated = toStream(item, base);
			if (!translated) continue;
			yield translated;
			position = translated.kind === "gap" ? translated.to : translated.offset + translated.bytes.byteLength;
		}
		if (options.signal.aborted) return;
		if (!next) yield { kind: "exit", code };
	}
}

function toStream(item: Item, base: number): Exclude<StreamItem, { kind: "exit" }> | undefined {
	if (item.kind === "gap") return { kind: "gap", to: base + item.to };
	if (item.kind !== "output") return undefined;
	const channel = item.stream === "stderr" ? "stderr" : "stdout";
	return { kind: "output", channel, offset: base + item.offset, bytes: item.bytes };
}

/** Contiguous earlier output and its offset. */
type Replay = { readonly offset: number; readonly pieces: readonly Uint8Array[] };

/** Reads a PTY's output: `replay` yields what was before `total`, `live` what follows. */
export class PtyReader {
	readonly #items: AsyncGenerator<StreamItem, void, void>;
	readonly #total: number;
	#position: number;
	/** Already read, but after `total`. */
	#ahead: StreamItem | undefined;

	/** Starts at `since`, or later if that is further back than the replay limit. */
	constructor(
		chain: readonly Link[],
		where: { readonly since: number; readonly total: number },
		options: FollowOptions & { readonly signal: AbortSignal },
	) {
		this.#total = where.total;
		this.#position = Math.min(Math.max(where.since, where.total - REPLAY_BYTES, 0), where.total);
		this.#items = follow(chain, this.#position, options);
	}

	/** The output before `total`; undefined if there is none. If some is lost, it starts after the gap. */
	async replay(): Promise<Replay | undefined> {
		let offset = this.#position;
		let pieces: Uint8Array[] = [];
		let isWhole = true;
		while (this.#position < this.#total && !this.#ahead) {
			const { value: item } = await this.#items.next();
			if (item?.kind === "output") {
				const past = item.bytes.subarray(0, this.#total - item.offset);
				const rest = item.bytes.subarray(past.byteLength);
				pieces.push(past);
				this.#position += past.byteLength;
				if (rest.byteLength > 0) this.#ahead = { ...item, offset: this.#total, bytes: rest };
			} else if (item?.kind === "gap") {
				[offset, pieces, isWhole] = [item.to, [], false];
				this.#position = item.to;
			} else {
				this.#ahead = item ?? undefined;
				break;
			}
		}
		return pieces.length > 0 || !isWhole ? { offset, pieces } : undefined;
	}

	/** The output after the replay. */
	async *live(): AsyncGenerator<StreamItem, void, void> {
		try {
			if (this.#ahead) yield this.#ahead;
			if (this.#ahead?.kind !== "exit") yield* this.#items;
		} finally {
			await this.close();
		}
	}

	async close(): Promise<void> {
		await this.#items.return();
	}
}
