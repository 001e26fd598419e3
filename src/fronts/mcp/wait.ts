/** Waiting for what a session does: whichever of several causes comes first, looked for from one place of its output on. */

import { setTimeout as pause } from "node:timers/promises";
import Type from "typebox";
import { SessionError } from "../../core/errors.ts";
import { isWaiting } from "../../core/inspection.ts";
import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import { textOf, VisibleText } from "../../protocol/visible-text.ts";
import type { Call } from "./call.ts";

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

/** What ended a wait; `cancelled` if nobody waits for it any more. */
export type Cause = "match" | "idle" | "stable" | "input" | "end" | "exit" | "timeout" | "cancelled";

export async function waitFor(session: Session, from: number, wanted: Until | undefined, call: Call): Promise<Cause> {
	const causes = wanted && hasCause(wanted) ? wanted : { ...wanted, input: true, end: true, idle_ms: DEFAULT_IDLE_MS };
	const over = new AbortController();
	const signal = AbortSignal.any([call.signal, over.signal]);
	const timeoutMs = (causes.timeout_s ?? DEFAULT_WAIT_S) * 1000;
	const stopTelling = tellProgress(session, timeoutMs, call);
	try {
		return await Promise.race([
			after(timeoutMs, signal, "timeout"),
			aborted(call.signal),
			exited(session, signal),
			...(causes.match !== undefined ? [matched(session, from, causes.match, signal)] : []),
			...(causes.idle_ms !== undefined ? [idle(session, from, causes.idle_ms, signal)] : []),
			...(causes.stable_ms !== undefined ? [stable(session, causes.stable_ms, signal, call)] : []),
			...(causes.input || causes.end ? [listening(session, causes.input === true, signal)] : []),
		]);
	} finally {
		stopTelling();
		over.abort();
	}
}

function hasCause({ timeout_s: _, ...causes }: Until): boolean {
	return Object.values(causes).some((cause) => cause !== undefined && cause !== false);
}

/** What is not found before the others are over is never told. */
const never = (): Promise<never> => new Promise(() => {});

async function after<Told extends Cause>(ms: number, signal: AbortSignal, cause: Told): Promise<Told> {
	try {
		await pause(ms, undefined, { signal });
		return cause;
	} catch {
		return never();
	}
}

function aborted(signal: AbortSignal): Promise<"cancelled"> {
	if (signal.aborted) return Promise.resolve("cancelled");
	return new Promise((resolve) => signal.addEventListener("abort", () => resolve("cancelled"), { once: true }));
}

function exited(session: Session, signal: AbortSignal): Promise<"exit"> {
	if (isEnded(session.state)) return Promise.resolve("exit");
	return new Promise((resolve) => {
		const stop = session.watch((state) => {
			if (isEnded(state)) resolve("exit");
		});
		signal.addEventListener("abort", stop, { once: true });
	});
}

async function matched(session: Session, from: number, wanted: string, signal: AbortSignal): Promise<"match"> {
	const visible = new VisibleText({ hasReturns: false });
	// What is looked for may begin in one piece and end in another, and so may a character.
	let seen: Uint8Array = new Uint8Array();
	const kept = Buffer.byteLength(wanted);
	for await (const item of session.follow({ offset: from }, { signal, flow: "live" })) {
		if (item.kind !== "output") continue;
		const runs = visible.take(item.offset, item.bytes).map(({ bytes }) => bytes);
		seen = Buffer.concat([seen, ...runs]);
		if (textOf(seen).includes(wanted)) return "match";
		seen = seen.subarray(-kept);
	}
	return never();
}

async function idle(session: Session, from: number, ms: number, signal: AbortSignal): Promise<"idle"> {
	let resolve = (_cause: "idle") => {};
	const found = new Promise<"idle">((settle) => {
		resolve = settle;
	});
	const timer = setTimeout(() => resolve("idle"), ms);
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	const follow = async () => {
		for await (const item of session.follow({ offset: from }, { signal, flow: "live" })) {
			if (item.kind === "output" && !signal.aborted) timer.refresh();
		}
	};
	return Promise.race([found, follow().then(never)]);
}

async function stable(session: Session, ms: number, signal: AbortSignal, { options }: Call): Promise<"stable"> {
	const { screens } = options;
	if (!screens) throw new SessionError("unsupported", "this server shows no screens");
	const shown = async () => (await screens.read(session, { signal })).lines.join("\n");
	try {
		for (let before = await shown(); ; ) {
			await pause(ms, undefined, { signal });
			const now = await shown();
			if (now === before) return "stable";
			before = now;
		}
	} catch (error) {
		if (signal.aborted) return never();
		throw error;
	}
}

/** Input that was accepted before this is asked has been read when the program is found to wait. */
async function listening(session: Session, forAny: boolean, signal: AbortSignal): Promise<"input" | "end"> {
	try {
		for (let after = 0; ; ) {
			const found = await session.untilWaiting(after, signal);
			if (!isWaiting(found)) return await never();
			if (found.state === "prompt") return "end";
			if (forAny) return "input";
			after = found.episode;
		}
	} catch (error) {
		if (signal.aborted) return never();
		// A keeper of an older version can't tell; the other causes can.
		if (error instanceof SessionError && error.code === "unsupported") return never();
		throw error;
	}
}

/** Until the returned function is called. */
function tellProgress(session: Session, timeoutMs: number, { onProgress, options }: Call): () => void {
	const start = performance.now();
	const tell = () => {
		const progress = (performance.now() - start) / 1000;
		onProgress({
			progress,
			total: Math.round(timeoutMs / 1000),
			message: `${session.spec.name ?? session.id} goes on`,
		});
	};
	const timer = setInterval(tell, options.progressMs ?? PROGRESS_MS);
	return () => clearInterval(timer);
}
