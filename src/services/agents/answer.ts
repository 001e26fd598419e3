/** Answers the dialog of a coding agent with the keys that it takes, and sees that the dialog is gone. */

import type { AgentMessage, AnswerAgent } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import { type AgentTyping, staleError } from "./agent-typing.ts";
import { type Dialog, type DialogChoice, isSameDialog, isSameQuestion } from "./screen-rules/read-screen.ts";

/** A dialog that is still there after this time did not take the answer. */
const GONE_MS = 8_000;
/** The pointer moves, and a text field opens, within this time. */
const REACTION_MS = 4_000;
/** A dialog is drawn after the agent reports it. */
const DRAWN_MS = 2_000;

/**
 * Resolves once the dialog is gone. `stale`: it was gone before. `invalid_choice`: it has no such choice. With `judged`,
 * any other dialog is stale, too.
 */
export async function answerAgent(typing: AgentTyping, answer: AnswerAgent, judged?: Dialog): Promise<void> {
	const { choice, text } = answer;
	if ((choice === undefined) === (text === undefined)) {
		throw new SessionError("invalid_argument", "choice: must be given, or text, and not both");
	}
	await checkEpisode(typing, answer);
	const dialog = await typing.until(DRAWN_MS, (found) => found?.reading?.dialog ?? undefined);
	if (!dialog) {
		throw new SessionError("unsupported", "no screen rule reads the dialog of this agent; nothing was typed", {
			hint: "type the answer, or add a screen rule to the directory of hawser serve --agent-rules (see agent-rules.md in the docs of the hawser package)",
		});
	}
	// Another dialog may have come between the two looks.
	const state = await checkEpisode(typing, answer);
	if (!isDialogOf(state, dialog) || (judged && !isSameDialog(dialog, judged))) throw staleError();
	if (choice !== undefined) await choose(typing, dialog, choiceOf(dialog, choice));
	else if (text !== undefined) await answerText(typing, dialog, text);
	const isGone = await typing.until(GONE_MS, async (found) => {
		if (!isSameQuestion(found?.reading?.dialog, dialog)) return true;
		// The same question may be asked again at once. A field shows its text in place of the choice.
		return text === undefined && isOther(await typing.view.state(), state) ? true : undefined;
	});
	if (!isGone) {
		throw new SessionError("conflict", `the agent did not take the answer within ${GONE_MS / 1_000} s`, {
			hint: "look at the session's screen",
		});
	}
	// The state follows the screen.
	await typing.view.state();
}

async function checkEpisode({ view }: AgentTyping, { episode }: AnswerAgent): Promise<AgentMessage> {
	const state = await view.state();
	if (state?.state !== "blocked" || state.episode !== episode) throw staleError();
	return state;
}

/** Whether the state is about this dialog. */
export function isDialogOf({ question, details, choices }: AgentMessage, dialog: Dialog): boolean {
	const isSameText =
		[dialog.question ?? question, dialog.details ?? details].join("\n") === [question, details].join("\n");
	return (
		isSameText &&
		choices.length === dialog.choices.length &&
		choices.every(({ label }, at) => label === dialog.choices[at]?.label)
	);
}

function isOther(now: AgentMessage | null, before: AgentMessage): boolean {
	return now?.state !== "blocked" || now.episode !== before.episode;
}

function choiceOf({ choices, rule }: Dialog, id: string): DialogChoice {
	const choice = choices.find((one) => one.id === id);
	if (!choice) throw invalidChoice(`the dialog has no choice ${JSON.stringify(id)}`, choices);
	if (rule.text && new RegExp(rule.text.label, "u").test(choice.label)) {
		throw invalidChoice(
			`the choice ${JSON.stringify(choice.label)} needs a text`,
			choices,
			"send text instead of choice",
		);
	}
	return choice;
}

function invalidChoice(message: string, choices: readonly DialogChoice[], hint?: string): SessionError {
	const known = choices.map(({ id, label }) => `${id} (${label})`).join(", ");
	return new SessionError("invalid_choice", `${message}; nothing was typed`, {
		hint: hint ?? `its choices are ${known}`,
	});
}

