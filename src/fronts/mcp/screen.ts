/** The text of a session's screen. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import { changedRows, type Screen, withoutEnd } from "../../core/terminal/screen-view.ts";
import { redactedRows } from "../../services/reading/redaction.ts";
import { collapseRepeats } from "../../services/reading/text.ts";
import type { Call } from "./call.ts";

type ScreenSelection = {
	/** Output offset of a past screen; the current one if absent. */
	readonly at?: number | undefined;
	/** Only rows changed since this revision, if it is still known. */
	readonly since?: number | undefined;
};

export async function screenText(session: Session, { at, since }: ScreenSelection, call: Call): Promise<string> {
	const { screens } = call.options;
	if (!screens) throw new SessionError("unsupported", "this server shows no screens");
	const isNow = at === undefined;
	const earlier = isNow && since !== undefined ? screens.earlier(session, since) : undefined;
	const screen = await screens.read(session, {
		signal: call.signal,
		at: isNow ? undefined : { offset: at },
		by: call.principal,
	});
	const lines = redactedRows(screen.lines, screen.cols);
	if (!isNow) return [factsOf(screen, `as of byte ${screen.offset}`), ...collapseRepeats(withoutEnd(lines))].join("\n");
	screens.remember(session, screen);
	const facts = factsOf(screen, `revision ${screen.seq}`);
	const changes = changedRows(screen, earlier)?.map(({ row }) => `row ${row + 1}: ${lines[row]}`);
	if (changes?.length === 0) return `${facts}\nno row has changed`;
	return [facts, ...(changes ?? collapseRepeats(withoutEnd(lines)))].join("\n");
}

/** The cursor's position is given only if it is visible. */
function factsOf({ cols, rows, alternate, cursor, title }: Screen, which: string): string {
	const facts = [
		`${cols}×${rows}${alternate ? ", full screen" : ""}`,
		...(cursor.visible ? [`cursor at row ${cursor.row + 1}, column ${cursor.col + 1}`] : []),
		...(title === "" ? [] : [`title ${JSON.stringify(title.slice(0, 80))}`]),
		which,
	];
	return `[${facts.join(" · ")}]`;
}
