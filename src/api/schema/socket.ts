/** The JSON messages of the WebSocket `hawser.v1`. */

import { socketLimits } from "../socket.ts";
import { approval } from "./approvals.ts";
import { errorCode } from "./errors.ts";
import * as s from "./fields.ts";
import { sendAnswer, sendInput } from "./input.ts";
import { gapReason } from "./output.ts";
import { session } from "./sessions.ts";
import { shellCommand } from "./shell.ts";
import { exit } from "./states.ts";

const position = s.doc("The position in the client's input stream. The action takes one unit of it.", s.integer(0));
const stream = s.string({ pattern: "^[\\x21-\\x7e]{1,128}$", expected: "1 to 128 visible ASCII characters" });
const nonce = s.string({ maxLength: 256 });
const extents = { cols: s.extent, rows: s.extent };

function fromClient(title: string, type: string, description: string, fields: s.Fields): [string, s.Schema] {
	return [type, s.request(title, description, { type: s.literal(type), ...fields })];
}

/** Messages from a client, by type. */
export const clientMessages: ReadonlyMap<string, s.Schema> = new Map([
	fromClient(
		"Hello",
		"hello",
		"The first message, within five seconds. `since` also acknowledges everything before it.",
		{
			since: s.doc(
				"The first output byte to send, or `end` for new output only.",
				s.union(s.integer(0), s.literal("end")),
			),
			role: s.literals("writer", "viewer"),
			stream: s.optional(
				s.doc("The client's input stream, the same on all its connections. Required for a writer.", stream),
			),
			flow: s.doc(
				"`lossless` may make the program wait for this client; `live` may skip output.",
				s.literals("lossless", "live"),
			),
			replies: s.optional(
				s.doc("The writer's own terminal answers the program's queries when a `replies` message says so.", s.boolean),
			),
			size: s.optional(
				s.doc("The size of the writer's own terminal, for the size policy of the session.", s.closed(extents)),
			),
			from: s.optional(
				s.doc(
					"Begin with the screen as escape sequences, if there is one, instead of the output from `since` on.",
					s.literal("screen"),
				),
			),
			activity: s.optional(s.doc("Report when the program waits for input, and the commands of its shell.", s.boolean)),
			scrollback: s.optional(
				s.doc("With `from`: rows of scrollback before the screen.", s.integer(0, socketLimits.scrollback)),
			),
		},
	),
	fromClient("ResizeMessage", "resize", "Resizes the session.", { position, ...extents }),
	fromClient("SizeMessage", "size", "The client's own terminal has a new size. It takes no unit of input.", extents),
	fromClient("SignalMessage", "signal", "Sends a signal.", {
		position,
		signal: s.string({ maxLength: 32 }),
		urgent: s.optional(s.boolean),
	}),
	fromClient("EofMessage", "eof", "Ends the program's input.", { position }),
	fromClient("TakeMessage", "take", "Takes control.", {
		exclusive: s.boolean,
		force: s.doc("Also from a client that has exclusive control.", s.boolean),
	}),
	fromClient("ReleaseMessage", "release", "Gives back control.", {}),
	fromClient(
		"SendMessage",
		"send",
		"Types, waits and reads, as `sendInput`. A repetition at the same position of a stream of its own types nothing again.",
		{
			id: s.string({ minLength: 1, maxLength: socketLimits.idLength }),
			stream,
			position: s.integer(0),
			input: sendInput,
		},
	),
	fromClient("PingMessage", "ping", "Asks for a `pong`.", { nonce: s.optional(nonce) }),
]);

const lease = s.message("LeaseMessage", "The client that controls the session.", {
	fence: s.count,
	holder: s.nullable(s.text),
	exclusive: s.boolean,
	mine: s.doc("This connection has control.", s.boolean),
});

function fromServer(title: string, type: string, description: string, fields: s.Fields): s.Schema {
	return s.message(title, description, { type: s.literal(type), ...fields });
}

const prompt = { offset: s.offset, prompt: s.text, program: s.nullable(s.text) };

export const socketMessages: readonly s.Schema[] = [
	s.named("ClientMessage", "A message from a client.", s.union(...clientMessages.values())),
	s.named(
		"ServerMessage",
		"A message from the server.",
		s.union(
			fromServer("Welcome", "welcome", "The answer to `hello`.", {
				session,
				output: s.doc(
					"The output of this connection begins at `from`: `since`, unless that is gone or beyond the end.",
					s.object({ from: s.offset, oldest: s.offset, end: s.offset }),
				),
				input: s.object({ next: s.offset, written: s.offset, window: s.bytes }),
				lease,
				screen: s.optional(
					s.doc(
						"Frames with a screen of this size follow, and then the output after it.",
						s.object({ ...extents, bytes: s.bytes }),
					),
				),
			}),
			fromServer("GapMessage", "gap", "Output that the client does not get.", {
				from: s.offset,
				to: s.offset,
				reason: gapReason,
			}),
			fromServer("ResizedMessage", "resized", "The terminal has a new size.", { offset: s.offset, ...extents }),
			fromServer("ExitedMessage", "exited", "The program has ended.", { offset: s.offset, exit }),
			fromServer("ClosedMessage", "closed", "The output is complete.", { offset: s.offset }),
			fromServer("LostMessage", "lost", "The keeper ended without reporting the exit.", {
				offset: s.offset,
				message: s.text,
			}),
			fromServer("LeaseChanged", "lease", "Control has changed.", { lease }),
			fromServer(
				"RepliesMessage",
				"replies",
				"With `replies`: whether this client answers the program's queries, in output from this offset on. Until the first, another terminal does.",
				{ mine: s.boolean, from: s.offset },
			),
			fromServer("WaitingMessage", "waiting", "With `activity`: the program waits for input.", {
				...prompt,
				awaited: s.doc("`line`, `secret`, `key` or `tui`.", s.text),
			}),
			fromServer("ReadyMessage", "ready", "With `activity`: a shell waits for a command.", prompt),
			fromServer("CommandMessage", "command", "With `activity`: a command of the shell.", {
				phase: s.literals("begin", "end"),
				command: shellCommand,
			}),
			fromServer(
				"ApprovalChanged",
				"approval",
				"With `activity`: an action is held or was decided. For clients that may operate the session, and the one that wants it.",
				{ approval },
			),
			fromServer("SentMessage", "sent", "The answer to `send`.", { id: s.text, answer: sendAnswer }),
			fromServer("RefusedMessage", "error", "A request was refused. The connection stays open.", {
				code: errorCode,
				message: s.text,
				hint: s.optional(s.text),
				position: s.optional(s.doc("The action, or where input must continue.", s.offset)),
				id: s.optional(s.doc("The `send`.", s.text)),
			}),
			fromServer("PongMessage", "pong", "The answer to `ping`.", { nonce: s.optional(nonce) }),
		),
	),
];
