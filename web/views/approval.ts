/** A held action: the whole action, and buttons to decide. */

import { type ApprovalMessage, approvalTitle, hasOutputSince } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { App } from "../state/app.ts";
import { glyph } from "./icons.ts";
import { formatDuration, words } from "./text.ts";

/** The held actions of a session, on its page. */
export function approvalBars(app: App, session: string): TemplateResult {
	const held = app.sessions.held.value.filter((one) => one.session.id === session);
	return html`${decisionError(app)}${repeat(
		held,
		({ id }) => id,
		(one) => approvalBar(app, one),
	)}`;
}

/** The reason why a decision had no effect, for a while. */
export function decisionError(app: App): TemplateResult | typeof nothing {
	const failure = app.decisions.failure.value;
	if (failure === undefined) return nothing;
	return html`<div class="banner" role="status">${glyph("quiet")}<span class="grow">${words.approval.notDone(failure)}</span></div>`;
}

/** Nothing if the caller may not decide. */
export function decisionButtons(app: App, approval: ApprovalMessage): TemplateResult | typeof nothing {
	if (!app.auth.may("operate", approval.session.workspace)) return nothing;
	const decide = (decision: "grant" | "deny") => (event: MouseEvent) => {
		const hasChanged = hasOutputSince(approval, app.sessions.all.value.get(approval.session.id));
		// The second click of a double click was meant for an earlier button.
		if (event.detail <= 1) void app.decisions.decide(approval, decision, hasChanged);
	};
	const grant = app.decisions.needsReconfirm(approval) ? words.approval.grantEvenSo : words.approval.grant;
	return html`<button class="btn primary" @click=${decide("grant")}>${grant}</button>
		<button class="btn" @click=${decide("deny")}>${words.approval.deny}</button>`;
}

/** Time left, why it was held if that is not obvious, and warnings. */
export function approvalDetails(app: App, approval: ApprovalMessage): string {
	const texts = [words.approval.left(formatDuration(approval.expiresAt - app.clock.now.value))];
	if (app.decisions.needsReconfirm(approval)) texts.unshift(words.approval.changed);
	const unreadable = approval.kind === "permission" ? words.approval.unreadableCommand : words.approval.unreadable;
	if (approval.reason === "unreadable") texts.unshift(unreadable);
	return texts.join(" ");
}

function approvalBar(app: App, approval: ApprovalMessage): TemplateResult {
	const title = approvalTitle(approval);
	return html`<div class="banner askbar approval ${app.aim.isBlocked.value ? "changing" : ""}" role="group" aria-label=${title}>
		${glyph("wait")}
		<div class="grow">
			<b>${title}</b> <span class="dim">${approvalDetails(app, approval)}</span>
			<pre class="mono" tabindex="0">${approval.preview.trimEnd()}</pre>
		</div>
		${decisionButtons(app, approval)}
	</div>`;
}
