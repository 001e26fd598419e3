/** Shows the dialog of a coding agent whole, and reads the answer: a choice, or a text. */

import { type AgentMessage, agentLabel, childLabel, type DialogAnswer } from "../../client/index.ts";
import { safeLine } from "../print/safe-text.ts";
import { wrapped } from "../terminal/cell-width.ts";
import type { Key } from "../terminal/key-reader.ts";
import { displayText, LineEditor } from "./line-editor.ts";
import type { StatusLine } from "./render.ts";

/** An answer, and how it is shown. */
export type GivenAnswer = { readonly answer: DialogAnswer; readonly label: string };

export class DialogReview {
	#agent: AgentMessage;
	/** Index of the choice that Enter takes. None at first, so that a second Enter answers nothing. */
	#pointed: number | undefined;
	/** While a text is typed. */
	#field: LineEditor | undefined;

	constructor(agent: AgentMessage) {
		this.#agent = agent;
	}

	get agent(): AgentMessage {
		return this.#agent;
	}

	/** The agent reports its dialog before its screen was read. Another dialog is not taken. */
	update(agent: AgentMessage | null | undefined): void {
		if (agent?.state === "blocked" && agent.episode === this.#agent.episode) this.#agent = agent;
	}

	/** Handles a key. Returns the answer, or "left" when the review ends without one. */
	press(key: Key): GivenAnswer | "left" | undefined {
		const isKey = (...names: readonly string[]) => key.kind === "key" && names.includes(key.value);
		if (isKey("Escape", "C-c")) return "left";
		if (this.#field) return this.#pressInField(this.#field, key);
		if (isKey("Up")) this.#point(-1);
		else if (isKey("Down")) this.#point(1);
		else if (isKey("Enter")) return this.#pointed === undefined ? undefined : this.choose(this.#pointed + 1);
		else if (key.kind === "text" && /^[1-9]$/.test(key.value)) return this.choose(Number(key.value));
		return undefined;
	}

	/** The answer with this number. A choice that takes a text opens the field; there may be no such choice. */
	choose(number: number): GivenAnswer | undefined {
		const choice = this.agent.choices[number - 1];
		if (!choice) return undefined;
		if (!choice.takesText) return { answer: { choice: choice.id }, label: choice.label };
		this.#pointed = number - 1;
		this.#field = new LineEditor();
		return undefined;
	}

	/** As many rows as there is room for. The choices are always among them. */
	page({ cols, rows }: { readonly cols: number; readonly rows: number }): string[] {
		const { question, details, children, choices } = this.agent;
		const wrap = (text: string) => (text === "" ? [""] : wrapped(safeLine(text), cols, Number.POSITIVE_INFINITY));
		const about = [
			...wrap(question ?? agentLabel(this.agent)),
			...(details === null ? [] : ["", ...details.trimEnd().split("\n").flatMap(wrap)]),
			...(children.length === 0 ? [] : ["", ...children.map(childLabel).flatMap(wrap)]),
		];
		const offered = choices.flatMap(({ id, label }, index) =>
			wrap(`${index === this.#pointed ? ">" : " "} ${id}. ${label}`),
		);
		const room = Math.max(1, rows - offered.length - 1);
		const isCut = about.length > room;
		return [...(isCut ? [...about.slice(0, room - 1), "… (o opens the session)"] : about), "", ...offered];
	}

	/** `isOver` says that the agent no longer shows this dialog. */
	statusLine(name: string, isOver: boolean): StatusLine {
		const gone = isOver ? " (the question changed)" : "";
		if (this.#field) return { kind: "field", label: `answer ${name}${gone}:`, ...displayText(this.#field) };
		const keys = this.agent.choices.length === 0 ? "Esc" : `1-${this.agent.choices.length}/Esc`;
		return { kind: "question", text: `Answer ${name}${gone}?`, keys };
	}

	#pressInField(field: LineEditor, key: Key): GivenAnswer | undefined {
		if (key.kind !== "key" || key.value !== "Enter") field.press(key);
		else if (field.text.trim() !== "") return { answer: { text: field.text.trim() }, label: field.text.trim() };
		return undefined;
	}

	#point(by: 1 | -1): void {
		const last = this.agent.choices.length - 1;
		const next = this.#pointed === undefined ? (by > 0 ? 0 : last) : this.#pointed + by;
		this.#pointed = Math.max(0, Math.min(last, next));
	}
}
