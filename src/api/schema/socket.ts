/** The JSON messages of the WebSocket `hawser.v1`. */

import { socketLimits } from "../socket.ts";
import { approval } from "./approvals.ts";
import { errorCode } from "./errors.ts";
import {
	boolean,
	bytes,
	closed,
	count,
	doc,
	extent,
	type Fields,
	integer,
	literal,
	literals,
	message,
	named,
	nullable,
	object,
	offset,
	optional,
	request,
	type Schema,
	string,
	text,
	union,
} from "./fields.ts";
import { sendAnswer, sendInput } from "./input.ts";
import { gapReason } from "./output.ts";
import { session } from "./sessions.ts";
import { shellCommand } from "./shell.ts";
import { exit } from "./states.ts";

const position = doc("The position in the client's input stream. The action takes one unit of it.", integer(0));
const stream = string({ pattern: "^[\\x21-\\x7e]{1,128}$", expected: "1 to 128 visible ASCII characters" });
const nonce = string({ maxLength: 256 });
const extents = { cols: extent, rows: extent };

function fromClient(title: string, type: string, description: string, fields: Fields): [string, Schema] {
	return [type, request(title, description, { type: literal(type), ...fields })];
}

/** Messages from a client, by type. */
export const clientMessages: ReadonlyMap<string, Schema> = new Map([
	fromClient(
		"Hello",
		"hello",
		"The first message, within five seconds. `since` also acknowledges everything before it.",
		{
			since: doc("The first output byte to send, or `end` for new output only.", union(integer(0), literal("end"))),
			role: literals("writer", "viewer"),
			stream: optional(
				doc("The client's input stream, the same on all its connections. Required for a writer.", stream),
			),
			flow: doc(
				"`lossless` may make the program wait for this client; `live` may skip output.",
				literals("lossless", "live"),
			),
			replies: optional(
				doc("The writer's own terminal answers the program's queries when a `replies` message says so.", boolean),
			),
			size: optional(
				doc("The size of the writer's own terminal, for the size policy of the session.", closed(extents)),
			),
			from: optional(
				doc(
					"Begin with the screen as escape sequences, if there is one, instead of the output from `since` on.",
					literal("screen"),
				),
			),
			activity: optional(doc("Report when the program waits for input, and the commands of its shell.", boolean)),
			scrollback: optional(
				doc("With `from`: rows of scrollback before the screen.", integer(0, socketLimits.scrollback)),
			),
		},
	),
	fromClient("ResizeMessage", "resize", "Resizes the session.", { position, ...extents }),
	fromClient("SizeMessage", "size", "The client's own terminal has a new size. It takes no unit of input.", extents),
	fromClient("SignalMessage", "signal", "Sends a signal.", {
		position,
		signal: string({ maxLength: 32 }),
		urgent: optional(boolean),
	}),
	fromClient("EofMessage", "eof", "Ends the program's input.", { position }),
	fromClient("TakeMessage", "take", "Takes control.", {
		exclusive: boolean,
		force: doc("Also from a client that has exclusive control.", boolean),
	}),
	fromClient("ReleaseMessage", "release", "Gives back control.", {}),
	fromClient(
		"SendMessage",
		"send",
		"Types, waits and reads, as `sendInput`. A repetition at the same position of a stream of its own types nothing again.",
		{ id: string({ minLength: 1, maxLength: socketLimits.idLength }), stream, position: integer(0), input: sendInput },
	),
	fromClient("PingMessage", "ping", "Asks for a `pong`.", { nonce: optional(nonce) }),
]);

const lease = message("LeaseMessage", "The client that controls the session.", {
	fence: count,
	holder: nullable(text),
	exclusive: boolean,
	mine: doc("This connection has control.", boolean),
});

function fromServer(title: string, type: string, description: string, fields: Fields): Schema {
	return message(title, description, { type: literal(type), ...fields });
}

const prompt = { offset, prompt: text, program: nullable(text) };

export const socketMessages: readonly Schema[] = [
	named("ClientMessage", "A message from a client.", union(...clientMessages.values())),
	named(
		"ServerMessage",
		"A message from the server.",
		union(
			fromServer("Welcome", "welcome", "The answer to `hello`.", {
				session,
				output: doc(
					"The output of this connection begins at `from`: `since`, unless that is gone or beyond the end.",
					object({ from: offset, oldest: offset, end: offset }),
				),
				input: object({ next: offset, written: offset, window: bytes }),
				lease,
				screen: optional(
					doc("Frames with a screen of this size follow, and then the output after it.", object({ ...extents, bytes })),
				),
			}),
			fromServer("GapMessage", "gap", "Output that the client does not get.", {
				from: offset,
				to: offset,
				reason: gapReason,
			}),
			fromServer("ResizedMessage", "resized", "The terminal has a new size.", { offset, ...extents }),
			fromServer("ExitedMessage", "exited", "The program has ended.", { offset, exit }),
			fromServer("ClosedMessage", "closed", "The output is complete.", { offset }),
			fromServer("LostMessage", "lost", "The keeper ended without reporting the exit.", { offset, message: text }),
			fromServer("LeaseChanged", "lease", "Control has changed.", { lease }),
			fromServer(
				"RepliesMessage",
				"replies",
				"With `replies`: whether this client answers the program's queries, in output from this offset on. Until the first, another terminal does.",
				{ mine: boolean, from: offset },
			),
			fromServer("WaitingMessage", "waiting", "With `activity`: the program waits for input.", {
				...prompt,
				awaited: doc("`line`, `secret`, `key` or `tui`.", text),
			}),
			fromServer("ReadyMessage", "ready", "With `activity`: a shell waits for a command.", prompt),
			fromServer("CommandMessage", "command", "With `activity`: a command of the shell.", {
				phase: literals("begin", "end"),
				command: shellCommand,
			}),
			fromServer(
				"ApprovalChanged",
				"approval",
				"With `activity`: an action is held or was decided. For clients that may operate the session, and the one that wants it.",
				{ approval },
			),
			fromServer("SentMessage", "sent", "The answer to `send`.", { id: text, answer: sendAnswer }),
			fromServer("RefusedMessage", "error", "A request was refused. The connection stays open.", {
				code: errorCode,
				message: text,
				hint: optional(text),
				position: optional(doc("The action, or where input must continue.", offset)),
				id: optional(doc("The `send`.", text)),
			}),
			fromServer("PongMessage", "pong", "The answer to `ping`.", { nonce: optional(nonce) }),
		),
	),
];
