/** What a session's terminal shows, over HTTP: now, as soon as it shows what is waited for, or at an earlier place. */

import Type from "typebox";
import { SessionError } from "../../../core/errors.ts";
import type { Size } from "../../../core/event.ts";
import { changedRows, checkStyled, type Screen, withoutEnd } from "../../../core/screen.ts";
import { limits } from "../../../protocol/messages.ts";
import type { ScreenMessage, ScreenQuery } from "../../../protocol/screens.ts";
import { bytesOf, crowded, type HoldBytes } from "../../answer-bytes.ts";
import { type Hosting, takeReader, whenOver } from "../../front.ts";
import { patienceOf } from "../../patience.ts";
import { Places } from "../../places.ts";
import { type Condition, changed, hasText, stable, untilShown } from "../../screen-wait.ts";
import type { NativeApp, NativeOptions } from "../options.ts";
import { toPlace } from "../place.ts";
import { findSession, placeOf, principalOf } from "../request.ts";
import { hasExpression } from "../search/awaited.ts";
import { idParams } from "../session-messages.ts";
import { ansiLines } from "./ansi.ts";
import { screenMessage, screenQuery, scrollbackMessage, scrollbackQuery } from "./messages.ts";
import { htmlOf, svgOf } from "./picture.ts";

/** What a cell takes in an answer, in bytes, with colours that differ from those beside it now and then; in a picture, with all that it may have. */
const CELL_BYTES = 8;
const PICTURE_CELL_BYTES = 256;
/** How many earlier screens one caller may wait for at a time; how many all may is decided where they are made. */
const PAST = { each: 1, all: Number.POSITIVE_INFINITY };

type Format = NonNullable<ScreenQuery["format"]>;

const TEXT = "text/plain; charset=utf-8";
const PICTURES = {
	html: { type: "text/html; charset=utf-8", make: htmlOf },
	svg: { type: "image/svg+xml", make: svgOf },
} as const;
/** A picture has styles of its own, and nothing that acts or is loaded. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

export function addScreen(
	app: NativeApp,
	{ sessions, screens }: NativeOptions,
	hosting: Hosting,
	expressions: Places,
): void {
	const past = new Places(PAST, busy);

	app.get(
		"/v1/sessions/:id/screen",
		{
			config: {
				policy: "read",
				operation: "readScreen",
				summary: "What a session's terminal shows: now, as soon as it shows something, or at an earlier place",
				answers: { 200: "text/plain, text/html, image/svg+xml" },
			},
			schema: {
				params: idParams,
				querystring: screenQuery,
				response: { 200: Type.Unsafe<ScreenMessage | string>(screenMessage) },
			},
		},
		async (request, reply) => {
			const { query } = request;
			const { format = "json", since } = query;
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const at = toPlace("at", query.at);
			checkWait(query);
			if (!screens) throw showsNone();
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const holdFor = holdingFor(format, bytesOf(caller, reply, hosting));
			if (!at) holdFor(session.state.size);
			const earlier = since === undefined || at ? undefined : screens.earlier(session, since);
			const giveBack = at ? past.take(caller) : query.regex === "1" ? expressions.take(caller) : () => {};
			const patience = patienceOf(reply, hosting);
			const { signal } = patience;
			try {
				const waitMs = Math.min(query.wait ?? 0, limits.maxWaitMs);
				const { screen, isMet } = at
					? { screen: await screens.read(session, { signal, at }), isMet: undefined }
					: await untilShown(conditionOf(query, earlier), { screens, session, waitMs, signal });
				// It may have had another size at that moment, or have got one meanwhile.
				holdFor(screen);
				if (format === "json") {
					screens.remember(session, screen);
					const isAwaited = query.text !== undefined || query.stable !== undefined;
					const message = toMessage(screen, since, earlier);
					return {
						...message,
						...(isAwaited && isMet !== undefined ? { met: isMet } : {}),
						state: session.state.status,
					};
				}
				if (format === "text") return await reply.type(TEXT).send(asText(screen.lines));
				const shown = await screens.cells(session, { signal, at });
				if (format === "ansi") return await reply.type(TEXT).send(asText(ansiLines(shown.cells)));
				const { type, make } = PICTURES[format];
				return await reply.type(type).header("content-security-policy", PICTURE_POLICY).send(make(shown));
			} finally {
				patience.end();
				giveBack();
			}
		},
	);

	app.get(
		"/v1/sessions/:id/scrollback",
		{
			config: { policy: "read", operation: "readScrollback", summary: "The rows above what a terminal shows" },
			schema: { params: idParams, querystring: scrollbackQuery, response: { 200: scrollbackMessage } },
		},
		async (request, reply) => {
			const { skip = 0, limit = limits.listed } = request.query;
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const at = toPlace("at", request.query.at);
			if (!screens) throw showsNone();
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const holdFor = holdingFor("text", bytesOf(caller, reply, hosting));
			const giveBack = past.take(caller);
			const patience = patienceOf(reply, hosting);
			try {
				const { offset, lines } = await screens.scrollback(session, { signal: patience.signal, at });
				const end = Math.max(0, lines.length - skip);
				const listed = lines.slice(Math.max(0, end - limit), end);
				// Not as wide as the terminal is now, but as it was.
				holdFor({ cols: Math.max(0, ...listed.map(({ length }) => length)), rows: listed.length });
				return { offset, total: lines.length, lines: listed };
			} finally {
				patience.end();
				giveBack();
			}
		},
	);
}

/** With all rows, or with those that are not as they were at an earlier revision, if that is known. */
function toMessage(
	screen: Screen,
	since: number | undefined,
	earlier: Screen | undefined,
): Omit<ScreenMessage, "met" | "state"> {
	const { offset, seq, cols, rows, alternate, cursor, title, lines } = screen;
	const common = { offset, revision: seq, cols, rows, alternate, cursor, title };
	if (since === undefined) return { ...common, lines: withoutEnd(lines) };
	const changes = changedRows(screen, earlier);
	return changes ? { ...common, changes } : { ...common, lines: withoutEnd(lines), reset: true };
}

