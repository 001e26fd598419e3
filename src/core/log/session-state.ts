/** A session's state, computed from the events of its log. */

import type { Exit, Size, Status } from "../../words/state.ts";
import type { Event } from "./event.ts";

export type State = {
	readonly status: Status;
	readonly size: Size;
	readonly exit: Exit | null;
	/** When the program was reaped, or was found to be lost. */
	readonly endedAt: number | null;
};

/** More events may follow. */
export type OpenState = State & { readonly status: "running" | "exited" };
/** The log is complete. */
export type EndedState = State & { readonly status: "closed" | "lost" };

export function initialState(size: Size): OpenState {
	return { status: "running", size, exit: null, endedAt: null };
}

/** The state after an event. The status only moves forward. */
export function advance(state: State, event: Event): State {
	if (state.status === "closed" || state.status === "lost") {
		throw new Error(`invariant: ${event.kind} after ${state.status}`);
	}
	switch (event.kind) {
		case "output":
			return state;
		case "resized":
			return { ...state, size: event.size };
		case "exited":
			if (state.status !== "running") throw new Error("invariant: exited twice");
			return { ...state, status: "exited", exit: event.exit, endedAt: event.time };
		case "closed":
			if (state.status !== "exited") throw new Error("invariant: closed before exited");
			return { ...state, status: "closed" };
		case "lost":
			return { ...state, status: "lost", endedAt: state.endedAt ?? event.time };
	}
}

/** Whether the log is complete. */
export function isEnded(state: State): state is EndedState {
	return state.status === "closed" || state.status === "lost";
}

/** Whether two states are equal for callers. */
export function isSame(a: State, b: State): boolean {
	const isSameSize = a.size.cols === b.size.cols && a.size.rows === b.size.rows;
	return a.status === b.status && isSameSize && a.exit?.code === b.exit?.code && a.exit?.signal === b.exit?.signal;
}
