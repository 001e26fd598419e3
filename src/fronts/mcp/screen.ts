/** What a session's terminal shows, as text. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Call } from "./call.ts";

/** The rows, and where the cursor is if it can be seen. Empty rows at the end say nothing. */
export async function screenText(session: Session, { options, signal }: Call): Promise<string> {
	const { screens } = options;
	if (!screens) throw new SessionError("unsupported", "this server shows no screens");
	const { lines, cursor, cols, rows, alternate, title } = await screens.read(session, { signal });
	const shown = lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
	const facts = [
		`${cols}×${rows}${alternate ? ", full screen" : ""}`,
		...(cursor.visible ? [`cursor at row ${cursor.row + 1}, column ${cursor.col + 1}`] : []),
		...(title === "" ? [] : [`title ${JSON.stringify(title.slice(0, 80))}`]),
	];
	return [`[${facts.join(" · ")}]`, ...shown].join("\n");
}
