/** What a session's terminal shows, as text. */

import { SessionError } from "../../core/errors.ts";
import { changedRows, type Screen, withoutEnd } from "../../core/screen.ts";
import type { Session } from "../../core/session.ts";
import { redactedRows } from "../redaction.ts";
import { counted } from "../text.ts";
import type { Call } from "./call.ts";

export type Wanted = {
	/** Instead of now, when the output ended here. */
	readonly at?: number | undefined;
	/** Only rows that are not as they were at this revision, if that is still known. */
	readonly since?: number | undefined;
};

export async function screenText(session: Session, { at, since }: Wanted, call: Call): Promise<string> {
	const { screens } = call.options;
	if (!screens) throw new SessionError("unsupported", "this server shows no screens");
	const isNow = at === undefined;
	const earlier = isNow && since !== undefined ? screens.earlier(session, since) : undefined;
	const giveBack = isNow ? () => {} : call.beginLookingBack();
	try {
		const screen = await screens.read(session, { signal: call.signal, at: isNow ? undefined : { offset: at } });
		const lines = redactedRows(screen.lines, screen.cols);
		if (!isNow) return [factsOf(screen, `as of byte ${screen.offset}`), ...counted(withoutEnd(lines))].join("\n");
		screens.remember(session, screen);
		const facts = factsOf(screen, `revision ${screen.seq}`);
		const changes = changedRows(screen, earlier)?.map(({ row }) => `row ${row + 1}: ${lines[row]}`);
		if (changes?.length === 0) return `${facts}\nno row has changed`;
		return [facts, ...(changes ?? counted(withoutEnd(lines)))].join("\n");
	} finally {
		giveBack();
	}
}

/** Where the cursor is only if it can be seen. */
function factsOf({ cols, rows, alternate, cursor, title }: Screen, which: string): string {
	const facts = [
		`${cols}×${rows}${alternate ? ", full screen" : ""}`,
		...(cursor.visible ? [`cursor at row ${cursor.row + 1}, column ${cursor.col + 1}`] : []),
		...(title === "" ? [] : [`title ${JSON.stringify(title.slice(0, 80))}`]),
		which,
	];
	return `[${facts.join(" · ")}]`;
}
