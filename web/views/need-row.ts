/** A row for a session that needs attention, with its question and the controls to answer it. */

import { approvalTitle, commandText, type Need, type SessionInfo, type SessionNeed } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { href } from "../router.ts";
import type { App } from "../state/app.ts";
import { approvalDetails, decisionButtons } from "./approval.ts";
import { agentChildren, answerStatus, dialogActions, dialogDetails } from "./dialog.ts";
import { endVisible } from "./end-visible.ts";
import { glyph, icon } from "./icons.ts";
import { ariaLabel, open, runAgain } from "./session-actions.ts";
import { sessionState } from "./session-state.ts";
import { formatDuration, nameOf, words } from "./text.ts";

export function needRow(app: App, { session, need }: SessionNeed, isFirst: boolean): TemplateResult {
	const now = app.clock.now.value;
	const state = sessionState(session, need, now);
	const answer = app.answers.of(session, need);
	const agent = need.kind === "asks" ? need.agent : undefined;
	const isAsking = need.kind === "asks" || need.kind === "secret" || need.kind === "approval";
	const since = formatDuration(now - need.since);
	const isSelected = app.selected.value === session.id || (isFirst && app.selected.value === undefined);
	return html`<li
		class="need ${isAsking ? "asks" : ""} ${need.kind} ${agent ? "dialog" : ""}"
		data-row=${session.id}
		tabindex=${isSelected ? 0 : -1}
		aria-label="${ariaLabel(session, state.word, need.question)}, ${isAsking ? `waits ${since}` : since}"
		@focusin=${() => {
			app.selected.value = session.id;
		}}
	>
		${glyph(state.glyph)}
		<div class="who">
			${
				app.sessions.all.value.has(session.id)
					? html`<a class="name ell" tabindex="-1" href=${href({ view: "session", id: session.id, at: undefined })}>${nameOf(session)}</a>`
					: html`<span class="name ell">${nameOf(session)}</span>`
			}
			<div class="cmd ell">${commandText(session.argv)}</div>
		</div>
		<div class="what">
			<div class="why"><b class=${state.tone}>${capital(state.word)}</b>${needReason(app, session, need)}</div>
			${question(need)}
		</div>
		<div class="act">
			${agent ? html`${dialogActions(app, session, agent)}${agent.choices.length === 0 ? openButton(app, session) : nothing}` : answer ? answerStatus(answer) : actions(app, session, need)}
		</div>
	</li>`;
}

/** A held action is shown completely, because the user decides on all of it. */
function question(need: Need): TemplateResult {
	switch (need.kind) {
		case "approval":
			return html`<pre class="q" tabindex="0">${need.approval.preview.trimEnd()}</pre>`;
		case "asks":
			if (need.agent) {
				return html`${need.agent.question === null ? nothing : html`<div class="q">${need.question}</div>`}
					${dialogDetails(need.agent)}${agentChildren(need.agent)}`;
			}
			return html`<div class="q ell end">${endVisible(need.question)}</div>`;
		case "secret":
			return html`<div class="q ell end">${endVisible(need.question)}</div>`;
		case "failed":
		case "quiet":
			return html`<div class="q ell">${need.question}</div>`;
	}
}

function needReason(app: App, session: SessionInfo, need: Need): string {
	const { kind } = need;
	const since = formatDuration(app.clock.now.value - need.since);
	if (kind === "approval") return ` · ${approvalTitle(need.approval)} ${approvalDetails(app, need.approval)}`;
	if (kind === "failed") return ` · ${since} ago`;
	if (kind === "quiet") return `, it usually prints every ${formatDuration(session.overview?.usualIntervalMs ?? 0)}`;
	if (kind === "asks" && need.agent) return ` · ${need.agent.app} · waits ${since}`;
	return ` · waits ${since}`;
}

function actions(app: App, session: SessionInfo, need: Need): unknown {
	const { workspace } = session;
	if (need.kind === "approval") return decisionButtons(app, need.approval);
	if (need.kind === "asks" || need.kind === "secret") {
		if (!app.auth.may("operate", workspace)) return openButton(app, session);
		return need.kind === "secret" ? secretField(app, session) : answerField(app, session, need.choices);
	}
	return html`${openButton(app, session)}
		${
			need.kind === "failed"
				? app.auth.may("manage", workspace) &&
					html`<button class="btn" @click=${() => runAgain(app, session)}>Run again</button>`
				: app.auth.may("operate", workspace) &&
					html`<button class="btn" @click=${() => app.client.sessions.at(session.id).keys(["C-c"])}>Send Ctrl-C</button>`
		}
		<button class="btn quiet" @click=${() => app.dismiss(session)}>Dismiss</button>`;
}

function openButton(app: App, session: SessionInfo): TemplateResult {
	return html`<button class="btn" @click=${() => open(app, session)}>Open</button>`;
}

function answerField(app: App, session: SessionInfo, choices: readonly string[]): TemplateResult {
	return html`${choices.map(
		(choice) =>
			html`<button class="key" aria-label="Answer ${choice}" @click=${() => app.answers.give(session, choice)}>
				${choice}
			</button>`,
	)}
		<form class="field" @submit=${(event: SubmitEvent) => give(app, session, event)}>
			<input
				name="answer"
				autocomplete="off"
				spellcheck="false"
				placeholder="Type an answer"
				aria-label="Answer to ${nameOf(session)}"
				data-answer
			/><kbd>Enter</kbd>
		</form>`;
}

export function secretField(app: App, session: SessionInfo): TemplateResult {
	return html`<form class="field secret" @submit=${(event: SubmitEvent) => give(app, session, event)}>
		${icon("lock", 14)}<input
			name="answer"
			type="password"
			autocomplete="off"
			placeholder="Sent only to the program"
			aria-label="Secret for ${nameOf(session)}. ${words.answer.secret}"
			data-answer
		/><kbd>Enter</kbd>
	</form>`;
}

function give(app: App, session: SessionInfo, event: SubmitEvent): void {
	event.preventDefault();
	const form = event.currentTarget as HTMLFormElement;
	const text = String(new FormData(form).get("answer") ?? "");
	form.reset();
	void app.answers.give(session, text);
}

function capital(word: string): string {
	return word.charAt(0).toUpperCase() + word.slice(1);
}
