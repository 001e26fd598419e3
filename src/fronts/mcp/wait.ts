/** Waiting for what a session does, as tools ask for it, with news for the client meanwhile. */

import Type from "typebox";
import type { Session } from "../../core/session.ts";
import { flowFor } from "../front.ts";
import * as shared from "../wait.ts";
import type { Call } from "./call.ts";
import { untilGiven } from "./secret.ts";

/** Clients give up after a minute, unless they hear of progress, and the most patient after five. */
const DEFAULT_WAIT_S = 50;
export const MAX_WAIT_S = 240;
/** How often a client hears that the wait goes on. */
const PROGRESS_MS = 10_000;
/** A program that has written nothing for this long is worth a look, if nothing else is known of it. */
const DEFAULT_IDLE_MS = 3_000;
/** Less would take a program that draws for one that has drawn. */
const LEAST_STABLE_MS = 100;

/** Any of these ends a wait. */
export type Until = {
	match?: string;
	idle_ms?: number;
	stable_ms?: number;
	input?: boolean;
	end?: boolean;
	exit?: boolean;
	timeout_s?: number;
};

export const until: Type.TUnsafe<Until> = Type.Unsafe(
	Type.Object(
		{
			match: Type.Optional(
				Type.String({ minLength: 1, maxLength: 1000, description: "this text is in the new output" }),
			),
			idle_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 240_000, description: "no output for so long" })),
			stable_ms: Type.Optional(
				Type.Integer({ minimum: LEAST_STABLE_MS, maximum: 240_000, description: "the screen is the same for so long" }),
			),
			input: Type.Optional(Type.Boolean({ description: "the program waits for input" })),
			end: Type.Optional(Type.Boolean({ description: "the shell is back at its prompt" })),
			exit: Type.Optional(Type.Boolean({ description: "the program has exited; always looked for" })),
			timeout_s: Type.Optional(
				Type.Number({ minimum: 0, maximum: MAX_WAIT_S, description: `default ${DEFAULT_WAIT_S}` }),
			),
		},
		{
			additionalProperties: false,
			description: `What ends the wait, whichever comes first; only what happens after this call counts. Default: input, end, exit, idle_ms ${DEFAULT_IDLE_MS}. A timeout is no error.`,
		},
	),
);

export async function waitFor(
	session: Session,
	from: number,
	wanted: Until | undefined,
	call: Call,
): Promise<shared.Cause> {
	const isDefault = !wanted || !hasCause(wanted);
	const causes = isDefault ? { ...wanted, input: true, end: true, idle_ms: DEFAULT_IDLE_MS } : wanted;
	const { idle_ms: idleMs, stable_ms: stableMs, input, end } = causes;
	const match = causes.match === undefined ? undefined : new shared.TextMatcher(causes.match);
	const timeoutMs = (causes.timeout_s ?? DEFAULT_WAIT_S) * 1000;
	const reading = { screens: call.options.screens, ...flowFor(call.principal, session, "lossless") };
	// Whoever was told that a person is asked for a secret does not want to hear again that the program waits for it.
	const isPatient = isDefault || (input === true && idleMs === undefined && stableMs === undefined);
	const wait = async () => {
		const leftMs = isPatient ? await untilGiven(session, timeoutMs, call) : timeoutMs;
		const options = { from, timeoutMs: leftMs, signal: call.signal, ...reading };
		return shared.waitFor(session, { match, idleMs, stableMs, input, end }, options);
	};
	return telling(session, timeoutMs, wait(), call);
}

function hasCause({ timeout_s: _, ...causes }: Until): boolean {
	return Object.values(causes).some((cause) => cause !== undefined && cause !== false);
}

/** The client hears that a wait for a session goes on, for as long as it does. */
export async function telling<Result>(
	session: Session,
	timeoutMs: number,
	waiting: Promise<Result>,
	call: Call,
): Promise<Result> {
	const tell = () => {
		call.onProgress({
			progress: call.elapsedMs() / 1000,
			total: Math.round(timeoutMs / 1000),
			message: `${session.spec.name ?? session.id} goes on`,
		});
	};
	const timer = setInterval(tell, call.options.progressMs ?? PROGRESS_MS);
	try {
		return await waiting;
	} finally {
		clearInterval(timer);
	}
}
