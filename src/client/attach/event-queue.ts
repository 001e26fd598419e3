/** Events that have arrived but were not read yet. Bounded by the server's window. */

import type {
	ApprovalMessage,
	ErrorCode,
	ExitMessage,
	LeaseMessage,
	SessionMessage,
	ShellCommand,
} from "../../api/types.ts";
import type { HawserError } from "../errors.ts";

/** Whether the server is connected. */
export type ConnectionEvent =
	| { readonly kind: "connection"; readonly state: "connected"; readonly session: SessionMessage }
	| {
			readonly kind: "connection";
			readonly state: "disconnected";
			/** The reason, and the time of the next attempt. */
			readonly error: HawserError;
			readonly retryMs: number;
	  };

export type AttachmentEvent =
	/** Part of the screen at `offset`, for a terminal of that size. The first part starts with a reset. */
	| {
			readonly kind: "screen";
			readonly offset: number;
			readonly cols: number;
			readonly rows: number;
			readonly bytes: Uint8Array;
			readonly isFirst: boolean;
	  }
	| {
			readonly kind: "output";
			readonly stream: "stdout" | "stderr";
			readonly offset: number;
			readonly bytes: Uint8Array;
	  }
	| {
			readonly kind: "gap";
			readonly from: number;
			readonly to: number;
			readonly reason: "retention" | "live" | "journal";
	  }
	| { readonly kind: "resized"; readonly offset: number; readonly cols: number; readonly rows: number }
	| { readonly kind: "exited"; readonly offset: number; readonly exit: ExitMessage }
	/** Always the last event, after all output. */
	| { readonly kind: "closed"; readonly offset: number }
	/** Always the last event; the program's exit status is unknown. */
	| { readonly kind: "lost"; readonly offset: number; readonly message: string }
	| { readonly kind: "lease"; readonly lease: LeaseMessage }
	/** Whether our terminal or another one answers queries in output from this offset on. */
	| { readonly kind: "replies"; readonly from: number; readonly mine: boolean }
	/** With `activity`: the program waits for input: a `line`, a `secret`, a `key`, or as a `tui`. */
	| {
			readonly kind: "waiting";
			readonly offset: number;
			readonly prompt: string;
			readonly program: string | null;
			readonly awaited: string;
	  }
	/** With `activity`: the shell is at its prompt. */
	| { readonly kind: "ready"; readonly offset: number; readonly prompt: string; readonly program: string | null }
	/** With `activity`: a command of the shell started or ended. */
	| { readonly kind: "command"; readonly phase: "begin" | "end"; readonly command: ShellCommand }
	/** An action is held for approval, or was decided. */
	| { readonly kind: "approval"; readonly approval: ApprovalMessage }
	/** A request was refused, such as for control on a new connection. */
	| { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string }
	| ConnectionEvent;

type Waiter = { resolve(result: IteratorResult<AttachmentEvent, undefined>): void; reject(error: unknown): void };

export class EventQueue {
	#events: AttachmentEvent[] = [];
	#waiters: Waiter[] = [];
	#isOver = false;
	#error: unknown;
	readonly #taken: (event: AttachmentEvent) => void;

	/** `taken` is called synchronously for each event that is read. */
	constructor(taken: (event: AttachmentEvent) => void) {
		this.#taken = taken;
	}

	/** All events were read, and the reader waits for more. */
	get isAwaited(): boolean {
		return this.#waiters.length > 0;
	}

	push(event: AttachmentEvent): void {
		if (this.#isOver) return;
		// For these kinds only the newest counts, so that a reader that stops costs no memory.
		if (event.kind === "connection" || event.kind === "lease" || event.kind === "refused") {
			this.#events = this.#events.filter(({ kind }) => kind !== event.kind);
		}
		this.#events.push(event);
		this.#serve();
	}

	next(): Promise<IteratorResult<AttachmentEvent, undefined>> {
		return new Promise((resolve, reject) => {
			this.#waiters.push({ resolve, reject });
			this.#serve();
		});
	}

	/** No events follow; an error may. */
	end(error?: unknown): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#error = error;
		this.#serve();
	}

	/** Drops events that only change the screen, because a full screen follows. */
	dropScreenEvents(): void {
		this.#events = this.#events.filter(({ kind }) => !["screen", "output", "gap", "resized"].includes(kind));
	}

	/** Drops all events, because the reader is gone. */
	clear(): void {
		this.#events = [];
	}

	#serve(): void {
		while (this.#waiters.length > 0) {
			const event = this.#events.shift();
			if (!event && !this.#isOver) return;
			const waiter = this.#waiters.shift();
			if (event) this.#taken(event);
			if (event) waiter?.resolve({ value: event, done: false });
			else if (this.#error === undefined) waiter?.resolve({ value: undefined, done: true });
			else waiter?.reject(this.#error);
			// An error is thrown once; later reads report the end.
			if (!event) this.#error = undefined;
		}
	}
}
