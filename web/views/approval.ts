/** What an agent wants to do and does not do alone: the whole of it, and two buttons. */

import type { ApprovalMessage } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { App } from "../state/app.ts";
import { glyph } from "./glyph.ts";
import { span, words } from "./words.ts";

/** Of one session, or of all. */
export function approvals(app: App, session?: string): TemplateResult | typeof nothing {
	const waiting = app.approvals.all.value.filter((one) => session === undefined || one.session.id === session);
	const failure = app.approvals.failure.value;
	if (waiting.length === 0 && failure === undefined) return nothing;
	return html`<section aria-label=${words.approval.title}>
		${failure === undefined ? nothing : html`<div class="banner" role="status">${glyph("quiet")}<span class="grow">${words.approval.notDone(failure)}</span></div>`}
		${repeat(
			waiting,
			({ id }) => id,
			(one) => bar(app, one, session === undefined),
		)}
	</section>`;
}

function bar(app: App, approval: ApprovalMessage, namesSession: boolean): TemplateResult {
	const { kind, by, session, preview, expiresAt, reason } = approval;
	const where = namesSession ? (session.name ?? session.id) : undefined;
	const left = span(expiresAt - app.clock.now.value);
	const mayDecide = app.auth.may("operate", session.workspace);
	return html`<div class="banner askbar approval" role="group" aria-label=${words.approval.wants(by.name, kind, where)}>
		${glyph("wait")}
		<div class="grow">
			<b>${words.approval.wants(by.name, kind, where)}</b>
			<span class="dim">${reason === "unreadable" ? words.approval.unreadable : ""} ${words.approval.left(left)}</span>
			<pre class="mono">${preview.trimEnd()}</pre>
		</div>
		${
			mayDecide
				? html`<button class="btn primary" @click=${() => void app.approvals.decide(approval, "grant")}>${words.approval.grant}</button>
						<button class="btn" @click=${() => void app.approvals.decide(approval, "deny")}>${words.approval.deny}</button>`
				: nothing
		}
	</div>`;
}
