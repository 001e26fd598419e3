/** Types input, waits and reads the output after it, in one call over HTTP or a WebSocket. */

import { randomUUID } from "node:crypto";
import { limits } from "../../api/messages.ts";
import type { SendAnswer, SendInput } from "../../api/types.ts";
import type { Budget } from "../../core/async/budget.ts";
import { SessionError } from "../../core/errors.ts";
import type { StreamPosition } from "../../core/input/action.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import { typedLines } from "../../words/typed-echo.ts";
import type { Agents } from "../agents/agents.ts";
import { programState } from "../attention/program-state.ts";
import type { TrafficCounters } from "../metrics/traffic.ts";
import { allowedFlow } from "../reading/flow.ts";
import { readText } from "../reading/text.ts";
import { ExpressionMatcher } from "../waits/expression.ts";
import { TextMatcher, type WaitConditions, waitFor } from "../waits/wait.ts";
import { encodeKeys } from "./keys.ts";
import { pasteText, typeInOrder } from "./typing.ts";

type SendRequest = {
	readonly input: SendInput;
	readonly caller: Principal;
	/** Stream position of its input, which identifies a repeat. */
	readonly key: StreamPosition | undefined;
	/** Name under which control changes are reported to the caller; its own name by default. */
	readonly holder?: string;
	/** Fence of the lease under which it types. */
	readonly fence: number | undefined;
	/** Aborts when the caller no longer waits. Typed input stays typed. */
	readonly signal: AbortSignal;
	/** Called when everything is typed, so that others may type. */
	readonly onTyped?: () => void;
};

type SendsOptions = {
	readonly screens: ScreenReader | undefined;
	readonly agents: Agents;
	/** Slots for waits for an expression. */
	readonly expressions: Budget;
	readonly traffic: TrafficCounters;
};

export class Sender {
	readonly #options: SendsOptions;

	constructor(options: SendsOptions) {
		this.#options = options;
	}

	async make(session: Session, request: SendRequest): Promise<SendAnswer> {
		const { input, caller, key, fence, signal, onTyped, holder = caller.name } = request;
		const { screens, agents, traffic } = this.#options;
		const { text = "", paste = false, timeoutMs = limits.runMs, limit = limits.textBytes } = input;
		const keys = encodeKeys(input.keys ?? []);
		const origin = key ?? { stream: randomUUID(), position: 0 };
		const { causes, end } = this.#causesOf(input.until ?? {}, caller);
		try {
			const typed = Buffer.from(paste ? await pasteText(session, text, keys, origin) : text);
			const { from, next } = await typeInOrder(session, [typed, keys], { origin, fence, signal });
			onTyped?.();
			traffic.bytesIn += next - origin.position;
			const reading = { ...allowedFlow(caller, session, "lossless"), signal };
			const echoed = input.until?.includeEcho ? [] : typedLines(Buffer.concat([typed, keys]).toString());
			const waiting = {
				from,
				typed: echoed,
				timeoutMs: Math.min(timeoutMs, limits.maxWaitMs),
				screens,
				agents,
				...reading,
			};
			const cause = await waitFor(session, causes, waiting);
			const { offset: to } = await session.end();
			const range = { from, to, max: limit, rows: session.state.size.rows };
			const outputText = await readText(session, range, { ...reading, screens });
			traffic.bytesOut += Buffer.byteLength(outputText.text);
			const state = await programState(session, signal, agents);
			const { takeovers, fence: now } = await session.controlChanges(holder, `${origin.stream}:${origin.position}`);
			const { exit } = session.state;
			return { cause, output: { from, to }, ...outputText, state, exit, next, takeovers: [...takeovers], fence: now };
		} finally {
			end();
			// The stream is used by this call only. If this fails, the stream is dropped later.
			if (!key) session.forgetStream(origin.stream).catch(() => {});
		}
	}

	/** An expression takes a slot and a process until the wait ends. */
	#causesOf(until: NonNullable<SendInput["until"]>, caller: Principal): Awaited {
		const { match: text, regex = false, ignoreCase = false, includeEcho = false, ...others } = until;
		if (text === undefined) {
			if (!regex && !ignoreCase && !includeEcho) return { causes: others, end() {} };
			throw new SessionError("invalid_argument", "until: regex, ignoreCase and includeEcho require match");
		}
		if (!regex) return { causes: { ...others, match: new TextMatcher(text, ignoreCase) }, end() {} };
		const giveBack = this.#options.expressions.enter(caller);
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

type Awaited = { readonly causes: WaitConditions; end(): void };
