/** The status line: connection, need, size, and amount of output. */

import type { Need } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { Connection, TerminalState } from "../terminal/terminal-state.ts";
import { reconnectedText } from "./session-text.ts";
import { clockTime, formatDuration, size, words } from "./text.ts";

/** How long a reconnect, or the lack of an earlier command, is displayed. */
const SAID_MS = 8_000;

type StatusOptions = {
	/** The need of a running session, if any. */
	readonly need: Need | undefined;
	/** The current time, and when this page attached. */
	readonly now: number;
	readonly attachedAt: number;
	readonly scrollToEnd: () => void;
	/** Undefined if the caller may not resize, or the size can't be changed. */
	readonly useOwnSize: (() => void) | undefined;
};

export function statusLine(state: TerminalState, options: StatusOptions): TemplateResult {
	const { connection, session, offset, missedBytes, latencyMs, isScrolledBack, unknownCommandAt } = state;
	const { need, now, attachedAt, scrollToEnd } = options;
	const moment = performance.now();
	const back = connection.kind === "live" ? connection.reconnected : undefined;
	const isBack = back !== undefined && moment - back.at < SAID_MS;
	const isUnknown = unknownCommandAt !== undefined && moment - unknownCommandAt < SAID_MS;
	return html`<footer class="status">
		${connectionTemplate(connection, moment, latencyMs)}
		${isBack ? html`<span>${reconnectedText(back.afterMs, missedBytes - back.missedBytes)}</span>` : nothing}
		${isUnknown ? html`<span role="status">${words.noEarlierCommand}</span>` : nothing}
		${need ? html`<span class="wait">${waitText(need, now)}</span>` : nothing}
		<span class="grow"></span>
		${isScrolledBack ? html`<button class="btn quiet small" @click=${scrollToEnd}>Go to the end</button>` : nothing}
		${isBack ? nothing : html`<span class="wide">${missedText(missedBytes, attachedAt)}</span>`}
		${session.mode === "pipe" ? html`<span class="wide">stderr is <i class="stderr">red and italic</i></span>` : sizeTemplate(state, options)}
		${offset === undefined ? nothing : html`<span class="wide">${size(offset)}</span>`}
	</footer>`;
}

function sizeTemplate(state: TerminalState, { useOwnSize }: StatusOptions): TemplateResult {
	const { size: shown, room, session } = state;
	const isOther = room !== undefined && isOtherSize(state);
	const more = isOther
		? ` (window: ${room.cols} × ${room.rows})`
		: session.state === "running"
			? " · follows the last writer"
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
			return html`<span class="row"><span class="dot off"></span>Disconnected</span>`;
		case "live":
			return html`<span class="row"><span class="dot"></span>Live${latencyMs === undefined ? "" : ` · ${Math.max(1, Math.round(latencyMs))} ms`}</span>`;
	}
}

/** The total, except while a recent interruption is displayed. */
function missedText(missedBytes: number, attachedAt: number): string {
	const since = `since ${clockTime(attachedAt)}`;
	return missedBytes === 0 ? `No output missed ${since}` : `${size(missedBytes)} missed ${since}`;
}

function waitText({ kind, since }: Need, now: number): string {
	const long = formatDuration(now - since);
	if (kind === "secret") return `Waits for a secret · ${long}`;
	if (kind === "approval") return `Waits for approval · ${long}`;
	return kind === "asks" ? `Waits for an answer · ${long}` : `Quiet for ${long}`;
}

/** Whether the session's size differs from what fits here. */
export function isOtherSize({ size: shown, room, session }: TerminalState): boolean {
	return session.mode === "pty" && room !== undefined && (room.cols !== shown.cols || room.rows !== shown.rows);
}
