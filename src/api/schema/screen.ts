/** Screens of terminals: one screen, its scrollback, and a stream of many screens. */

import { limits } from "../messages.ts";
import { errorCode } from "./errors.ts";
import * as s from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { sessionState } from "./states.ts";

const display = {
	offset: s.doc("The screen shows the output before this byte.", s.offset),
	revision: s.doc("Increases with everything that can change the screen.", s.number),
	cols: s.extent,
	rows: s.extent,
	alternate: s.doc("The alternate screen, which full-screen programs use.", s.boolean),
	cursor: s.doc(
		"From zero.",
		s.message("Cursor", "The position of a cursor.", { row: s.number, col: s.number, visible: s.boolean }),
	),
	title: s.text,
};
const state = s.doc("The state of the session. After its end the screen does not change.", sessionState);

const screenMessage = s.message("ScreenMessage", "The screen of a session's terminal.", {
	...display,
	lines: s.optional(s.doc("The text of each row, without trailing blanks and trailing empty rows.", s.list(s.text))),
	changes: s.optional(
		s.doc(
			"With `since`, instead of `lines`: the rows that have changed.",
			s.list(s.object({ row: s.number, text: s.text })),
		),
	),
	reset: s.doc("The revision in `since` is no longer known: these are all rows.", s.yes),
	met: s.optional(s.doc("The condition was met: the text was displayed, or the screen was stable.", s.boolean)),
	state,
});

const color = s.union(s.number, s.text);
const style = s.message("ScreenStyleMessage", "The style of text. Colors are a palette number or `#rrggbb`.", {
	fg: s.optional(color),
	bg: s.optional(color),
	bold: s.yes,
	dim: s.yes,
	italic: s.yes,
	underline: s.optional(s.doc("Single, double, curly, dotted or dashed.", s.literals(1, 2, 3, 4, 5))),
	blink: s.yes,
	inverse: s.yes,
	invisible: s.yes,
	strikethrough: s.yes,
	overline: s.yes,
});
const run = s.message("ScreenRunMessage", "Text of one style.", {
	text: s.text,
	cols: s.doc("Columns: one per UTF-16 unit, except for a single character, which may be wide.", s.number),
	style: s.optional(style),
});

const ids = s.list(s.string({ maxLength: 64 }), { maxItems: limits.tiles });
const showScreens = s.request("ShowScreens", "The sessions that a stream of screens shows from now on.", {
	sessions: ids,
});

export const screenOperations: OperationTable = {
	readScreen: {
		summary: "Read a session's screen: now, once it shows something, or at an earlier time",
		route: "GET /v1/sessions/:id/screen",
		right: "read",
		query: {
			format: s.optional(
				s.doc(
					"`json` by default. `text`: the rows, one per line; `ansi`: with colors and styles for any terminal; `svg` or `html`: a picture or page that loads nothing. The last three have at most 50,000 cells.",
					s.literals("json", "text", "ansi", "html", "svg"),
				),
			),
			since: s.optional(
				s.doc(
					"`revision` of an earlier answer: `changes` has the rows that differ, instead of `lines`. The last 8 revisions that were read are known, for a minute. Otherwise the answer has all `lines`, and `reset`.",
					s.offset,
				),
			),
			at: s.optional(s.doc("The screen at that time, instead of now.", s.place)),
			wait: s.optional(
				s.doc(
					"Milliseconds to wait, 60000 at most, for `text` or `stable`, or for a screen that differs from `since` in text, cursor, title or size; 0 by default.",
					s.milliseconds,
				),
			),
			text: s.optional(
				s.doc(
					"Wait until a row contains this text; `met` says whether one does.",
					s.string({ minLength: 1, maxLength: limits.patternLength }),
				),
			),
			regex: s.doc("`text` is a JavaScript regular expression.", s.flag),
			ignoreCase: s.doc("Upper and lower case of `text` are equal.", s.flag),
			stable: s.optional(
				s.doc(
					"Wait until the text has not changed for this many milliseconds, counted from the request; `met` says whether. A turning spinner is no change.",
					s.integer(1, limits.maxWaitMs),
				),
			),
			region: s.optional(
				s.doc(
					"The rows that count for `text` and `stable`, from zero: `23`, or `0-3`.",
					s.string({ pattern: "^\\d{1,5}(-\\d{1,5})?$", expected: "a row from zero on, or the first and the last" }),
				),
			),
		},
		answer: screenMessage,
		content: ["text/plain", "text/html", "image/svg+xml"],
	},
	readScrollback: {
		summary: "Read the rows above the screen",
		route: "GET /v1/sessions/:id/scrollback",
		right: "read",
		query: {
			skip: s.optional(s.doc("Leave out this many rows directly above the screen.", s.offset)),
			limit: s.optional(s.doc("Number of rows; 100 by default.", s.integer(1, limits.maxListed))),
			at: s.optional(s.doc("Rows above the screen at that time.", s.place)),
		},
		answer: s.message("ScrollbackMessage", "Rows that were scrolled off the screen.", {
			offset: s.doc("The output before this byte produced them. As `at` it requests more of the same.", s.offset),
			total: s.doc("Number of rows above the screen, as far as it was replayed.", s.count),
			lines: s.doc("Oldest first.", s.list(s.text)),
		}),
	},
	followScreens: {
		summary: "Follow the screens of several sessions",
		route: "GET /v1/screens",
		right: "read",
		query: { session: s.optional(ids) },
		content: ["text/event-stream"],
		events: {
			begin: s.message("ScreensBegin", "The first event of a stream of screens.", {
				stream: s.doc("The id of the stream.", s.text),
				most: s.doc("The number of sessions that it can show.", s.count),
			}),
			screen: s.message("ScreenUpdate", "How a screen differs from the previous update.", {
				session: s.text,
				...display,
				state,
				reset: s.doc("Forget earlier updates: rows that are not in `changes` are empty.", s.yes),
				changes: s.doc("Whole rows, without trailing blanks.", s.list(s.object({ row: s.number, runs: s.list(run) }))),
			}),
			error: s.message("ScreensError", "A session whose screen can't be shown. The server does not retry.", {
				session: s.text,
				code: errorCode,
				message: s.text,
			}),
		},
	},
	showScreens: {
		summary: "Choose the sessions of a stream of screens",
		route: "PUT /v1/screens/:stream",
		right: "read",
		body: showScreens,
	},
};
