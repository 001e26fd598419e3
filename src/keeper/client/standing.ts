/** The state of a session at one moment, from its keeper or its record. */

import type { LogPosition } from "../../core/log/event.ts";
import { type EndedState, initialState, isEnded, type OpenState, type State } from "../../core/log/session-state.ts";
import type { SessionRecord } from "../link/session-record.ts";

/** An ended state always includes the end of its log, where readers stop. */
export type Standing =
	| { readonly state: OpenState; readonly end: LogPosition | undefined }
	| { readonly state: EndedState; readonly end: LogPosition };

type EndedStanding = Extract<Standing, { readonly state: EndedState }>;

export function hasEnded(standing: Standing): standing is EndedStanding {
	return isEnded(standing.state);
}

export function standingOf(state: State, end: LogPosition): Standing {
	return isEnded(state) ? { state, end } : { state: state as OpenState, end };
}

/** The record has a state once its keeper has stored one, always with the end of the log. */
export function recordedStanding({ state, size, end }: SessionRecord): Standing {
	return state && end ? standingOf(state, end) : { state: initialState(size) as OpenState, end: undefined };
}
