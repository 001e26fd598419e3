/** Output over HTTP: bytes or text from an offset, or an event stream. */

import { limits, outputHeaders } from "../../../api/messages.ts";
import type { Operations } from "../../../api/types.ts";
import { withDeadline } from "../../../core/async/deadline.ts";
import type { FollowOptions } from "../../../core/log/cursor.ts";
import type { Gap, Start } from "../../../core/log/event.ts";
import { isEnded } from "../../../core/log/session-state.ts";
import type { ScreenReader } from "../../../core/session/screen-reader.ts";
import type { Session } from "../../../core/session/session.ts";
import type { SessionInfo } from "../../../core/session/session-info.ts";
import type { HeldBytes } from "../../../http/answer.ts";
import { lastEventId, sendEvents } from "../../../http/event-stream.ts";
import type { TrafficCounters } from "../../../services/metrics/traffic.ts";
import { allowedFlow } from "../../../services/reading/flow.ts";
import { readText, type TextOptions } from "../../../services/reading/text.ts";
import type { Serve } from "../serve.ts";
import { outputEvents, parseEventId } from "./stream.ts";

export function addOutput(serve: Serve, screens: ScreenReader | undefined, traffic: TrafficCounters): void {
	serve("readOutput", async (call) => {
		const { session, caller, request, reply, query, signal } = call;
		const isStream = wantsEvents(request.headers.accept);
		call.startReading(isStream ? "attach" : "read");
		if (isStream) {
			const start = await startOf(session, lastEventId(reply), query.since);
			// An EventSource reconnects until it gets 204.
			if (start === "over") return reply.code(204).send();
			return sendEvents(reply, outputEvents(session, { start, signal, traffic }), { traffic });
		}
		// Lossless, so that nothing is skipped between two reads of one answer.
		const flow = allowedFlow(caller, session, "lossless");
		const options = { ...flow, signal, hold: call.holdBytes() };
		reply.header("cache-control", "no-store");
		if (query.as === "text") {
			const { text, headers } = await readAsText(session, query, { ...options, screens });
			traffic.bytesOut += text.byteLength;
			return reply.headers(headers).type("text/plain; charset=utf-8").send(text);
		}
		const part = await readPart(session, query, options);
		// After the read: if the state is "closed", the end is final.
		const next = part.offset + part.bytes.byteLength;
		reply.headers(headersOf({ ...part, next }, await session.info()));
		traffic.bytesOut += part.bytes.byteLength;
		return reply.type("application/octet-stream").send(part.bytes);
	});
}

function wantsEvents(accept: string | undefined): boolean {
	return (accept ?? "").split(",").some((one) => one.split(";", 1)[0]?.trim().toLowerCase() === "text/event-stream");
}

/** Start of an event stream; "over" if the client already received the last event. */
async function startOf(
	session: Session,
	lastId: string | undefined,
	since = 0,
): Promise<Exclude<Start, "end"> | "over"> {
	const wanted = lastId === undefined ? { offset: since } : parseEventId(lastId);
	const isOver = isEnded(session.state);
	const end = await session.end();
	if (!("seq" in wanted)) return { offset: Math.min(wanted.offset, end.offset) };
	if (wanted.seq < end.seq) return wanted;
	return isOver ? "over" : end;
}

type OutputQuery = Operations["readOutput"]["query"];

type Part = { readonly offset: number; readonly bytes: Buffer; readonly gap: Gap | undefined };

type Reading = Pick<FollowOptions, "flow"> & {
	readonly signal: AbortSignal;
	readonly hold: HeldBytes;
};

/** Up to `max` bytes from `since`. If there are none yet, waits for output, the end of the session, or the timeout. */
async function readPart(session: Session, query: OutputQuery, options: Reading): Promise<Part> {
	const { end } = (await session.info()).offsets;
	const since = Math.min(query.since ?? 0, end);
	const max = Math.min(query.limit ?? query.max ?? limits.outputBytes, limits.maxOutputBytes);
	const waitMs = Math.min(query.wait ?? 0, limits.maxWaitMs);
	if (since < end) return readRange(session, { since, max, end }, options);
	if (waitMs === 0) return { offset: since, bytes: Buffer.alloc(0), gap: undefined };

	return withDeadline(waitMs, [options.signal], (signal) =>
		readRange(session, { since, max, end: undefined }, { ...options, signal }),
	);
}

type Range = {
	readonly since: number;
	readonly max: number;
	/** The known end of the output; undefined waits for more. */
	readonly end: number | undefined;
};

/** The bytes of a range, up to a gap or until the answer's memory budget is used up. */
export async function readRange(session: Session, range: Range, options: Reading): Promise<Part> {
	const chunks: Uint8Array[] = [];
	let gap: Gap | undefined;
	let { since: position, end } = range;
	let length = 0;
	for await (const item of session.follow({ offset: range.since }, { ...options, isBounded: end !== undefined })) {
		if (item.kind === "gap") {
			// Output after the gap belongs to the next answer, whose headers report the gap.
			if (length > 0) break;
			gap = item;
			position = item.to;
		} else if (item.kind === "output") {
			const wanted = Math.min(item.bytes.byteLength, range.max - length);
			const held = options.hold.some(wanted);
			if (held === 0 && length === 0) throw options.hold.refusal();
			const bytes = item.bytes.subarray(0, held);
			chunks.push(bytes);
			length += bytes.byteLength;
			position = item.offset + bytes.byteLength;
			// The client continues from here with its next request.
			if (held < wanted) break;
			end ??= (await session.info()).offsets.end;
		}
		if (length >= range.max || (end !== undefined && position >= end)) break;
	}
	return { offset: position - length, bytes: Buffer.concat(chunks, length), gap };
}

type Text = { readonly text: Buffer; readonly headers: Record<string, string> };

/** Output from `since`, or `limit` bytes of it, as at most `max` bytes of text. */
async function readAsText(session: Session, query: OutputQuery, options: Reading & TextOptions): Promise<Text> {
	const { since = 0, wait = 0 } = query;
	const first = await readPart(session, { since, wait, limit: 1 }, options);
	const { offsets, size } = await session.info();
	const from = first.offset;
	const to = Math.min(offsets.end, from + (query.limit ?? Number.MAX_SAFE_INTEGER));
	const max = Math.min(Math.max(query.max ?? limits.textBytes, limits.minTextBytes), limits.maxTextBytes);
	options.hold.all(max);
	const range = { from, to, max, rows: size.rows, isRedacted: query.redact === "1" };
	const { text, omitted } = await readText(session, range, options);
	const { gap } = first;
	const headers = headersOf({ offset: from, next: to, gap }, await session.info());
	const left = omitted ? { [outputHeaders.omitted]: `from=${omitted.from}, to=${omitted.to}` } : {};
	return { text: Buffer.from(text), headers: { ...headers, ...left } };
}

type Place = { readonly offset: number; readonly next: number; readonly gap: Gap | undefined };

function headersOf({ offset, next, gap }: Place, info: SessionInfo): Record<string, string> {
	return {
		[outputHeaders.offset]: String(offset),
		[outputHeaders.next]: String(next),
		[outputHeaders.end]: String(info.offsets.end),
		[outputHeaders.state]: info.status,
		...(info.exit ? { [outputHeaders.exit]: asciiJson(info.exit) } : {}),
		...(gap ? { [outputHeaders.gap]: `from=${gap.from}, to=${gap.to}, reason=${gap.reason}` } : {}),
	};
}

/** JSON in ASCII, for a header. */
function asciiJson(value: unknown): string {
	return JSON.stringify(value).replace(
		/[^\x20-\x7e]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
