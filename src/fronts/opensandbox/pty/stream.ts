/** The output of a PTY's programs, one after the other, as one stream of bytes with one count. */

import type { Item } from "../../../core/event.ts";
import type { FollowOptions, Session } from "../../../core/session.ts";

/** What a client that comes back can have at most: the original's ring. */
export const REPLAY_BYTES: number = 1024 * 1024;

/** One program of a PTY: its session, if it is still there, and where its output begins in the stream. */
export type Link = { readonly session: Pick<Session, "follow"> | undefined; readonly base: number };

/** What happens in the stream; offsets count from the PTY's first byte. */
export type StreamItem =
	| {
			readonly kind: "output";
			readonly channel: "stdout" | "stderr";
			readonly offset: number;
			readonly bytes: Uint8Array;
	  }
	/** Everything before `to` that was not seen by now is gone. */
	| { readonly kind: "gap"; readonly to: number }
	/** The last program is over, and all of its output was before this. */
	| { readonly kind: "exit"; readonly code: number };

/** Everything from `from` on, to the end of the last program or the abort of the signal. */
export async function* follow(
	chain: readonly Link[],
	from: number,
	options: FollowOptions & { readonly signal: AbortSignal },
): AsyncGenerator<StreamItem, void, void> {
	let position = from;
	for (const [index, { session, base }] of chain.entries()) {
		const next = chain[index + 1];
		if (next && next.base <= position) continue;
		if (position < base) {
			// The session before it was removed, or its end was never written.
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

/** What a client that begins to read is given first: bytes without a hole, and where they stand. */
export type Replay = { readonly offset: number; readonly pieces: readonly Uint8Array[] };

/** A reader that knows where its past ends: `replay` is what lies before `total`, `live` what follows. */
export class PtyReader {
	readonly #items: AsyncGenerator<StreamItem, void, void>;
	readonly #total: number;
	#position: number;
	/** Read already, and not of the past. */
	#ahead: StreamItem | undefined;

	/** Begins at `since`, or later if that is more than the ring would hold. */
	constructor(
		chain: readonly Link[],
		where: { readonly since: number; readonly total: number },
		options: FollowOptions & { readonly signal: AbortSignal },
	) {
		this.#total = where.total;
		this.#position = Math.min(Math.max(where.since, where.total - REPLAY_BYTES, 0), where.total);
		this.#items = follow(chain, this.#position, options);
	}

	/** The bytes before `total`; undefined when there are none. Where some are gone it begins behind them, as its offset shows. */
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

	/** What comes after the replay. */
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
