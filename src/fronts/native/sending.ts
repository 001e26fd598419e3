/** Typing, waiting and reading in one call, over HTTP or a WebSocket: what counts is what comes after its own input. */

import { randomUUID } from "node:crypto";
import type { Principal } from "../../core/access.ts";
import type { Origin } from "../../core/act.ts";
import { SessionError } from "../../core/errors.ts";
import type { Screens } from "../../core/screen.ts";
import type { Session } from "../../core/session.ts";
import type { SendAnswer, SendInput } from "../../protocol/acts.ts";
import { limits } from "../../protocol/messages.ts";
import { flowFor } from "../front.ts";
import type { Places } from "../places.ts";
import { programState } from "../program-state.ts";
import { controlSince } from "../takeover.ts";
import { readText } from "../text.ts";
import { pasted, typeParts } from "../typing.ts";
import { type Causes, TextMatcher, waitFor } from "../wait.ts";
import { encodedKeys } from "./acts.ts";
import type { Traffic } from "./metrics.ts";
import { ExpressionMatcher } from "./search/awaited.ts";

export type SendRequest = {
	readonly input: SendInput;
	readonly caller: Principal;
	/** Where its input begins, by which a repeat is recognised. */
	readonly key: Origin | undefined;
	/** As whom it is told who had control meanwhile, if not by the caller's name. */
	readonly holder?: string;
	/** Of the lease under which it is typed. */
	readonly fence: number | undefined;
	/** Nobody waits any more; what was typed stays typed. */
	readonly signal: AbortSignal;
	/** Everything is typed: what others type may come now. */
	readonly onTyped?: () => void;
};

type SendsOptions = {
	readonly screens: Screens | undefined;
	/** Of those who wait for an expression. */
	readonly expressions: Places;
	readonly traffic: Traffic;
};

export class Sends {
	readonly #options: SendsOptions;

	constructor(options: SendsOptions) {
		this.#options = options;
	}

	async make(session: Session, request: SendRequest): Promise<SendAnswer> {
		const { input, caller, key, fence, signal, onTyped, holder = caller.name } = request;
		const { screens, traffic } = this.#options;
		const { text = "", paste = false, timeoutMs = limits.runMs, limit = limits.textBytes } = input;
		const keys = encodedKeys(input.keys ?? []);
		const origin = key ?? { stream: randomUUID(), position: 0 };
		const { causes, end } = this.#causesOf(input.until ?? {}, caller);
		try {
			const typed = Buffer.from(paste ? await pasted(session, text, keys, origin) : text);
			const { from, next } = await typeParts(session, [typed, keys], { origin, fence, signal });
			onTyped?.();
			traffic.bytesIn += next - origin.position;
			const reading = { ...flowFor(caller, session, "lossless"), signal };
			const waiting = { from, timeoutMs: Math.min(timeoutMs, limits.maxWaitMs), screens, ...reading };
			const cause = await waitFor(session, causes, waiting);
			const { offset: to } = await session.end();
			const range = { from, to, max: limit, rows: session.state.size.rows };
			const told = await readText(session, range, { ...reading, screens });
			traffic.bytesOut += Buffer.byteLength(told.text);
			const state = await programState(session, signal);
			const { takeovers, fence: now } = await controlSince(session, holder, `${origin.stream}:${origin.position}`);
			const { exit } = session.state;
			return { cause, output: { from, to }, ...told, state, exit, next, takeovers: [...takeovers], fence: now };
		} finally {
			end();
			// Nobody else knows its name. Should this fail, it is forgotten with time.
			if (!key) session.forgetStream(origin.stream).catch(() => {});
		}
	}

	/** An expression has a place and a process until the wait is over. */
	#causesOf(until: NonNullable<SendInput["until"]>, caller: Principal): Awaited {
		const { match: text, regex = false, ignoreCase = false, ...others } = until;
		if (text === undefined) {
			if (!regex && !ignoreCase) return { causes: others, end() {} };
			throw new SessionError("invalid_argument", "until: regex and ignoreCase belong to match");
		}
		if (!regex) return { causes: { ...others, match: new TextMatcher(text, ignoreCase) }, end() {} };
		const giveBack = this.#options.expressions.take(caller);
		try {
			const match = new ExpressionMatcher({ text, ignoreCase });
			const end = () => {
				match.end();
				giveBack();
			};
			return { causes: { ...others, match }, end };
		} catch (error) {
			giveBack();
			throw error;
		}
	}
}

type Awaited = { readonly causes: Causes; end(): void };
