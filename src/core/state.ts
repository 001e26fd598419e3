/** A session's state is nothing but its log, folded. */

import type { Event, Exit, Size } from "./event.ts";

export type Status = "running" | "exited" | "closed" | "lost";

export type State = {
	readonly status: Status;
	readonly size: Size;
	readonly exit: Exit | null;
	/** When the program was reaped, or was found to be lost. */
	readonly endedAt: number | null;
};

export function initialState(size: Size): State {
	return { status: "running", size, exit: null, endedAt: null };
}

/** The state after an event; a lifecycle only moves forward. */
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
export function isEnded(state: State): boolean {
	return state.status === "closed" || state.status === "lost";
}

/** Whether two states would look the same to everybody. */
export function isSame(a: State, b: State): boolean {
	const isSameSize = a.size.cols === b.size.cols && a.size.rows === b.size.rows;
	return a.status === b.status && isSameSize && a.exit?.code === b.exit?.code && a.exit?.signal === b.exit?.signal;
}
