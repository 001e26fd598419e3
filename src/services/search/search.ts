/** Searches a session's log in batches, within limits of time and memory. */

import type { SearchMatch, SearchResult } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import { type SearchBatch, SearchProcess, type SearchQuery } from "./search-process.ts";

/**
 * Time for one request. The answer then contains the offset to continue at.
 * @limit one search request | the answer says where to continue
 */
const SEARCH_MS = 5_000;
/** Bytes per batch, and so the memory of a search. */
const BATCH_BYTES = 1024 * 1024;
/** Limits the marks of a batch with many small parts. */
const BATCH_MARKS = 20_000;

type SearchRequest = {
	readonly task: SearchQuery;
	/** Offset of the first byte to search. */
	readonly after: number;
	readonly signal: AbortSignal;
};

/** Searches the log from `after` to its current end. It does not hold the log: output dropped meanwhile is not searched. */
export async function search(session: Session, { task, after, signal }: SearchRequest): Promise<SearchResult> {
	const { offset: end } = await session.end();
	const from = Math.min(after, end);
	if (from === end) return { matches: [], searched: { from, to: end }, next: null };
	const matches: SearchMatch[] = [];
	const searching = new SearchProcess(task);
	const deadline = performance.now() + SEARCH_MS;
	let begin: number | undefined;
	try {
		for await (const batch of oneAhead(batches(session, from, end, signal))) {
			begin ??= batch.marks[0]?.offset;
			const where = `the output from byte ${batch.marks[0]?.offset ?? 0}`;
			const answer = await searching.ask(batch, { signal, where });
			matches.push(...answer.matches);
			const isOver = batch.isLast && !answer.isFull;
			if (!isOver && !answer.isFull && performance.now() < deadline) continue;
			const next = isOver || answer.resumeAt >= end ? null : answer.resumeAt;
			return { matches, searched: { from: begin ?? from, to: next ?? end }, next };
		}
	} finally {
		searching.end();
	}
	// Only the signal ends the reading before the last batch.
	throw new SessionError("node_unavailable", "the search was canceled");
}

/** The output up to `end`; the last batch is marked. */
async function* batches(
	session: Session,
	from: number,
	end: number,
	signal: AbortSignal,
): AsyncGenerator<SearchBatch, void, void> {
	let batch = new Gathering();
	for await (const item of session.follow({ offset: from }, { signal, isBounded: true })) {
		let reached = item.kind === "gap" ? item.to : item.offset;
		if (item.kind === "output") {
			const bytes = item.bytes.subarray(0, Math.max(0, end - item.offset));
			batch.add(item.offset, item.time, bytes);
			reached += bytes.byteLength;
		}
		if (reached >= end) break;
		if (!batch.isFull) continue;
		yield batch.whole(false);
		batch = new Gathering();
	}
	if (!signal.aborted) yield batch.whole(true);
}

/** Reads the next batch while the process searches this one. */
async function* oneAhead<Value>(values: AsyncGenerator<Value, void, void>): AsyncGenerator<Value, void, void> {
	let next = values.next();
	try {
		for (;;) {
			const { value, done } = await next;
			if (done) return;
			next = values.next();
			// The consumer gets the error with the next value, if it asks for one.
			next.catch(() => {});
			yield value;
		}
	} finally {
		// Not awaited: it resolves after the batch that is being read, which is not needed.
		void values.return().catch(() => {});
	}
}

class Gathering {
	readonly #parts: Uint8Array[] = [];
	readonly #marks: SearchBatch["marks"][number][] = [];
	#length = 0;

	get isFull(): boolean {
		return this.#length >= BATCH_BYTES || this.#marks.length >= BATCH_MARKS;
	}

	add(offset: number, time: number, bytes: Uint8Array): void {
		this.#marks.push({ at: this.#length, offset, time });
		this.#parts.push(bytes);
		this.#length += bytes.byteLength;
	}

	whole(isLast: boolean): SearchBatch {
		const bytes = new Uint8Array(this.#length);
		for (const [index, part] of this.#parts.entries()) bytes.set(part, this.#marks[index]?.at);
		return { bytes, marks: this.#marks, isLast };
	}
}