async function choose(typing: AgentTyping, dialog: Dialog, choice: DialogChoice): Promise<void> {
	const { rule } = dialog;
	const own = rule.keys?.find(({ label }) => new RegExp(label, "u").test(choice.label));
	const check = async () => void (await typing.checkDialog(dialog));
	if (own) return typing.press(own.keys, check);
	if (rule.choose === "digit" && hasDigits(dialog)) return typing.press([choice.id], check);
	await pointAt(typing, dialog, choice);
	await typing.press(["Enter"], async () => {
		const { pointed } = await typing.checkDialog(dialog);
		if (pointed !== indexOf(choice)) throw notPointed(choice);
	});
}

/** Of a number with two digits, an agent may take the first one as its answer. */
function hasDigits({ choices }: Dialog): boolean {
	return choices.length < 10;
}

/** Presses arrow keys until the screen shows the pointer at the choice. */
async function pointAt(typing: AgentTyping, dialog: Dialog, choice: DialogChoice): Promise<void> {
	const [back, forth] = dialog.rule.menu === "buttons" ? (["Left", "Right"] as const) : (["Up", "Down"] as const);
	for (let presses = 0; presses <= dialog.choices.length; presses++) {
		const { pointed } = await typing.checkDialog(dialog);
		if (pointed === indexOf(choice)) return;
		if (pointed === null) break;
		const key = pointed < indexOf(choice) ? forth : back;
		await typing.press([key], async () => void (await typing.checkDialog(dialog)));
		const hasMoved = await typing.until(REACTION_MS, (found) => {
			const now = found?.reading?.dialog;
			return now?.pointed !== pointed ? true : undefined;
		});
		if (!hasMoved) break;
	}
	throw notPointed(choice);
}

function notPointed({ label }: DialogChoice): SessionError {
	return new SessionError("conflict", `the agent's pointer could not be moved to ${JSON.stringify(label)}`, {
		hint: "look at the session's screen",
	});
}

function indexOf({ id }: DialogChoice): number {
	return Number(id) - 1;
}

/** Opens the dialog's text field, types the text there, and submits it once the screen shows it. */
async function answerText(typing: AgentTyping, dialog: Dialog, text: string): Promise<void> {
	const { text: field } = dialog.rule;
	const choice = field && dialog.choices.find(({ label }) => new RegExp(field.label, "u").test(label));
	if (!field || !choice) throw invalidChoice("the dialog takes no text", dialog.choices);
	if (/\p{Cc}/u.test(text)) {
		throw new SessionError("invalid_argument", "text: must be one line without control characters");
	}
	const check = async () => void (await typing.checkDialog(dialog));
	if (field.open === "digit" && hasDigits(dialog)) await typing.press([choice.id], check);
	else if (field.open === "point") {
		// The label may change when the field opens.
		for (let pointed = dialog.pointed ?? 0; pointed !== indexOf(choice); ) {
			const isForth = pointed < indexOf(choice);
			await typing.press([isForth ? "Down" : "Up"], check);
			pointed += isForth ? 1 : -1;
			const next = pointed;
			const isThere = await typing.until(REACTION_MS, (found) => {
				const now = found?.reading?.dialog;
				return isSameQuestion(now, dialog) && now?.pointed === next ? true : undefined;
			});
			if (!isThere) throw notPointed(choice);
		}
	} else {
		await pointAt(typing, dialog, choice);
		await typing.press(["Enter"], check);
	}
	const lines = await typing.until(REACTION_MS, (found) => {
		const now = found?.reading?.dialog;
		const isOpen = !isSameDialog(now, dialog) || now?.pointed === indexOf(choice);
		return isOpen ? found?.screen.lines : undefined;
	});
	if (!lines) throw notPointed(choice);
	const isShown = async () =>
		(await typing.until(REACTION_MS, (found) => (shows(found?.screen.lines ?? [], text) ? true : undefined))) === true;
	await typing.type(
		[Buffer.from(text), Buffer.from("\r")],
		async () => {},
		async () => {
			if (await isShown()) return;
			throw new SessionError("conflict", "the agent does not show the text that was typed; it was not submitted", {
				hint: "look at the session's screen",
			});
		},
	);
}

/** Whether the screen has the text, however it wraps. */
export function shows(lines: readonly string[], text: string): boolean {
	const plain = (value: string) => value.replace(/[\s│┃║]/g, "");
	return plain(lines.join("")).includes(plain(text).slice(-60));
}
