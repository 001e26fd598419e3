/** What has arrived and was not asked for yet. The server's window bounds it: it sends no more than that ahead. */

import type { ShellCommand } from "../protocol/acts.ts";
import type { ApprovalMessage } from "../protocol/asking.ts";
import type { ErrorCode, ExitMessage, SessionMessage } from "../protocol/messages.ts";
import type { LeaseMessage } from "../protocol/socket.ts";
import type { HawserError } from "./error.ts";

/** Whether the server is there, for those who show it to people. */
export type ConnectionEvent =
	| { readonly kind: "connection"; readonly state: "connected"; readonly session: SessionMessage }
	| {
			readonly kind: "connection";
			readonly state: "disconnected";
			/** Why, and when it is tried again. */
			readonly error: HawserError;
			readonly retryMs: number;
	  };

export type AttachmentEvent =
	/** A part of what the terminal shows at `offset`, for a terminal of that size to write; the first begins with a reset. */
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
	/** Always the last, after all output. */
	| { readonly kind: "closed"; readonly offset: number }
	/** Always the last: what became of the program is not known. */
	| { readonly kind: "lost"; readonly offset: number; readonly message: string }
	| { readonly kind: "lease"; readonly lease: LeaseMessage }
	/** Whether our terminal, or somebody else, answers what the program asks in output from this offset on. */
	| { readonly kind: "replies"; readonly from: number; readonly mine: boolean }
	/** With `activity`: the program has begun to wait for somebody, for a `line`, a `secret`, a `key` or as a `tui`. */
	| {
			readonly kind: "waiting";
			readonly offset: number;
			readonly prompt: string;
			readonly program: string | null;
			readonly awaited: string;
	  }
	/** With `activity`: a shell takes a command. */
	| { readonly kind: "ready"; readonly offset: number; readonly prompt: string; readonly program: string | null }
	/** With `activity`: a command of the shell has begun, or ended. */
	| { readonly kind: "command"; readonly phase: "begin" | "end"; readonly command: ShellCommand }
	/** Something is held until somebody approves it, or has been decided. */
	| { readonly kind: "approval"; readonly approval: ApprovalMessage }
	/** A demand of ours was refused, such as for control on a new connection. */
	| { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string }
	| ConnectionEvent;

type Waiter = { resolve(result: IteratorResult<AttachmentEvent, undefined>): void; reject(error: unknown): void };

export class EventQueue {
	#events: AttachmentEvent[] = [];
	#waiters: Waiter[] = [];
	#isOver = false;
	#error: unknown;
	readonly #taken: (event: AttachmentEvent) => void;

	/** `taken` is called when an event is handed to the reader, in the same turn. */
	constructor(taken: (event: AttachmentEvent) => void) {
		this.#taken = taken;
	}

	/** Everything was handed over, and somebody waits for more. */
	get isAwaited(): boolean {
		return this.#waiters.length > 0;
	}

	push(event: AttachmentEvent): void {
		if (this.#isOver) return;
		// Of what only says how things are, the newest is enough; so a reader that stands still costs no memory.
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

	/** Nothing follows what has arrived, and perhaps an error. */
	end(error?: unknown): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#error = error;
		this.#serve();
	}

	/** What changes a terminal need not be read: a screen follows. */
	supersede(): void {
		this.#events = this.#events.filter(({ kind }) => !["screen", "output", "gap", "resized"].includes(kind));
	}

	/** Nobody wants the rest. */
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
			// An error is thrown once; who asks again learns that it is over.
			if (!event) this.#error = undefined;
		}
	}
}
