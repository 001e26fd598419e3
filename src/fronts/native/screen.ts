/** What a session's terminal shows, over HTTP: as JSON, as text, or as text with colours. */

import Type from "typebox";
import { SessionError } from "../../core/errors.ts";
import type { Screen, ScreenRow, ScreenStyle } from "../../core/screen.ts";
import type { ScreenMessage } from "../../protocol/messages.ts";
import { bytesOf, crowded } from "../answer-bytes.ts";
import { type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { toPlace } from "./place.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { screenMessage, screenQuery } from "./screen-messages.ts";
import { idParams } from "./session-messages.ts";

/** What a cell takes in an answer, in bytes, with colours that differ from those beside it now and then. */
const CELL_BYTES = 8;
/** How many earlier screens one caller may wait for at a time. */
const PAST_EACH = 1;

export function addScreen(app: NativeApp, { sessions, screens }: NativeOptions, hosting: Hosting): void {
	const past: string[] = [];
	app.get(
		"/v1/sessions/:id/screen",
		{
			config: {
				policy: "read",
				operation: "readScreen",
				summary: "What a session's terminal shows, now or at an earlier place",
				answers: { 200: "text/plain" },
			},
			schema: {
				params: idParams,
				querystring: screenQuery,
				response: { 200: Type.Unsafe<ScreenMessage | string>(screenMessage) },
			},
		},
		async (request, reply) => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { format = "json", since } = request.query;
			const at = toPlace("at", request.query.at);
			if (!screens) throw new SessionError("unsupported", "this server shows no screens");
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			const { cols, rows } = session.state.size;
			const wanted = cols * rows * CELL_BYTES;
			if (bytesOf(caller, reply, hosting)(wanted) < wanted) throw crowded();
			if (at && past.filter((id) => id === caller.id).length >= PAST_EACH) throw busy();
			const patience = patienceOf(reply, hosting);
			const options = { signal: patience.signal, at };
			if (at) past.push(caller.id);
			try {
				if (format === "ansi") {
					const { cells } = await screens.cells(session, options);
					return await reply.type("text/plain; charset=utf-8").send(withColors(cells));
				}
				const earlier = since === undefined || at ? undefined : screens.earlier(session, since);
				const screen = await screens.read(session, options);
				if (format === "json") return toMessage(screen, since, earlier);
				return await reply.type("text/plain; charset=utf-8").send(`${withoutEnd(screen.lines).join("\n")}\n`);
			} finally {
				patience.end();
				if (at) past.splice(past.indexOf(caller.id), 1);
			}
		},
	);
}

/** With all rows, or with those that are not as they were at an earlier revision, if that is known. */
function toMessage(screen: Screen, since: number | undefined, earlier: Screen | undefined): ScreenMessage {
	const { offset, seq, cols, rows, alternate, cursor, title, lines } = screen;
	const common = { offset, revision: seq, cols, rows, alternate, cursor, title };
	if (since === undefined) return { ...common, lines: withoutEnd(lines) };
	const isComparable = earlier?.cols === cols && earlier.rows === rows;
	if (!isComparable) return { ...common, lines: withoutEnd(lines), reset: true };
	const changes = lines.flatMap((text, row) => (text === earlier.lines[row] ? [] : [{ row, text }]));
	return { ...common, changes };
}

/** Empty rows at the end say nothing. */
function withoutEnd(lines: readonly string[]): string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

/** Rows as any terminal prints them; their styles end with each row. */
function withColors(rows: readonly ScreenRow[]): string {
	const lines = rows.map((row) => {
		const end = row.findLastIndex(({ text, style }) => text.trimEnd() !== "" || Object.keys(style).length > 0);
		const runs = row.slice(0, end + 1).map(({ text, style }, index) => {
			const shown = index === end && Object.keys(style).length === 0 ? text.trimEnd() : text;
			const codes = codesOf(style);
			return codes.length === 0 ? shown : `\x1b[${codes.join(";")}m${shown}\x1b[0m`;
		});
		return runs.join("");
	});
	return `${withoutEnd(lines).join("\n")}\n`;
}

const FLAGS: readonly (readonly [keyof ScreenStyle, number])[] = [
	["bold", 1],
	["dim", 2],
	["italic", 3],
	["blink", 5],
	["inverse", 7],
	["invisible", 8],
	["strikethrough", 9],
	["overline", 53],
];

function codesOf(style: ScreenStyle): (number | string)[] {
	const { fg, bg, underline } = style;
	return [
		...FLAGS.filter(([flag]) => style[flag]).map(([, code]) => code),
		...(underline === undefined ? [] : [underline === 1 ? 4 : `4:${underline}`]),
		...colorCodes(fg, 38),
		...colorCodes(bg, 48),
	];
}

function colorCodes(color: ScreenStyle["fg"], code: 38 | 48): number[] {
	if (color === undefined) return [];
	if (typeof color === "number") return [code, 5, color];
	return [code, 2, ...[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))];
}

function busy(): SessionError {
	return new SessionError("limit_exceeded", "this token waits for an earlier screen already", {
		hint: "ask for one after the other",
	});
}
