/** Waits for events of a session on behalf of tools, with progress notifications. */

import Type from "typebox";
import type { Session } from "../../core/session/session.ts";
import { allowedFlow } from "../../services/reading/flow.ts";
import * as shared from "../../services/waits/wait.ts";
import type { Call } from "./call.ts";
import { untilSecretEntered } from "./secrets.ts";

/**
 * Clients give up after a minute without progress, and some after five minutes in any case.
 * @limit a wait of a tool | the answer is the state by then
 */
const DEFAULT_WAIT_S = 50;
/** @limit a wait of a tool, as requested | 400 */
export const MAX_WAIT_S = 240;
/** Interval of progress notifications. */
const PROGRESS_MS = 10_000;
/** Without other conditions, a program that wrote nothing for this long ends the wait. */
const DEFAULT_IDLE_MS = 3_000;
/** A shorter time would mistake a program that is drawing for one that has finished. */
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
			description: `Ends the wait at the first of these; only events after this call count. Default: input, end, exit, idle_ms ${DEFAULT_IDLE_MS}. A timeout is no error.`,
		},
	),
);

export type WaitBegin = {
	readonly from: number;
	/** Lines typed there, whose echo does not match. */
	readonly typed?: readonly string[] | undefined;
};

export async function waitFor(
	session: Session,
	{ from, typed }: WaitBegin,
	wanted: Until | undefined,
	call: Call,
): Promise<shared.WaitOutcome> {
	const isDefault = !wanted || !hasCause(wanted);
	// A turn of an agent may be silent for long.
	const agent = isDefault ? await call.options.agents?.read(session) : null;
	const idle = agent ? {} : { idle_ms: DEFAULT_IDLE_MS };
	const causes: Until = isDefault ? { ...wanted, input: true, end: true, ...idle } : wanted;
	const { idle_ms: idleMs, stable_ms: stableMs, input, end } = causes;
	const match = causes.match === undefined ? undefined : new shared.TextMatcher(causes.match);
	const timeoutMs = (causes.timeout_s ?? DEFAULT_WAIT_S) * 1000;
	const { screens, agents } = call.options;
	const reading = { screens, agents, ...allowedFlow(call.principal, session, "lossless") };
	// A caller that knows that a person was asked for the secret does not need the wait to end for it again.
	const isPatient = isDefault || (input === true && idleMs === undefined && stableMs === undefined);
	const wait = async () => {
		const leftMs = isPatient ? await untilSecretEntered(session, timeoutMs, call) : timeoutMs;
		const options = { from, typed, timeoutMs: leftMs, signal: call.signal, ...reading };
		return shared.waitFor(session, { match, idleMs, stableMs, input, end }, options);
	};
	return withProgress(session, timeoutMs, wait(), call);
}

function hasCause({ timeout_s: _, ...causes }: Until): boolean {
	return Object.values(causes).some((cause) => cause !== undefined && cause !== false);
}

/** Sends progress notifications until `waiting` settles. */
export async function withProgress<Result>(
	session: Session,
	timeoutMs: number,
	waiting: Promise<Result>,
	call: Call,
): Promise<Result> {
	const notify = () => {
		call.onProgress({
			progress: call.elapsedMs() / 1000,
			total: Math.round(timeoutMs / 1000),
			message: `${session.spec.name ?? session.id} continues`,
		});
	};
	const timer = setInterval(notify, call.options.progressMs ?? PROGRESS_MS);
	try {
		return await waiting;
	} finally {
		clearInterval(timer);
	}
}
