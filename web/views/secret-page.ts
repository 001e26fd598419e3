/** The page where a user answers or refuses an agent's secret request. */

import type { SecretRequestMessage } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { href } from "../router.ts";
import type { App } from "../state/app.ts";
import { icon } from "./icons.ts";
import { mounted } from "./mounted.ts";
import { words } from "./text.ts";

export function secretPage(app: App, id: string): TemplateResult {
	const load = () => {
		void app.secret.load(id);
		return () => {};
	};
	return html`<main class="main center" id="content" ${mounted(load, id)}><div class="card">${content(app)}</div></main>`;
}

function content(app: App): TemplateResult {
	const state = app.secret.state.value;
	switch (state.kind) {
		case "asked":
			return form(app, state.request, state.problem);
		case "loading":
			return html`<p class="dim" role="status">Loading…</p>`;
		case "failed":
			return html`<p class="problem" role="alert">${state.message}</p>`;
		case "given":
		case "refused":
		case "over":
			return html`<h1 role="status">${words.secret[state.kind]}</h1>`;
	}
}

function form(app: App, request: SecretRequestMessage, problem: string | undefined): TemplateResult {
	const { session, program, prompt, askedBy, name, reason, source } = request;
	return html`<form @submit=${(event: SubmitEvent) => give(app, request, event)}>
		<h1>${words.secret.title(name)}</h1>
		<p>
			${program ?? "A program"} in
			<a href=${href({ view: "session", id: session.id, at: undefined })}>${session.name ?? session.id}</a> asks:
		</p>
		<p class="mono">${prompt}</p>
		<p class="dim">${words.secret.by(askedBy)}${reason === null ? nothing : html` ${words.secret.why(reason)}`}</p>
		${source ? html`<p class="dim">${words.secret.source(source.name, source.fault ?? "")}</p>` : nothing}
		<label class="lab"
			>Secret
			<span class="field tall secret"
				>${icon("lock", 14)}<input name="secret" type="password" autocomplete="off" required autofocus
			/></span>
		</label>
		<p class="problem" role="alert">${problem ?? nothing}</p>
		<p class="faint small">${words.answer.secret}</p>
		<button class="btn primary wide" type="submit">Give it to the program</button>
		<button class="btn quiet wide" type="button" @click=${() => app.secret.refuse(request)}>Refuse</button>
	</form>`;
}

function give(app: App, request: SecretRequestMessage, event: SubmitEvent): void {
	event.preventDefault();
	const form = event.currentTarget as HTMLFormElement;
	const text = String(new FormData(form).get("secret") ?? "");
	form.reset();
	void app.secret.give(request, text);
}
