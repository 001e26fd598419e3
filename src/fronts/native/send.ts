/** Typing, waiting and reading in one call: what counts is what comes after its own input. */

import { randomUUID } from "node:crypto";
import { INPUT_WINDOW_BYTES } from "../../core/input.ts";
import { offer } from "../../core/offer.ts";
import type { ActOptions, Origin, Session } from "../../core/session.ts";
import { fenceHeader, idempotencyKeyHeader, limits, type SendAnswer } from "../../protocol/messages.ts";
import { bytesOf, crowded } from "../answer-bytes.ts";
import { flowFor, type Hosting, takeReader, whenOver } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { programState } from "../program-state.ts";
import { readText } from "../text.ts";
import { waitFor } from "../wait.ts";
import { encodedKeys } from "./acts.ts";
import { fenceOf, interrupted, parseKey } from "./input.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, placeOf, principalOf } from "./request.ts";
import { sendAnswer, sendInput } from "./send-messages.ts";
import { idParams } from "./session-messages.ts";

/**
 * How long keys wait for the program to show the text before them. Many take what arrives in one piece for something
 * pasted, and an Enter in it for a new line rather than for "go".
 */
const REACTION_MS = 250;

export function addSend(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	app.post(
		"/v1/sessions/:id/send",
		{
			config: {
				policy: "operate",
				operation: "sendInput",
				summary: "Type something, wait for what comes of it, and read that",
				headers: [idempotencyKeyHeader, fenceHeader],
			},
			schema: { params: idParams, body: sendInput, response: { 200: sendAnswer } },
		},
		async (request, reply): Promise<SendAnswer> => {
			const session = findSession(sessions, request);
			const caller = principalOf(request);
			const { text = "", keys = [], until = {}, timeoutMs = limits.runMs, limit = limits.textBytes } = request.body;
			const parts = [Buffer.from(text), encodedKeys(keys)].filter(({ byteLength }) => byteLength > 0);
			const key = parseKey(request.headers[idempotencyKeyHeader]);
			const origin = key ?? { stream: randomUUID(), position: 0 };
			const fence = await fenceOf(session, request);
			whenOver(reply, takeReader(request, placeOf(session), hosting, "read"));
			if (bytesOf(caller, reply, hosting)(limit) < limit) throw crowded();
			const patience = patienceOf(reply, hosting);
			const { signal } = patience;
			try {
				const { from, next } = await typed(session, parts, { origin, fence, signal });
				traffic.bytesIn += next - origin.position;
				const reading = flowFor(caller, session, "lossless");
				const waitMs = Math.min(timeoutMs, limits.maxWaitMs);
				const cause = await waitFor(session, until, { from, timeoutMs: waitMs, signal, ...reading });
				const { offset: to } = await session.end();
				const range = { from, to, max: limit, rows: session.state.size.rows };
				const told = await readText(session, range, { ...reading, signal });
				traffic.bytesOut += Buffer.byteLength(told.text);
				return {
					cause,
					output: { from, to },
					...told,
					state: await programState(session, signal),
					exit: session.state.exit,
					next,
				};
			} finally {
				// Nobody else knows its name. Should this fail, it is forgotten with time.
				if (!key) session.forgetStream(origin.stream).catch(() => {});
				patience.end();
			}
		},
	);
}

type Typing = { readonly origin: Origin; readonly fence: number | undefined; readonly signal: AbortSignal };

/** Types one part after the other. `from` is where the output ended before any of it, however often it is repeated. */
async function typed(
	session: Session,
	parts: readonly Uint8Array[],
	{ origin, fence, signal }: Typing,
): Promise<{ readonly from: number; readonly next: number }> {
	const { offset: end } = await session.end();
	const { stream } = origin;
	let { position } = origin;
	let from: number | undefined;
	for (const bytes of parts) {
		if (from !== undefined) await shown(session, from, signal);
		const options: ActOptions = { origin: { stream, position }, ...(fence === undefined ? {} : { fence }) };
		const first = await session.act({ kind: "write", bytes: bytes.subarray(0, INPUT_WINDOW_BYTES) }, options);
		// Keepers that are older do not say it.
		from ??= first.from ?? end;
		const offered = { origin: { stream, position }, fence, until: "accepted", signal } as const;
		const { next } = await offer(session, { kind: "write", bytes }, offered);
		if (next < position + bytes.byteLength) throw interrupted(next - position, bytes.byteLength);
		position += bytes.byteLength;
	}
	return { from: from ?? end, next: position };
}

/** Resolves when the program has shown something of what was typed, or did not for a while. */
async function shown(session: Session, from: number, signal: AbortSignal): Promise<void> {
	const late = AbortSignal.any([signal, AbortSignal.timeout(REACTION_MS)]);
	for await (const item of session.follow({ offset: from }, { signal: late, flow: "live" })) {
		if (item.kind === "output") return;
	}
}
