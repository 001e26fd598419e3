/** What an agent wants to do and does not do alone: the whole of it, and two buttons. */

import { type ApprovalMessage, hasChangedSince, wantsSentence } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { App } from "../state/app.ts";
import { glyph } from "./glyph.ts";
import { span, words } from "./words.ts";

/** All that is held in a session, on its own page. */
export function approvals(app: App, session: string): TemplateResult {
	const held = app.sessions.held.value.filter((one) => one.session.id === session);
	return html`${decisionFailure(app)}${repeat(
		held,
		({ id }) => id,
		(one) => bar(app, one),
	)}`;
}

/** Why a decision came to nothing, for a while. */
export function decisionFailure(app: App): TemplateResult | typeof nothing {
	const failure = app.decisions.failure.value;
	if (failure === undefined) return nothing;
	return html`<div class="banner" role="status">${glyph("quiet")}<span class="grow">${words.approval.notDone(failure)}</span></div>`;
}

/** Nothing for who may not decide. */
export function decisionButtons(app: App, approval: ApprovalMessage): TemplateResult | typeof nothing {
	if (!app.auth.may("operate", approval.session.workspace)) return nothing;
	const decide = (decision: "grant" | "deny") => (event: MouseEvent) => {
		const hasChanged = hasChangedSince(approval, app.sessions.all.value.get(approval.session.id));
		// The second of two clicks was meant for what stood there before.
		if (event.detail <= 1) void app.decisions.decide(approval, decision, hasChanged);
	};
	const grant = app.decisions.isDoubted(approval) ? words.approval.grantEvenSo : words.approval.grant;
	return html`<button class="btn primary" @click=${decide("grant")}>${grant}</button>
		<button class="btn" @click=${decide("deny")}>${words.approval.deny}</button>`;
}

/** How long it is held still, why if that is not plain, and what speaks against it. */
export function heldText(app: App, approval: ApprovalMessage): string {
	const texts = [words.approval.left(span(approval.expiresAt - app.clock.now.value))];
	if (app.decisions.isDoubted(approval)) texts.unshift(words.approval.changed);
	if (approval.reason === "unreadable") texts.unshift(words.approval.unreadable);
	return texts.join(" ");
}

function bar(app: App, approval: ApprovalMessage): TemplateResult {
	const title = wantsSentence(approval);
	return html`<div class="banner askbar approval ${app.aim.isChanging.value ? "changing" : ""}" role="group" aria-label=${title}>
		${glyph("wait")}
		<div class="grow">
			<b>${title}</b> <span class="dim">${heldText(app, approval)}</span>
			<pre class="mono" tabindex="0">${approval.preview.trimEnd()}</pre>
		</div>
		${decisionButtons(app, approval)}
	</div>`;
}
