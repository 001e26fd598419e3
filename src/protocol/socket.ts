/** The JSON messages of the WebSocket `hawser.v1`, and the codes it closes with. */

import type { SendAnswer, SendInput, ShellCommand } from "./acts.ts";
import type { ApprovalMessage } from "./asking.ts";
import type { ErrorCode, ExitMessage, SessionMessage } from "./messages.ts";

export const subprotocol = "hawser.v1";
/** Offered beside `hawser.v1` by a browser, which can't set headers: `ticket.` and the ticket. Never answered. */
export const ticketPrefix = "ticket.";

/** What a socket may send at most, and how long it may take. */
export const socketLimits = {
	textBytes: 65_536,
	binaryBytes: 1_048_576,
	/** From the upgrade to `hello`. */
	helloMs: 5_000,
	/** Output sent and not yet consumed; beyond it the server reads no further for this client. */
	outputWindowBytes: 262_144,
	/** How much output one frame carries at most. */
	frameBytes: 65_536,
	/** Of a screen with what was scrolled away; one that is larger comes without that, or not at all. */
	screenBytes: 524_288,
	scrollback: 200,
	/** `send`s that are under way on one connection: each is a reader of the session. */
	sends: 8,
	/** What a client calls one of them. */
	idLength: 64,
	pingMs: 15_000,
	/** Without any byte for this long after a ping, the other side is gone. */
	deadMs: 10_000,
} as const;

export type Role = "writer" | "viewer";

/** First of all, within five seconds. `since` is also an acknowledgement of everything before it. */
export type Hello = {
	type: "hello";
	/** The output byte to begin with, or what comes next. */
	since: number | "end";
	role: Role;
	/** The client's input stream, the same over all its connections; a writer names one. */
	stream?: string;
	/** `lossless` may make the program wait for this client, `live` may skip output. */
	flow: "lossless" | "live";
	/** A writer's own terminal answers what the program asks, where `replies` messages say that it is its turn. */
	replies?: boolean;
	/** Of a writer's own terminal: the session's size follows it as its size policy says. */
	size?: { cols: number; rows: number };
	/**
	 * What the terminal shows, as escape sequences, and then everything that follows it, instead of the output from `since`
	 * on; that it is, where there is no screen.
	 */
	from?: "screen";
	/** With it: how many rows of what was scrolled away come before the screen. */
	scrollback?: number;
	/** Whether it is to be told when the program begins to wait for somebody, and what its shell runs. */
	activity?: boolean;
};

/** Types, waits and reads in one call; a repeat from the same place of a stream of its own types nothing again. */
export type SendMessage = { type: "send"; id: string; stream: string; position: number; input: SendInput };

/** In the order of their positions in the client's input stream, of which each takes one unit. */
export type ClientMessage =
	| Hello
	/** The size of the client's own terminal has changed; it is no act, and takes no unit. */
	| { type: "size"; cols: number; rows: number }
	/** Another size for the session itself. */
	| { type: "resize"; position: number; cols: number; rows: number }
	| { type: "signal"; position: number; signal: string; urgent?: boolean }
	| { type: "eof"; position: number }
	/** Demands control: exclusive, or shared again; with `force` from whoever has it. */
	| { type: "take"; exclusive: boolean; force: boolean }
	| { type: "release" }
	| SendMessage
	| { type: "ping"; nonce?: string };

export type LeaseMessage = {
	fence: number;
	holder: string | null;
	exclusive: boolean /** Whether this connection has it. */;
	mine: boolean;
};

/** Who answers what the program asks its terminal, in output from this offset on: this client or somebody else. */
export type RepliesMessage = { mine: boolean; from: number };

export type ServerMessage =
	| {
			type: "welcome";
			session: SessionMessage;
			/** Where this connection's output begins, which is `since` unless that is gone or beyond the end. */
			output: { from: number; oldest: number; end: number };
			input: { next: number; written: number; window: number };
			lease: LeaseMessage;
			/** Frames follow with a screen of this size; the output goes on where it was taken. */
			screen?: { cols: number; rows: number; bytes: number };
	  }
	| { type: "gap"; from: number; to: number; reason: "retention" | "live" | "journal" }
	| { type: "resized"; offset: number; cols: number; rows: number }
	| { type: "exited"; offset: number; exit: ExitMessage }
	| { type: "closed"; offset: number }
	| { type: "lost"; offset: number; message: string }
	| { type: "lease"; lease: LeaseMessage }
	/** For those who said `replies` only. Until the first, somebody else answers. */
	| ({ type: "replies" } & RepliesMessage)
	/** For those who said `activity` only: `ready` is a shell that takes a command, `awaited` what else is. */
	| { type: "waiting"; offset: number; prompt: string; program: string | null; awaited: string }
	| { type: "ready"; offset: number; prompt: string; program: string | null }
	| { type: "command"; phase: "begin" | "end"; command: ShellCommand }
	/** For those of them who may operate the session, and who asked: something is held, or has been decided. */
	| { type: "approval"; approval: ApprovalMessage }
	/** What came of a `send`. */
	| { type: "sent"; id: string; answer: SendAnswer }
	/** A request that was refused; the connection stays. `position` names the act, or is where input must go on; `id` a `send`. */
	| { type: "error"; code: ErrorCode; message: string; hint?: string; position?: number; id?: string }
	| { type: "pong"; nonce?: string };

/** Why a server closes. `docs/protocol.md` says after which of them a client comes back. */
export const closeCodes = {
	/** The server shuts down or restarts. */
	goingAway: 1001,
	/** Everything was said: the log has ended and the client has consumed it. */
	done: 1000,
	/** A frame or message that does not follow the protocol. */
	protocolError: 4000,
	/** No `hello` in time. */
	helloTimeout: 4001,
	/** The token was revoked, or is over. */
	unauthenticated: 4003,
	/** The session was removed. */
	sessionRemoved: 4004,
	/** Somebody has detached everybody. */
	detached: 4005,
	/** The client consumed nothing for too long, or too much is waiting for it. */
	tooSlow: 4008,
	/** More than a frame or message may have. */
	tooBig: 4009,
	internal: 4500,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];
