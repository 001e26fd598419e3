/** Types a prompt into a coding agent's input and submits it, and sees that it was submitted. */

import type { AgentMessage } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import { INPUT_WINDOW_BYTES } from "../../core/input/input-queue.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { AgentTyping } from "./agent-typing.ts";
import { shows } from "./answer.ts";
import { readAgentInput } from "./screen-rules/read-input.ts";
import type { AgentOnScreen } from "./screen-watch.ts";

/** An agent that starts draws its input within this time. */
const READY_MS = 10_000;
/** The input is empty after Enter within this time. */
const REACTION_MS = 4_000;
/** Agents drop what is typed in their first moments. A busy machine shows it late, so it is not typed again too soon. */
const SHOWN_MS = 8_000;
/** Codex takes a second from its first screen until it is ready, and many beside other work. */
const STARTING_MS = 60_000;
/** One look may fall into a pause of an agent's work. */
const RESTING_LOOKS = 3;
const TYPING_TRIES = 3;
/** Some agents take the first Enter after a paste for a new line. */
const ENTER_TRIES = 3;
/** A text longer than this, or with several lines, is pasted. */
const TYPED_LENGTH = 200;

/** With the marks of a paste and Enter, it fits the window of an input stream. A paste without its end would be worse. */
const MAX_PROMPT_BYTES = INPUT_WINDOW_BYTES - 1024;
/** A tab within a paste is text. */
const CONTROLS = /(?![\r\t])\p{Cc}/u;

