/** The screen of a session over HTTP: now, once a condition is met, or at an earlier time. */

import { limits } from "../../../api/messages.ts";
import type { Operations, ScreenMessage } from "../../../api/types.ts";
import type { Budget } from "../../../core/async/budget.ts";
import { SessionError } from "../../../core/errors.ts";
import type { ScreenReader } from "../../../core/session/screen-reader.ts";
import { changedRows, checkStyled, type Screen, withoutEnd } from "../../../core/terminal/screen-view.ts";
import type { HeldBytes } from "../../../http/answer.ts";
import { ansiLines } from "../../../services/screens/ansi.ts";
import { htmlOf, svgOf } from "../../../services/screens/picture.ts";
import { hasExpression } from "../../../services/waits/expression.ts";
import {
	type ScreenCondition,
	screenChanged,
	screenHasText,
	screenStable,
	waitForScreen,
} from "../../../services/waits/screen.ts";
import type { Size } from "../../../words/state.ts";
import { parsePosition } from "../position.ts";
import type { Serve } from "../serve.ts";

type ScreenQuery = Operations["readScreen"]["query"];

/** Bytes per cell of an answer: typical for text with some color changes, the maximum for pictures. */
const CELL_BYTES = 8;
const PICTURE_CELL_BYTES = 256;

type Format = NonNullable<ScreenQuery["format"]>;

const TEXT = "text/plain; charset=utf-8";
const PICTURES = {
	html: { type: "text/html; charset=utf-8", make: htmlOf },
	svg: { type: "image/svg+xml", make: svgOf },
} as const;
/** Pictures use inline styles and load or run nothing. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

export function addScreen(serve: Serve, screens: ScreenReader | undefined, expressions: Budget): void {
	serve("readScreen", async (call) => {
		const { session, caller, query, reply, signal } = call;
		const { format = "json", since } = query;
		const at = parsePosition("at", query.at);
		checkWait(query);
		if (!screens) throw showsNone();
		call.startReading();
		const holdFor = holdingFor(format, call.holdBytes());
		if (!at) holdFor(session.state.size);
		const earlier = since === undefined || at ? undefined : screens.earlier(session, since);
		const giveBack = !at && query.regex === "1" ? expressions.enter(caller) : () => {};
		try {
			const waitMs = Math.min(query.wait ?? 0, limits.maxWaitMs);
			const { screen, isMet } = at
				? { screen: await screens.read(session, { signal, at, by: caller }), isMet: undefined }
				: await waitForScreen(conditionOf(query, earlier), { screens, session, waitMs, signal });
			// The screen may have another size than the session had before.
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
			const styled = await screens.cells(session, { signal, at, by: caller });
			if (format === "ansi") return await reply.type(TEXT).send(asText(ansiLines(styled.cells)));
			const { type, make } = PICTURES[format];
			return await reply.type(type).header("content-security-policy", PICTURE_POLICY).send(make(styled));
		} finally {
			giveBack();
		}
	});

	serve("readScrollback", async (call) => {
		const { session, caller, query, signal } = call;
		const { skip = 0, limit = limits.listed } = query;
		const at = parsePosition("at", query.at);
		if (!screens) throw showsNone();
		call.startReading();
		const holdFor = holdingFor("text", call.holdBytes());
		const { offset, lines } = await screens.scrollback(session, { signal, at, by: caller });
		const end = Math.max(0, lines.length - skip);
		const listed = lines.slice(Math.max(0, end - limit), end);
		// The width of these rows, which may differ from the terminal's.
		holdFor({ cols: Math.max(0, ...listed.map(({ length }) => length)), rows: listed.length });
		return { offset, total: lines.length, lines: listed };
	});
}

/** All rows, or only those that differ from an earlier revision that is still known. */
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

function conditionOf(query: ScreenQuery, earlier: Screen | undefined): ScreenCondition {
	const { text, stable: stableMs, region } = query;
	const [first, last] = region === undefined ? [0, limits.maxSize] : rowsOf(region);
	const within = ({ lines }: Screen) => lines.slice(first, last + 1);
	if (stableMs !== undefined) return screenStable(stableMs, within);
	if (text === undefined) return screenChanged(earlier);
	const ignoreCase = query.ignoreCase === "1";
	return query.regex === "1"
		? hasExpression({ text, ignoreCase }, within)
		: screenHasText({ text, ignoreCase }, within);
}

/** Refuses contradictory parameters. */
function checkWait({ at, wait, text, stable, regex, ignoreCase, region }: ScreenQuery): void {
	const refuse = (message: string) => new SessionError("invalid_argument", message);
	if (text !== undefined && stable !== undefined) throw refuse("text, stable: only one of the two is allowed");
	if (at !== undefined && (wait ?? text ?? stable) !== undefined)
		throw refuse("at: cannot be combined with wait, text or stable");
	if (text === undefined && (regex ?? ignoreCase) !== undefined)
		throw refuse("regex, ignoreCase: only allowed with text");
	if (region === undefined) return;
	if ((text ?? stable) === undefined) throw refuse("region: only allowed with text or stable");
	const [first, last] = rowsOf(region);
	if (last < first) throw refuse("region: last row before first row");
}

function rowsOf(region: string): [first: number, last: number] {
	const [first = 0, last = first] = region.split("-").map(Number);
	return [first, last];
}

/** Reserves memory for a screen of this size; for a larger one later, the difference. */
function holdingFor(format: Format, hold: HeldBytes): (size: Size) => void {
	let held = 0;
	return (size) => {
		const more = Math.max(0, bytesFor(format, size) - held);
		held += more;
		hold.all(more);
	};
}

function bytesFor(format: Format, size: Size): number {
	if (format !== "json" && format !== "text") checkStyled(size);
	return size.cols * size.rows * (format === "html" || format === "svg" ? PICTURE_CELL_BYTES : CELL_BYTES);
}

function showsNone(): SessionError {
	return new SessionError("unsupported", "this server shows no screens");
}
