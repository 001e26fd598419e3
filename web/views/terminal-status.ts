/** The line below a terminal: how it is connected, what is waited for, how large it is, and how much was written. */

import type { Need } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { Connection, TerminalState } from "../terminal/terminal-state.ts";
import { backText } from "./session-words.ts";
import { clockTime, size, span, words } from "./words.ts";

/** How long it is said that the connection is back, or that no earlier command is known. */
const SAID_MS = 8_000;

type StatusOptions = {
	/** What it needs while it runs, if it does. */
	readonly need: Need | undefined;
	/** The time of day, and that at which this page was attached. */
	readonly now: number;
	readonly attachedAt: number;
	readonly scrollToEnd: () => void;
	/** Undefined for who may not, or where it can't be changed. */
	readonly useOwnSize: (() => void) | undefined;
};

export function statusLine(state: TerminalState, options: StatusOptions): TemplateResult {
	const { connection, session, offset, missedBytes, latencyMs, isScrolledBack, unknownCommandAt } = state;
	const { need, now, attachedAt, scrollToEnd } = options;
	const moment = performance.now();
	const back = connection.kind === "live" ? connection.isBack : undefined;
	const isBack = back !== undefined && moment - back.at < SAID_MS;
	const isUnknown = unknownCommandAt !== undefined && moment - unknownCommandAt < SAID_MS;
	return html`<footer class="status">
		${connectionTemplate(connection, moment, latencyMs)}
		${isBack ? html`<span>${backText(back.afterMs, missedBytes - back.missedBytes)}</span>` : nothing}
		${isUnknown ? html`<span role="status">${words.noEarlierCommand}</span>` : nothing}
		${need ? html`<span class="wait">${waitText(need, now)}</span>` : nothing}
		<span class="grow"></span>
		${isScrolledBack ? html`<button class="btn quiet small" @click=${scrollToEnd}>Go to the end</button>` : nothing}
		${isBack ? nothing : html`<span class="wide">${missedText(missedBytes, attachedAt)}</span>`}
		${session.mode === "pipe" ? html`<span class="wide">stderr is <i class="stderr">red and slanted</i></span>` : sizeTemplate(state, options)}
		<span class="wide">${size(offset)}</span>
	</footer>`;
}

function sizeTemplate(state: TerminalState, { useOwnSize }: StatusOptions): TemplateResult {
	const { size: shown, room, session } = state;
	const isOther = room !== undefined && isOtherSize(state);
	const more = isOther
		? `; this window has room for ${room.cols} × ${room.rows}`
		: session.state === "running"
			? ", set by whoever types"
			: "";
	return html`<span>${shown.cols} × ${shown.rows}<span class="wide">${more}</span></span>
		${isOther && useOwnSize ? html`<button class="btn quiet small wide" @click=${useOwnSize}>Use my size</button>` : nothing}`;
}

function connectionTemplate(connection: Connection, now: number, latencyMs: number | undefined): TemplateResult {
	switch (connection.kind) {
		case "connecting":
			return html`<span class="row"><span class="dot off"></span>Connecting…</span>`;
		case "away":
			return html`<span class="row wait"><span class="dot off"></span>${words.reconnecting(Math.floor((now - connection.since) / 1000))}</span><span class="wide">${words.programGoesOn}</span>`;
		case "over":
			return html`<span class="row"><span class="dot off"></span>Not attached</span>`;
		case "live":
			return html`<span class="row"><span class="dot"></span>Live${latencyMs === undefined ? "" : ` · ${Math.max(1, Math.round(latencyMs))} ms`}</span>`;
	}
}

/** In all, which is not said beside what was missed while it was away. */
function missedText(missedBytes: number, attachedAt: number): string {
	const since = `since ${clockTime(attachedAt)}`;
	return missedBytes === 0 ? `Nothing missed ${since}` : `${size(missedBytes)} missed ${since}`;
}

function waitText({ kind, since }: Need, now: number): string {
	const long = span(now - since);
	if (kind === "secret") return `Waits for a secret · ${long}`;
	if (kind === "approval") return `Waits for approval · ${long}`;
	return kind === "asks" ? `Waits for an answer · ${long}` : `Quiet for ${long}`;
}

/** Whether its size is another than the room for it here. */
export function isOtherSize({ size: shown, room, session }: TerminalState): boolean {
	return session.mode === "pty" && room !== undefined && (room.cols !== shown.cols || room.rows !== shown.rows);
}
