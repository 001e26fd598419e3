/** The dialog of a coding agent: what it asks, and buttons and a field to answer it. */

import { type AgentMessage, childLabel, type SessionInfo } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { Answer } from "../state/answers.ts";
import type { App } from "../state/app.ts";
import { glyph } from "./icons.ts";
import { clockTime, nameOf, words } from "./text.ts";

/** The subject of the question, such as a command or a diff, without blank lines. */
export function dialogDetails({ details }: AgentMessage): TemplateResult | typeof nothing {
	if (details === null) return nothing;
	return html`<pre class="details mono" tabindex="0">${details.trimEnd().replace(/\n\s*\n/g, "\n")}</pre>`;
}

/** Subagents and background tasks; nothing without any. */
export function agentChildren({ children }: AgentMessage): TemplateResult | typeof nothing {
	if (children.length === 0) return nothing;
	return html`<ul class="children" aria-label="Subagents">
		${children.map((child) => html`<li class=${child.state === "blocked" ? "wait" : nothing}>${childLabel(child)}</li>`)}
	</ul>`;
}

/**
 * The choices of the open dialog, and the outcome of the last answer. An error stays beside the buttons until it was read.
 * A viewer gets no buttons.
 */
export function dialogActions(app: App, session: SessionInfo, agent: AgentMessage): TemplateResult {
	const answer = app.answers.of(session, undefined);
	const isError = answer?.kind === "late" || answer?.kind === "failed";
	const isAnswered = answer && !isError && answer.session.overview?.agent?.episode === agent.episode;
	if (isAnswered) return answerStatus(answer);
	return html`${isError ? answerStatus(answer) : nothing}${isOpen(app, session, agent) ? choices(app, session, agent) : nothing}`;
}

/** The list keeps a row for the outcome of its answer when the dialog has gone. */
function isOpen(app: App, { id }: SessionInfo, { episode }: AgentMessage): boolean {
	const now = app.sessions.all.value.get(id)?.overview?.agent;
	return now?.state === "blocked" && now.episode === episode;
}

function choices(app: App, session: SessionInfo, agent: AgentMessage): TemplateResult {
	if (agent.choices.length === 0) return html`<span class="faint">${words.dialog.unread}</span>`;
	if (!app.auth.may("operate", session.workspace)) {
		return html`<ol class="offered">${agent.choices.map(({ label }) => html`<li>${label}</li>`)}</ol>`;
	}
	return html`${agent.choices.map((choice, index) =>
		choice.takesText ? textField(app, session, choice.label) : choiceButton(app, session, choice, index === 0),
	)}`;
}

function choiceButton(
	app: App,
	session: SessionInfo,
	{ id, label }: AgentMessage["choices"][number],
	isFirst: boolean,
): TemplateResult {
	const choose = (event: MouseEvent) => {
		// The second click of a double click was meant for an earlier button.
		if (event.detail <= 1) void app.answers.choose(session, { choice: id }, label);
	};
	return html`<button class="key choice" ?data-answer=${isFirst} @click=${choose}>
		<kbd>${id}</kbd> <span>${label}</span>
	</button>`;
}

function textField(app: App, session: SessionInfo, label: string): TemplateResult {
	const send = (event: SubmitEvent) => {
		event.preventDefault();
		const form = event.currentTarget as HTMLFormElement;
		const text = String(new FormData(form).get("text") ?? "").trim();
		if (text !== "") void app.answers.choose(session, { text }, text);
	};
	return html`<form class="field choice" @submit=${send}>
		<input
			name="text"
			autocomplete="off"
			placeholder=${label}
			aria-label="Answer ${nameOf(session)} in your own words"
			data-answer
		/><kbd>Enter</kbd>
	</form>`;
}

/** The outcome of an answer. */
export function answerStatus(answer: Answer): TemplateResult {
	switch (answer.kind) {
		case "sending":
			return html`<span class="outcome" role="status">${words.answer.sending}</span>`;
		case "taken": {
			const time = clockTime(answer.at);
			const sentence =
				answer.text === undefined ? words.answer.secretTaken(time) : words.answer.taken(answer.text, time);
			return html`<span class="outcome" role="status">${glyph("ok")}<span>${sentence}</span></span>`;
		}
		case "late":
			return html`<span class="outcome bad" role="status">${words.answer.late}</span>`;
		case "failed":
			return html`<span class="outcome bad" role="status">${words.answer.failed(answer.message)}</span>`;
	}
}
