/** Input: bytes, keys, sizes, signals, and typing with a wait for the result. */

import { fenceHeader, idempotencyKeyHeader, limits } from "../messages.ts";
import * as s from "./fields.ts";
import { control } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { exit, programState } from "./states.ts";

export const inputReceipt: s.Schema = s.message("InputReceipt", "How far an input stream has come.", {
	next: s.doc("The position that is expected next.", s.offset),
	written: s.doc("The position up to which the program's side has taken the input.", s.offset),
	from: s.optional(
		s.doc("The end of the output before this input was accepted. Left out if unknown, as for a large write.", s.offset),
	),
});

export const ifWaiting: s.Schema = s.optional(
	s.doc("Write only if the program still waits at this output offset; otherwise `not_waiting`.", s.offset),
);

const keys = s.list(s.string({ minLength: 1, maxLength: limits.keyLength }), { maxItems: limits.keys });
const sendKeys = s.request(
	"SendKeys",
	"Keys to press.",
	{
		keys: s.doc("Key names (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type: `text:ls -l`.", {
			...keys,
			minItems: 1,
		}),
	},
	{ examples: [{ keys: ["text:ls -l", "Enter"] }] },
);
const resize = s.request("Resize", "The new size of a terminal.", { cols: s.extent, rows: s.extent });
const sendSignal = s.request("SendSignal", "A signal to send.", {
	signal: s.doc("A name such as `INT` or `SIGTERM`.", s.string({ minLength: 1, maxLength: 32 })),
	urgent: s.optional(s.doc("Send it before input that the program has not read.", s.boolean)),
});

const wait = s.optional(s.integer(1, limits.maxWaitMs));
export const sendInput: s.Schema = s.request(
	"SendInput",
	"Text and keys to type, and conditions that end the wait. The wait also ends when the program ends.",
	{
		text: s.optional(s.doc("Text to type before the keys.", s.text)),
		paste: s.optional(
			s.doc(
				"Paste the text as a terminal does: Enter for newlines, in brackets if the program asks for them.",
				s.boolean,
			),
		),
		keys: s.optional(s.doc("As in `SendKeys`.", keys)),
		until: s.optional(
			s.closed({
				match: s.optional(
					s.doc(
						"The new output contains this text, as displayed.",
						s.string({ minLength: 1, maxLength: limits.patternLength }),
					),
				),
				regex: s.optional(s.doc("`match` is a regular expression, which matches within a line.", s.boolean)),
				ignoreCase: s.optional(s.boolean),
				includeEcho: s.optional(s.doc("`match` may also be in the echo of the typed lines.", s.boolean)),
				idleMs: s.doc("No output for this time.", wait),
				stableMs: s.doc("The screen has not changed for this time.", wait),
				input: s.optional(s.doc("The program waits for input.", s.boolean)),
				end: s.optional(s.doc("The shell is at its prompt.", s.boolean)),
			}),
		),
		timeoutMs: s.optional(s.doc("30 s if left out, a minute at most. A timeout is not an error.", s.milliseconds)),
		limit: s.optional(
			s.doc("The length of the text in the answer, in bytes.", s.integer(limits.minTextBytes, limits.maxTextBytes)),
		),
	},
	{ examples: [{ text: "y", keys: ["Enter"], until: { match: "done", idleMs: 2_000 } }] },
);

export const sendAnswer: s.Schema = s.message("SendAnswer", "The output that followed what was typed.", {
	cause: s.doc(
		"The condition that ended the wait.",
		s.literals("match", "idle", "stable", "input", "end", "exit", "timeout"),
	),
	output: s.doc("The output since before the first byte was typed.", s.span),
	text: s.doc("The same output as short text, as with `?as=text`.", s.text),
	omitted: s.doc("Bytes in the middle that the text leaves out.", s.nullable(s.span)),
	state: s.doc("The program's state after the wait.", programState),
	exit: s.nullable(exit),
	next: s.doc("The next position of the input stream.", s.offset),
	...control,
});

const headers = [idempotencyKeyHeader, fenceHeader];
const action = { right: "operate", headers, answer: inputReceipt } as const;

export const inputOperations: OperationTable = {
	writeInput: {
		...action,
		summary: "Type or write bytes",
		route: "POST /v1/sessions/:id/input",
		takes: "application/octet-stream",
		query: {
			wait: s.optional(
				s.doc("Answer once the input is accepted, or written by the kernel.", s.literals("accepted", "written")),
			),
			ifWaiting,
		},
	},
	pressKeys: {
		...action,
		summary: "Press keys, or type text",
		route: "POST /v1/sessions/:id/keys",
		query: { ifWaiting },
		body: sendKeys,
	},
	resizeTerminal: {
		...action,
		summary: "Set the size of the terminal",
		route: "POST /v1/sessions/:id/resize",
		body: resize,
	},
	signalProgram: {
		...action,
		summary: "Send a signal to the program",
		route: "POST /v1/sessions/:id/signal",
		body: sendSignal,
	},
	endInput: { ...action, summary: "End the program's input", route: "POST /v1/sessions/:id/eof" },
	sendInput: {
		summary: "Type input, wait for a condition, and read the output",
		route: "POST /v1/sessions/:id/send",
		right: "operate",
		headers,
		body: sendInput,
		answer: sendAnswer,
	},
};