const BEGIN_PASTE = "\u001b[200~";
const END_PASTE = "\u001b[201~";
/** Agents show a long paste as a sign. */
const PASTE_SIGN = /\[(?:#\d+ )?Past(?:e|ed)\b/i;

/**
 * Resolves once the prompt was submitted. `blocked`: a dialog is open, and nothing was typed. With a `stream`, a prompt
 * that an earlier server has begun to type there is not typed again.
 */
export async function promptAgent(typing: AgentTyping, text: string, stream?: string): Promise<void> {
	const plain = promptText(text);
	await checkUnblocked(typing);
	let isEmpty = false;
	const check = async () => {
		await checkUnblocked(typing);
		// A person may have typed something, most of all while an approval was waited for.
		if (isEmpty && (await untilInput(typing)) !== "") throw unsentTextError();
		isEmpty = false;
	};
	const before = await untilInput(typing);
	if (stream !== undefined && (await typing.session.receipt(stream)).next > 0) {
		// It was submitted, or a user has removed it, unless it is still there.
		if (!hasText(before, plain)) return;
		await typing.press(["Enter"], check);
		return untilSubmitted(typing, check);
	}
	if (before !== "") throw unsentTextError();
	isEmpty = true;
	const isTyped = !/[\r\t]/.test(plain) && plain.length <= TYPED_LENGTH;
	const bytes = Buffer.from(isTyped ? plain : `${BEGIN_PASTE}${plain}${END_PASTE}`);
	await typing.type([bytes, Buffer.from("\r")], check, () => untilShown(typing, plain, bytes), stream);
	await untilSubmitted(typing, check);
}

/** The text as it is typed. Control characters are keys, so they are refused, except for new lines and tabs. */
export function promptText(text: string): string {
	const plain = text.replaceAll(/\r?\n/g, "\r");
	if (plain.trim() === "") throw new SessionError("invalid_argument", "text: must not be blank");
	if (CONTROLS.test(plain)) {
		throw new SessionError("invalid_argument", "text: must have no control characters but new lines and tabs");
	}
	if (Buffer.byteLength(plain) > MAX_PROMPT_BYTES) {
		throw new SessionError("invalid_argument", `text: must have at most ${MAX_PROMPT_BYTES} bytes`);
	}
	return plain;
}

function unsentTextError(): SessionError {
	return new SessionError("conflict", "the agent's input holds a text that was not submitted; nothing was typed", {
		hint: "submit or clear it first",
	});
}

async function untilSubmitted(typing: AgentTyping, check: () => Promise<void>): Promise<void> {
	for (let tries = 1; !(await isSubmitted(typing)); tries++) {
		if (tries >= ENTER_TRIES) {
			throw new SessionError("conflict", "the agent did not take the prompt; it is still in its input", {
				hint: "look at the session's screen",
			});
		}
		await typing.press(["Enter"], check);
	}
}

/** Rejects with `blocked` while a dialog is open, on the screen or by another signal. */
async function checkUnblocked(typing: AgentTyping): Promise<void> {
	const state = await typing.view.state();
	if (!state && isEnded(typing.session.state)) {
		throw new SessionError("session_closed", "the session's program has ended; nothing was typed");
	}
	if (!state && (await typing.view.screen(typing.signal))) {
		// A dialog that no rule knows may be open.
		throw new SessionError("conflict", "the state of the agent is not known; nothing was typed", {
			hint: "look at the session's screen",
		});
	}
	if (!state) {
		throw new SessionError("conflict", "no coding agent runs in front of this session; nothing was typed", {
			hint: "send text with …/send",
		});
	}
	if (state.state === "blocked") throw blockedError(state);
}

function blockedError(agent: AgentMessage): SessionError {
	const question = agent.question === null ? "a dialog" : `the dialog ${JSON.stringify(agent.question)}`;
	return new SessionError("blocked", `the agent waits for an answer to ${question}; nothing was typed`, {
		hint: "answer it first",
		extra: { agent },
	});
}

/** The text in the input, once the input is on the screen. */
async function untilInput(typing: AgentTyping): Promise<string> {
	const text = await typing.until(READY_MS, (found) => inputOf(found) ?? undefined);
	if (text !== undefined) return text;
	await checkUnblocked(typing);
	throw new SessionError("conflict", "the agent's input is not on the screen; nothing was typed", {
		hint: "look at the session's screen",
	});
}

function inputOf(found: AgentOnScreen | null): string | null {
	return found && readAgentInput(found.screen, found.rules);
}

/** Types the text again if the agent has dropped it. */
async function untilShown(typing: AgentTyping, text: string, bytes: Uint8Array): Promise<void> {
	for (let tries = 1; ; tries++) {
		await typing.until(SHOWN_MS, (found) => (hasText(inputOf(found), text) ? true : undefined));
		let looks = 0;
		// An agent that is not ready yet takes no Enter, and may still drop the text. One that works may not have read it.
		const isDecided = await typing.until(STARTING_MS, async (found) => {
			const shown = inputOf(found);
			if (shown !== null && shown !== "") return true;
			looks = shown === "" && (await isResting(typing)) ? looks + 1 : 0;
			return looks >= RESTING_LOOKS || undefined;
		});
		const input = inputOf(await typing.view.screen(typing.signal));
		if (hasText(input, text)) {
			// It was not dropped, but shown late.
			if (tries === 1 || !isTwice(input ?? "", text)) return;
			throw new SessionError("conflict", "the agent shows the prompt twice in its input; it was not submitted", {
				hint: "clear the input, and send the prompt again",
			});
		}
		if (tries >= TYPING_TRIES || input !== "" || !isDecided) {
			throw new SessionError("conflict", "the agent does not show the prompt in its input; it was not submitted", {
				hint: "look at the session's screen",
			});
		}
		await typing.type([bytes], () => checkUnblocked(typing));
	}
}

/** It has read its input and waits. */
async function isResting(typing: AgentTyping): Promise<boolean> {
	const { state } = await typing.session.inspect();
	return state !== "busy" && state !== "running";
}

function hasText(input: string | null, text: string): boolean {
	if (input === null || input === "") return false;
	return PASTE_SIGN.test(input) || shows([input], text.split("\r").at(-1)?.trim() || text);
}

function isTwice(input: string, text: string): boolean {
	const plain = (value: string) => value.replace(/[\s│┃║]/g, "");
	return plain(input).split(plain(text)).length > 2;
}

/** The input is empty, or not there because of a dialog, work or another view. An agent that starts draws it again. */
async function isSubmitted(typing: AgentTyping): Promise<boolean> {
	const isGone = await typing.until(REACTION_MS, (found) => {
		const input = inputOf(found);
		const isHidden = input === null && found?.reading?.state === "working";
		return input === "" || found?.reading?.dialog || isHidden ? true : undefined;
	});
	if (isGone) return true;
	const found = await typing.view.screen(typing.signal);
	return found !== null && inputOf(found) === null;
}
