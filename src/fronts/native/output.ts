/** Output over HTTP: the bytes from an offset on, now or as soon as there are any. */

import type { Gap, Start } from "../../core/event.ts";
import type { FollowOptions, Session, SessionInfo } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { formerStateHeader, limits, outputHeaders } from "../../protocol/messages.ts";
import { bytesOf, crowded, type HoldBytes } from "../answer-bytes.ts";
import { flowFor, type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { readText, type TextOptions } from "../text.ts";
import { lastEventId, sendEvents } from "./event-stream.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { type OutputQuery, outputEventSchemas, outputQuery } from "./output-messages.ts";
import { outputEvents, parseEventId } from "./output-stream.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { idParams } from "./session-messages.ts";

export function addOutput(
	app: NativeApp,
	{ sessions, screens }: NativeOptions,
	hosting: Hosting,
	traffic: Traffic,
): void {
	app.get(
		"/v1/sessions/:id/output",
		{
			config: {
				policy: "read",
				operation: "readOutput",
				summary: "Read output from an offset on, or follow it as an event stream",
				headers: ["last-event-id"],
				answerHeaders: Object.values(outputHeaders),
				answers: { 200: "application/octet-stream, text/plain, text/event-stream", 204: "" },
				events: outputEventSchemas,
			},
			schema: { params: idParams, querystring: outputQuery },
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const isStream = wantsEvents(request.headers.accept);
			whenOver(reply, takeReader(request, placeOf(session), hosting, isStream ? "attach" : "read"));
			if (isStream) {
				const start = await startOf(session, lastEventId(reply), request.query.since);
				// An EventSource comes back for ever, unless it is told that there is nothing more.
				if (start === "over") return reply.code(204).send();
				const patience = patienceOf(reply, hosting);
				const { signal } = patience;
				return sendEvents(reply, outputEvents(session, { start, signal, traffic }), { patience, traffic });
			}
			const patience = patienceOf(reply, hosting);
			try {
				// Without loss, because nothing should be dropped between two reads of one answer.
				const flow = flowFor(caller, session, "lossless");
				const options = { ...flow, signal: patience.signal, hold: bytesOf(caller, reply, hosting) };
				if (request.query.as === "text") {
					const { text, headers } = await readAsText(session, request.query, { ...options, screens });
					traffic.bytesOut += text.byteLength;
					return reply
						.headers(headers)
						.type("text/plain; charset=utf-8")
						.header("cache-control", "no-store")
						.send(text);
				}
				const part = await readPart(session, request.query, options);
				// Asked after the reading: a state that says "closed" then comes with the final end.
				const next = part.offset + part.bytes.byteLength;
				reply.headers(headersOf({ ...part, next }, await session.info()));
				traffic.bytesOut += part.bytes.byteLength;
				return reply.type("application/octet-stream").header("cache-control", "no-store").send(part.bytes);
			} finally {
				patience.end();
			}
		},
	);
}

function wantsEvents(accept: string | undefined): boolean {
	return (accept ?? "").split(",").some((one) => one.split(";", 1)[0]?.trim().toLowerCase() === "text/event-stream");
}

/** Where an event stream begins; "over" for a client that comes back after the last event. */
async function startOf(
	session: Session,
	lastId: string | undefined,
	since = 0,
): Promise<Exclude<Start, "end"> | "over"> {
	const wanted = lastId === undefined ? { offset: since } : parseEventId(lastId);
	const isOver = isEnded(session.state);
	const end = await session.end();
	if ("offset" in wanted) return { offset: Math.min(wanted.offset, end.offset) };
	if (wanted.seq < end.seq) return wanted;
	return isOver ? "over" : { seq: end.seq };
}

type Part = { readonly offset: number; readonly bytes: Buffer; readonly gap: Gap | undefined };

type Reading = Pick<FollowOptions, "flow"> & {
	readonly signal: AbortSignal;
	readonly hold: HoldBytes;
};

/** What is there from `since` on, up to `max`; when there is nothing, waits for the first bytes, the end, or the time. */
async function readPart(session: Session, query: OutputQuery, options: Reading): Promise<Part> {
	const { end } = (await session.info()).offsets;
	const since = Math.min(query.since ?? 0, end);
	const max = Math.min(query.limit ?? query.max ?? limits.outputBytes, limits.maxOutputBytes);
	const waitMs = Math.min(query.wait ?? 0, limits.maxWaitMs);
	const { signal } = options;
	if (since < end) return readRange(session, { since, max, end }, options);
	if (waitMs === 0) return { offset: since, bytes: Buffer.alloc(0), gap: undefined };

	const controller = new AbortController();
	const abort = () => controller.abort();
	const timer = setTimeout(abort, waitMs);
	if (signal.aborted) abort();
	signal.addEventListener("abort", abort, { once: true });
	try {
		return await readRange(session, { since, max, end: undefined }, { ...options, signal: controller.signal });
	} finally {
		clearTimeout(timer);
		signal.removeEventListener("abort", abort);
	}
}

type Range = {
	readonly since: number;
	readonly max: number /** Known to be there; undefined waits for the first bytes. */;
	readonly end: number | undefined;
};

/** The bytes of a range, in one piece: it ends at a gap, and where the answer may not hold more. */
export async function readRange(session: Session, range: Range, options: Reading): Promise<Part> {
	const chunks: Uint8Array[] = [];
	let gap: Gap | undefined;
	let { since: position, end } = range;
	let length = 0;
	for await (const item of session.follow({ offset: range.since }, options)) {
		if (item.kind === "gap") {
			// What comes after a gap belongs to the next answer, whose headers can say so.
			if (length > 0) break;
			gap = item;
			position = item.to;
		} else if (item.kind === "output") {
			const wanted = Math.min(item.bytes.byteLength, range.max - length);
			const held = options.hold(wanted);
			if (held === 0 && length === 0) throw crowded();
			const bytes = item.bytes.subarray(0, held);
			chunks.push(bytes);
			length += bytes.byteLength;
			position = item.offset + bytes.byteLength;
			// Less than there is makes a shorter answer, and the next begins where it ends.
			if (held < wanted) break;
			end ??= (await session.info()).offsets.end;
		}
		if (length >= range.max || (end !== undefined && position >= end)) break;
	}
	return { offset: position - length, bytes: Buffer.concat(chunks, length), gap };
}

type Text = { readonly text: Buffer; readonly headers: Record<string, string> };

/** The same as text: all from `since` on, or `limit` bytes of it, within `max` bytes of text. */
async function readAsText(session: Session, query: OutputQuery, options: Reading & TextOptions): Promise<Text> {
	const { since = 0, wait = 0 } = query;
	const first = await readPart(session, { since, wait, limit: 1 }, options);
	const { offsets, size } = await session.info();
	const from = first.offset;
	const to = Math.min(offsets.end, from + (query.limit ?? Number.MAX_SAFE_INTEGER));
	const max = Math.min(Math.max(query.max ?? limits.textBytes, limits.minTextBytes), limits.maxTextBytes);
	if (options.hold(max) < max) throw crowded();
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
		[formerStateHeader]: info.status,
		...(info.exit ? { [outputHeaders.exit]: asciiJson(info.exit) } : {}),
		...(gap ? { [outputHeaders.gap]: `from=${gap.from}, to=${gap.to}, reason=${gap.reason}` } : {}),
	};
}

/** JSON that a header can carry whatever is in it. */
function asciiJson(value: unknown): string {
	return JSON.stringify(value).replace(
		/[^\x20-\x7e]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