function asText(lines: readonly string[]): string {
	return `${withoutEnd(lines).join("\n")}\n`;
}

function conditionOf(query: ScreenQuery, earlier: Screen | undefined): Condition {
	const { text, stable: stableMs, region } = query;
	const [first, last] = region === undefined ? [0, limits.maxSize] : rowsOf(region);
	const within = ({ lines }: Screen) => lines.slice(first, last + 1);
	if (stableMs !== undefined) return stable(stableMs, within);
	if (text === undefined) return changed(earlier);
	const ignoreCase = query.ignoreCase === "1";
	return query.regex === "1" ? hasExpression({ text, ignoreCase }, within) : hasText({ text, ignoreCase }, within);
}

/** What makes no sense together is not taken for something else. */
function checkWait({ at, wait, text, stable, regex, ignoreCase, region }: ScreenQuery): void {
	const refuse = (message: string) => new SessionError("invalid_argument", message);
	if (text !== undefined && stable !== undefined) throw refuse("wait for one thing: text or stable");
	if (at !== undefined && (wait ?? text ?? stable) !== undefined) throw refuse("at: what was can't be waited for");
	if (text === undefined && (regex ?? ignoreCase) !== undefined) throw refuse("regex and ignoreCase belong to text");
	if (region === undefined) return;
	if ((text ?? stable) === undefined) throw refuse("region belongs to text or stable");
	const [first, last] = rowsOf(region);
	if (last < first) throw refuse("region: its last row is before its first");
}

function rowsOf(region: string): [first: number, last: number] {
	const [first = 0, last = first] = region.split("-").map(Number);
	return [first, last];
}

/** Holds what a screen of this size takes; of a larger one afterwards, what it takes more. */
function holdingFor(format: Format, hold: HoldBytes): (size: Size) => void {
	let held = 0;
	return (size) => {
		const more = Math.max(0, bytesFor(format, size) - held);
		held += more;
		if (hold(more) < more) throw crowded();
	};
}

function bytesFor(format: Format, size: Size): number {
	if (format !== "json" && format !== "text") checkStyled(size);
	return size.cols * size.rows * (format === "html" || format === "svg" ? PICTURE_CELL_BYTES : CELL_BYTES);
}

function showsNone(): SessionError {
	return new SessionError("unsupported", "this server shows no screens");
}

function busy(): SessionError {
	return new SessionError("limit_exceeded", "this token waits for an earlier screen already", {
		hint: "ask for one after the other",
	});
}
