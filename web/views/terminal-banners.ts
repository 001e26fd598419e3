/** Banners below a terminal: disconnected, refused, control taken, paste, ended. */

import { signal } from "@preact/signals-core";
import { callerName, type HawserError, isFailure, needOf, type SessionMessage } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { href } from "../router.ts";
import type { App } from "../state/app.ts";
import { isSignedOut } from "../state/auth.ts";
import { lineCount } from "../terminal/paste.ts";
import type { SessionTerminal } from "../terminal/session-terminal.ts";
import type { TerminalState } from "../terminal/terminal-state.ts";
import { approvalBars } from "./approval.ts";
import { SHORT_CUT_MS } from "./connection-banner.ts";
import { glyph, icon } from "./icons.ts";
import { runAgain } from "./session-actions.ts";
import { clipboardText, type Message, pasteText, takenOverText } from "./session-text.ts";
import { sessionGlyph } from "./session-title.ts";
import { formatDuration, longEnd, nameOf, words } from "./text.ts";

export class TerminalBanners {
	readonly #app: App;
	/** Whether the user has dismissed the view-only hint. */
	readonly #isHintDismissed = signal(false);

	constructor(app: App) {
		this.#app = app;
	}

	template(terminal: SessionTerminal, state: TerminalState): TemplateResult {
		const { connection, session, control, refusedKeys, paste, clipboard } = state;
		const now = performance.now();
		return html`
			${
				connection.kind === "away" && now - connection.since >= SHORT_CUT_MS
					? banner(
							glyph("quiet"),
							words.away(secondsUntil(connection.retryAt, now)),
							html`<button class="btn primary" @click=${() => terminal.reconnectNow()}>Try now</button>`,
						)
					: nothing
			}
			${connection.kind === "over" ? this.#refusal(connection.error) : nothing}
			${
				control.kind === "other" && control.takenAt !== undefined
					? banner(
							icon("eye"),
							["View only.", takenOverText(control.holder, now - control.takenAt, refusedKeys)],
							html`<button class="btn" @click=${() => void terminal.takeOver()}>Take control</button>`,
						)
					: nothing
			}
			${approvalBars(this.#app, session.id)}
			${this.#watchHint(terminal, state)}
			${paste === undefined ? nothing : pasteBanner(terminal, paste)}
			${clipboard === undefined ? nothing : this.#clipboardBanner(terminal, session, clipboard)}
			${session.state === "running" ? nothing : this.#endBanner(session)}
		`;
	}

	/** The question, if it is out of view or the terminal is as small as a phone's. */
	question(
		terminal: SessionTerminal,
		{ session, isScrolledBack }: TerminalState,
		{ isOutOfView }: { readonly isOutOfView: boolean },
	): TemplateResult | typeof nothing {
		const { clock, circumstances, sessions } = this.#app;
		const listed = sessions.all.value.get(session.id);
		const need = listed && needOf(listed, circumstances.value);
		if (
			!listed ||
			need?.kind !== "asks" ||
			need.agent ||
			!isOutOfView ||
			!this.#app.auth.may("operate", session.workspace)
		)
			return nothing;
		return html`<div class="banner askbar">
			${glyph("wait")}<b>Asks</b><span class="dim">· waits ${formatDuration(clock.now.value - need.since)}</span>
			${isScrolledBack ? html`<span class="question mono grow">${need.question}</span>` : html`<span class="grow"></span>`}
			${need.choices.map((choice) => html`<button class="key" aria-label="Answer ${choice}" @click=${() => void this.#app.answers.give(listed, choice)}>${choice}</button>`)}
			${isScrolledBack ? html`<button class="btn quiet" @click=${() => terminal.scrollToEnd()}>Go to the end</button>` : nothing}
		</div>`;
	}

	/** Shown once on a key press, to explain why it has no effect. */
	#watchHint(
		terminal: SessionTerminal,
		{ control, refusedKeys, session }: TerminalState,
	): TemplateResult | typeof nothing {
		if (refusedKeys === 0 || this.#isHintDismissed.value || session.state !== "running") return nothing;
		const dismiss = html`<button class="btn quiet" @click=${() => (this.#isHintDismissed.value = true)}>Dismiss</button>`;
		if (control.kind === "view-only")
			return banner(icon("eye"), ["View only.", words.onlyWatching(this.#app.auth.isGuest)], dismiss);
		if (control.kind !== "other" || control.takenAt !== undefined) return nothing;
		const take = html`<button class="btn" @click=${() => void terminal.takeOver()}>Take control</button>${dismiss}`;
		return banner(icon("eye"), [`View only: ${callerName(control.holder)} has control.`, ""], take);
	}

	#refusal(error: HawserError): TemplateResult {
		if (!isSignedOut(error)) return banner(icon("lock"), ["Disconnected.", error.message], nothing);
		if (this.#app.auth.isGuest) return banner(icon("lock"), words.guestEnded, nothing);
		const signIn = () => this.#app.auth.onUnauthorized();
		return banner(icon("lock"), words.signedOut, html`<button class="btn primary" @click=${signIn}>Sign in</button>`);
	}

	#endBanner(session: SessionMessage): TemplateResult {
		const look = isFailure(session) ? "primary" : "";
		const again = html`<button class="btn ${look}" @click=${() => void runAgain(this.#app, session)}>Run again</button>`;
		return banner(
			sessionGlyph(this.#app, session),
			longEnd(session),
			html`<a class="btn" href=${href({ view: "playback", id: session.id, at: undefined })}>Playback</a>
				${this.#app.auth.may("manage", session.workspace) && !this.#app.auth.isGuest ? again : nothing}`,
		);
	}

	#clipboardBanner(terminal: SessionTerminal, session: SessionMessage, text: string): TemplateResult {
		const allow = () => {
			terminal.confirmClipboard(true);
			const { settings } = this.#app;
			settings.change({ clipboardSessions: [...settings.current.peek().clipboardSessions, session.id] });
		};
		return banner(
			icon("copy"),
			clipboardText(nameOf(session), text),
			html`<button class="btn" @click=${allow}>Allow for this session</button>
				<button class="btn" @click=${() => terminal.confirmClipboard(false)}>Deny</button>`,
		);
	}
}

function banner(sign: unknown, [lead, rest]: Message, actions: unknown): TemplateResult {
	return html`<div class="banner" role="status">${sign}<span class="grow"><b>${lead}</b> <span class="dim">${rest}</span></span>${actions}</div>`;
}

function pasteBanner(terminal: SessionTerminal, text: string): TemplateResult {
	return banner(
		icon("copy"),
		pasteText(lineCount(text)),
		html`<button class="btn" @click=${() => terminal.confirmPaste("not")}>Cancel</button>
			<button class="btn" @click=${() => terminal.confirmPaste("as-one-line")}>Paste as one line</button>
			<button class="btn primary" @click=${() => terminal.confirmPaste("as-it-is")}>Paste</button>`,
	);
}

function secondsUntil(moment: number, now: number): number {
	return Math.max(0, Math.ceil((moment - now) / 1000));
}
