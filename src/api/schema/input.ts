/** Input: bytes, keys, sizes, signals, and typing with a wait for the result. */

import { fenceHeader, idempotencyKeyHeader, limits } from "../messages.ts";
import {
	boolean,
	closed,
	doc,
	extent,
	integer,
	list,
	literals,
	message,
	milliseconds,
	nullable,
	offset,
	optional,
	request,
	type Schema,
	span,
	string,
	text,
} from "./fields.ts";
import { control } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { exit, programState } from "./states.ts";

export const inputReceipt: Schema = message("InputReceipt", "How far an input stream has come.", {
	next: doc("The position that is expected next.", offset),
	written: doc("The position up to which the program's side has taken the input.", offset),
	from: optional(
		doc("The end of the output before this input was accepted. Left out if unknown, as for a large write.", offset),
	),
});

export const ifWaiting: Schema = optional(
	doc("Write only if the program still waits at this output offset; otherwise `not_waiting`.", offset),
);

const keys = list(string({ minLength: 1, maxLength: limits.keyLength }), { maxItems: limits.keys });
const sendKeys = request(
	"SendKeys",
	"Keys to press.",
	{
		keys: doc("Key names (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type: `text:ls -l`.", { ...keys, minItems: 1 }),
	},
	{ examples: [{ keys: ["text:ls -l", "Enter"] }] },
);
const resize = request("Resize", "The new size of a terminal.", { cols: extent, rows: extent });
const sendSignal = request("SendSignal", "A signal to send.", {
	signal: doc("A name such as `INT` or `SIGTERM`.", string({ minLength: 1, maxLength: 32 })),
	urgent: optional(doc("Send it before input that the program has not read.", boolean)),
});

const wait = optional(integer(1, limits.maxWaitMs));
export const sendInput: Schema = request(
	"SendInput",
	"Text and keys to type, and conditions that end the wait. The wait also ends when the program ends.",
	{
		text: optional(doc("Text to type before the keys.", text)),
		paste: optional(
			doc("Paste the text as a terminal does: Enter for newlines, in brackets if the program asks for them.", boolean),
		),
		keys: optional(doc("As in `SendKeys`.", keys)),
		until: optional(
			closed({
				match: optional(
					doc(
						"The new output contains this text, as displayed.",
						string({ minLength: 1, maxLength: limits.patternLength }),
					),
				),
				regex: optional(doc("`match` is a regular expression, which matches within a line.", boolean)),
				ignoreCase: optional(boolean),
				includeEcho: optional(doc("`match` may also be in the echo of the typed lines.", boolean)),
				idleMs: doc("No output for this time.", wait),
				stableMs: doc("The screen has not changed for this time.", wait),
				input: optional(doc("The program waits for input.", boolean)),
				end: optional(doc("The shell is at its prompt.", boolean)),
			}),
		),
		timeoutMs: optional(doc("30 s if left out, a minute at most. A timeout is not an error.", milliseconds)),
		limit: optional(
			doc("The length of the text in the answer, in bytes.", integer(limits.minTextBytes, limits.maxTextBytes)),
		),
	},
	{ examples: [{ text: "y", keys: ["Enter"], until: { match: "done", idleMs: 2_000 } }] },
);

export const sendAnswer: Schema = message("SendAnswer", "The output that followed what was typed.", {
	cause: doc(
		"The condition that ended the wait.",
		literals("match", "idle", "stable", "input", "end", "exit", "timeout"),
	),
	output: doc("The output since before the first byte was typed.", span),
	text: doc("The same output as short text, as with `?as=text`.", text),
	omitted: doc("Bytes in the middle that the text leaves out.", nullable(span)),
	state: doc("The program's state after the wait.", programState),
	exit: nullable(exit),
	next: doc("The next position of the input stream.", offset),
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
			wait: optional(
				doc("Answer once the input is accepted, or written by the kernel.", literals("accepted", "written")),
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
