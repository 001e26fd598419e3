/** Screens of terminals: one screen, its scrollback, and a stream of many screens. */

import { limits } from "../messages.ts";
import { errorCode } from "./errors.ts";
import {
	boolean,
	count,
	doc,
	extent,
	flag,
	integer,
	list,
	literals,
	message,
	milliseconds,
	number,
	object,
	offset,
	optional,
	place,
	request,
	string,
	text,
	union,
	yes,
} from "./fields.ts";
import type { OperationTable } from "./operation.ts";
import { sessionState } from "./states.ts";

const display = {
	offset: doc("The screen shows the output before this byte.", offset),
	revision: doc("Increases with everything that can change the screen.", number),
	cols: extent,
	rows: extent,
	alternate: doc("The alternate screen, which full-screen programs use.", boolean),
	cursor: doc(
		"From zero.",
		message("Cursor", "The position of a cursor.", { row: number, col: number, visible: boolean }),
	),
	title: text,
};
const state = doc("The state of the session. After its end the screen does not change.", sessionState);

const screenMessage = message("ScreenMessage", "The screen of a session's terminal.", {
	...display,
	lines: optional(doc("The text of each row, without trailing blanks and trailing empty rows.", list(text))),
	changes: optional(
		doc("With `since`, instead of `lines`: the rows that have changed.", list(object({ row: number, text }))),
	),
	reset: doc("The revision in `since` is no longer known: these are all rows.", yes),
	met: optional(doc("The condition was met: the text was displayed, or the screen was stable.", boolean)),
	state,
});

const color = union(number, text);
const style = message("ScreenStyleMessage", "The style of text. Colors are a palette number or `#rrggbb`.", {
	fg: optional(color),
	bg: optional(color),
	bold: yes,
	dim: yes,
	italic: yes,
	underline: optional(doc("Single, double, curly, dotted or dashed.", literals(1, 2, 3, 4, 5))),
	blink: yes,
	inverse: yes,
	invisible: yes,
	strikethrough: yes,
	overline: yes,
});
const run = message("ScreenRunMessage", "Text of one style.", {
	text,
	cols: doc("Columns: one per UTF-16 unit, except for a single character, which may be wide.", number),
	style: optional(style),
});

const ids = list(string({ maxLength: 64 }), { maxItems: limits.tiles });
const showScreens = request("ShowScreens", "The sessions that a stream of screens shows from now on.", {
	sessions: ids,
});

export const screenOperations: OperationTable = {
	readScreen: {
		summary: "Read a session's screen: now, once it shows something, or at an earlier time",
		route: "GET /v1/sessions/:id/screen",
		right: "read",
		query: {
			format: optional(
				doc(
					"`json` by default. `text`: the rows, one per line; `ansi`: with colors and styles for any terminal; `svg` or `html`: a picture or page that loads nothing. The last three have at most 50,000 cells.",
					literals("json", "text", "ansi", "html", "svg"),
				),
			),
			since: optional(
				doc(
					"`revision` of an earlier answer: `changes` has the rows that differ, instead of `lines`. The last 8 revisions that were read are known, for a minute. Otherwise the answer has all `lines`, and `reset`.",
					offset,
				),
			),
			at: optional(doc("The screen at that time, instead of now.", place)),
			wait: optional(
				doc(
					"Milliseconds to wait, 60000 at most, for `text` or `stable`, or for a screen that differs from `since` in text, cursor, title or size; 0 by default.",
					milliseconds,
				),
			),
			text: optional(
				doc(
					"Wait until a row contains this text; `met` says whether one does.",
					string({ minLength: 1, maxLength: limits.patternLength }),
				),
			),
			regex: doc("`text` is a JavaScript regular expression.", flag),
			ignoreCase: doc("Upper and lower case of `text` are equal.", flag),
			stable: optional(
				doc(
					"Wait until the text has not changed for this many milliseconds, counted from the request; `met` says whether. A turning spinner is no change.",
					integer(1, limits.maxWaitMs),
				),
			),
			region: optional(
				doc(
					"The rows that count for `text` and `stable`, from zero: `23`, or `0-3`.",
					string({ pattern: "^\\d{1,5}(-\\d{1,5})?$", expected: "a row from zero on, or the first and the last" }),
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
			skip: optional(doc("Leave out this many rows directly above the screen.", offset)),
			limit: optional(doc("Number of rows; 100 by default.", integer(1, limits.maxListed))),
			at: optional(doc("Rows above the screen at that time.", place)),
		},
		answer: message("ScrollbackMessage", "Rows that were scrolled off the screen.", {
			offset: doc("The output before this byte produced them. As `at` it requests more of the same.", offset),
			total: doc("Number of rows above the screen, as far as it was replayed.", count),
			lines: doc("Oldest first.", list(text)),
		}),
	},
	followScreens: {
		summary: "Follow the screens of several sessions",
		route: "GET /v1/screens",
		right: "read",
		query: { session: optional(ids) },
		content: ["text/event-stream"],
		events: {
			begin: message("ScreensBegin", "The first event of a stream of screens.", {
				stream: doc("The id of the stream.", text),
				most: doc("The number of sessions that it can show.", count),
			}),
			screen: message("ScreenUpdate", "How a screen differs from the previous update.", {
				session: text,
				...display,
				state,
				reset: doc("Forget earlier updates: rows that are not in `changes` are empty.", yes),
				changes: doc("Whole rows, without trailing blanks.", list(object({ row: number, runs: list(run) }))),
			}),
			error: message("ScreensError", "A session whose screen can't be shown. The server does not retry.", {
				session: text,
				code: errorCode,
				message: text,
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
