/** Types into a coding agent and sees what comes of it: the parts that answers and prompts share. */

import { randomUUID } from "node:crypto";
import type { AgentMessage } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import { encodeKey } from "../../words/keys.ts";
import { CheckedSession } from "./checked-session.ts";
import { type Dialog, isSameDialog } from "./screen-rules/read-screen.ts";
import type { AgentOnScreen } from "./screen-watch.ts";
import type { Turn } from "./turn.ts";

/** Between two looks at the screen for the effect of a key. */
const LOOK_MS = 50;

/** The agent of one session, as answers and prompts need it. */
export interface AgentView {
	/** The state, with everything that is known now. */
	state(): Promise<AgentMessage | null>;
	/** The screen now; null if no agent is in front. */
	screen(signal: AbortSignal): Promise<AgentOnScreen | null>;
}

type AgentTypingOptions = {
	/** The session itself, without a caller's restrictions. */
	readonly session: Session;
	readonly view: AgentView;
	/** The session with the caller's checks and records around it. */
	readonly audited: (session: Session) => Session;
	/** The lease under which it is typed. */
	readonly fence: number | undefined;
	readonly signal: AbortSignal;
	/** Set if the caller's input may be held. Typing leaves the turn before each input, and enters it again once the input may be typed. */
	readonly turn?: Turn | undefined;
};

export class AgentTyping {
	readonly session: Session;
	readonly view: AgentView;
	readonly signal: AbortSignal;
	readonly #options: AgentTypingOptions;

	constructor(options: AgentTypingOptions) {
		this.#options = options;
		this.session = options.session;
		this.view = options.view;
		this.signal = options.signal;
	}

	/**
	 * Types one part after the other; `between` runs before the second. `check` runs right before the bytes of each part
	 * are written. A gate judges the parts as one text. A `stream` that is named keeps count of what was typed, until it is
	 * forgotten.
	 */
	async type(
		[first, ...others]: readonly [Uint8Array, ...Uint8Array[]],
		check: () => Promise<void>,
		between: () => Promise<void> = async () => {},
		stream?: string,
	): Promise<void> {
		const { session, audited, fence, signal, turn } = this.#options;
		turn?.leave();
		const origin = { stream: stream ?? randomUUID(), position: 0 };
		const whole = { bytes: Buffer.concat([first, ...others]), origin };
		const checked = new CheckedSession(session, async () => {
			await turn?.enter();
			signal.throwIfAborted();
			await check();
		});
		const typist = audited(checked).inParts(whole);
		let position = 0;
		try {
			for (const bytes of [first, ...others]) {
				if (position > 0) await between();
				signal.throwIfAborted();
				const options = { origin: { ...origin, position }, ...(fence === undefined ? {} : { fence }) };
				const { next } = await typist.act({ kind: "write", bytes }, options);
				position += bytes.byteLength;
				if (next < position) throw new SessionError("limit_exceeded", "the program does not read its input");
			}
		} finally {
			if (stream === undefined) session.forgetStream(origin.stream).catch(() => {});
		}
	}

	press(names: readonly string[], check: () => Promise<void>): Promise<void> {
		return this.type([Buffer.concat(names.map(keyBytes))], check);
	}

	/** Looks at the screen until `find` finds something, for so long at most. */
	async until<Found>(
		ms: number,
		find: (found: AgentOnScreen | null) => Found | undefined | Promise<Found | undefined>,
	): Promise<Found | undefined> {
		const end = performance.now() + ms;
		for (;;) {
			const value = await find(await this.view.screen(this.signal));
			if (value !== undefined || performance.now() >= end || this.signal.aborted) return value;
			await sleep(LOOK_MS, this.signal);
		}
	}

	/** Rejects with `stale` unless the screen shows this dialog. */
	async checkDialog(dialog: Dialog): Promise<Dialog> {
		const found = await this.view.screen(this.signal);
		const now = found?.reading?.dialog;
		if (!now || !isSameDialog(now, dialog)) throw staleError();
		return now;
	}
}

export function staleError(): SessionError {
	return new SessionError("stale", "the agent no longer shows this dialog; nothing was typed", {
		hint: "read the state of the session again",
	});
}

function keyBytes(name: string): Uint8Array {
	const bytes = encodeKey(name);
	if (bytes) return bytes;
	return Buffer.from(name);
}
