/** Sessions as resources: the screen, output and state of each has a URI. */

import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import { programState } from "../../services/attention/program-state.ts";
import type { Call } from "./call.ts";
import { endText, report, stateText, titleOf } from "./report.ts";
import { screenText } from "./screen.ts";
import { tools } from "./tools.ts";

/** The list of all sessions, one line each. */
export const LIST = "hawser://sessions";
const VIEWS = ["screen", "output", "state"] as const;
/** Number of sessions listed, newest first. */
const LISTED = 50;

type View = (typeof VIEWS)[number];

type Resource = { readonly uri: string; readonly name: string; readonly mimeType: "text/plain" };

export function listResources(call: Call): Resource[] {
	const running = call.readable().filter(({ state }) => !isEnded(state));
	const views = running.slice(-LISTED).flatMap((session) =>
		VIEWS.map((view) => ({
			uri: `${LIST}/${session.id}/${view}`,
			name: `${titleOf(session, call)}: ${view}`,
			mimeType: "text/plain" as const,
		})),
	);
	return [{ uri: LIST, name: "sessions", mimeType: "text/plain" }, ...views];
}

export const resourceTemplates: readonly (Omit<Resource, "uri"> & { readonly uriTemplate: string })[] = VIEWS.map(
	(view) => ({
		uriTemplate: `${LIST}/{session}/${view}`,
		name: view,
		mimeType: "text/plain",
	}),
);

/** The session and view of a URI. Throws `not_found` for other URIs. */
export function viewOf(uri: string, call: Call): { readonly session: Session; readonly view: View } {
	const [, encoded = "", name] = /^hawser:\/\/sessions\/([^/]+)\/(\w+)$/.exec(uri) ?? [];
	const view = VIEWS.find((one) => one === name);
	const wanted = decoded(encoded);
	if (wanted !== undefined && view) return { session: call.find(wanted, "read"), view };
	throw new SessionError("not_found", `there is no resource ${JSON.stringify(uri.slice(0, 100))}`);
}

function decoded(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}

/** Rejects with `not_found` for unknown URIs. */
export async function readResource(uri: string, call: Call): Promise<string> {
	if (uri === LIST) return (await tools.find(({ name }) => name === "sessions")?.call({}, call)) ?? "";
	const { session, view } = viewOf(uri, call);
	call.beginReading(session);
	switch (view) {
		case "screen":
			return report(session, { text: await screenText(session, {}, call) }, call);
		case "output": {
			const { oldest, end } = (await session.info()).offsets;
			return report(session, { range: { from: oldest, to: end } }, call);
		}
		case "state":
			return isEnded(session.state)
				? endText(session)
				: stateText(await programState(session, call.signal, call.options.agents));
	}
}
