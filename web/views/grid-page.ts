/** Tiles with thumbnails of many sessions, one of them live. */

import "../styles/terminal.css";
import { effect, signal, untracked } from "@preact/signals-core";
import { childrenLabel, groupSessions, type Need, needOf, type ScreenStream, type SessionInfo } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { go, href } from "../router.ts";
import type { App } from "../state/app.ts";
import type { Filter, Route } from "../state/route.ts";
import { emptyForm } from "../state/start-form.ts";
import type { OpenedTerminal } from "../terminal/open-terminal.ts";
import type { Tile } from "../terminal/screen-tile.ts";
import { tokensOf } from "../terminal/theme.ts";
import { banner } from "./connection-banner.ts";
import { answerStatus, dialogActions, dialogDetails } from "./dialog.ts";
import { endVisible } from "./end-visible.ts";
import { glyph, icon } from "./icons.ts";
import { mayStart } from "./list-page.ts";
import { mounted } from "./mounted.ts";
import { secretField } from "./need-row.ts";
import { sessionState } from "./session-state.ts";
import { gapText } from "./session-text.ts";
import { formatDuration, nameOf, words } from "./text.ts";

/**
 * The maximum of one stream of screens.
 * @limit tiles of a grid | the first ones are shown
 */
const MOST_TILES = 32;
const COLUMNS = [3, 4, 5] as const;
type Columns = (typeof COLUMNS)[number];
/** Font size of the live tile, in CSS pixels. */
const LIVE_FONT_PX = 11;

/** The displayed page, if any. */
let current: GridPage | undefined;
/** Kept across visits of the page. */
const columns = signal<Columns>(4);

export function gridPage(app: App, { filter }: Extract<Route, { view: "grid" }>): TemplateResult {
	if (!current || current.isOver) current = new GridPage(app);
	const page = current;
	return html`<main class="main" id="content" ${mounted(() => page.open(), page)}>${page.template(filter)}</main>`;
}

type Live = { readonly id: string; readonly pane: HTMLElement; opened: OpenedTerminal | undefined };

class GridPage {
	readonly #app: App;
	readonly #tiles = new Map<string, Tile>();
	readonly #live = signal<Live | undefined>(undefined);
	readonly #seen = new Set<string>();
	readonly #stopped = new AbortController();
	readonly #tileClass = signal<typeof Tile | undefined>(undefined);
	#screens: ScreenStream | undefined;
	#isOver = false;
	readonly #inView = new IntersectionObserver((entries) => {
		for (const { target, isIntersecting } of entries) {
			const { id } = (target as HTMLElement).dataset;
			if (id !== undefined) this.#seen[isIntersecting ? "add" : "delete"](id);
		}
		this.#choose();
	});
	readonly #resized = new ResizeObserver((entries) => {
		for (const { target } of entries) this.#tileOf(target)?.fit(tokensOf(target));
	});

	constructor(app: App) {
		this.#app = app;
	}

	get isOver(): boolean {
		return this.#isOver;
	}

	/** Called when the page is mounted; returns its cleanup. */
	open(): () => void {
		const choose = () => this.#choose();
		document.addEventListener("visibilitychange", choose);
		const stopStyling = effect(() => {
			void this.#app.settings.current.value;
			untracked(() => {
				for (const tile of this.#tiles.values()) if (tile.canvas.isConnected) tile.fit(tokensOf(tile.canvas));
			});
		});
		void this.#follow();
		return () => {
			this.#isOver = true;
			this.#stopped.abort();
			stopStyling();
			document.removeEventListener("visibilitychange", choose);
			this.#inView.disconnect();
			this.#resized.disconnect();
			this.#leave();
		};
	}

	template(filter: Filter): TemplateResult {
		const app = this.#app;
		const circumstances = app.circumstances.value;
		const all = app.sessions.all.value;
		const { needing, running, ended } = groupSessions(all.values(), filter, circumstances);
		const shown = [...needing.map(({ session }) => session), ...running, ...ended].slice(0, MOST_TILES);
		return html`
			<header class="bar">
				<h1>Grid</h1>
				<span class="faint">${shown.length} of ${all.size} · needs-you first</span>
				<span class="grow"></span>
				<span class="faint hint">Arrows move · Enter types · Ctrl ⇧ L leaves</span>
				<span class="seg columns" role="group" aria-label="Columns">
					${COLUMNS.map((count) => html`<button class=${count === columns.value ? "on" : ""} aria-pressed=${count === columns.value} @click=${() => (columns.value = count)}>${count}</button>`)}
				</span>
				<span class="seg" role="group" aria-label="View">
					<a href=${href({ view: "list", filter })}>${icon("list", 14)}List</a>
					<a class="on" aria-current="page" href=${href({ view: "grid", filter })}>${icon("grid", 14)}Grid</a>
				</span>
				${mayStart(app) ? html`<button class="btn primary start" @click=${() => app.dialogs.open({ kind: "start", form: emptyForm })}>${icon("plus", 14)}Start<kbd>N</kbd></button>` : nothing}
			</header>
			${banner(app)}
			${shown.length === 0 ? html`<div class="empty"><p>${words.empty.title}.</p></div>` : nothing}
			<div class="tiles ${app.aim.isBlocked.value ? "changing" : ""}" data-columns=${columns.value} @keydown=${(event: KeyboardEvent) => this.#pressed(event)}>
				${repeat(
					shown,
					({ id }) => id,
					(session) => this.#tile(session, needOf(session, circumstances), circumstances.now),
				)}
			</div>
		`;
	}

	#tile(session: SessionInfo, need: Need | undefined, now: number): TemplateResult {
		const { id } = session;
		const live = this.#live.value?.id === id ? this.#live.value : undefined;
		const state = sessionState(session, need, now);
		const answer = this.#app.answers.of(session, need);
		const isAsking = need?.kind === "asks" || need?.kind === "secret" || need?.kind === "approval";
		const Class = this.#tileClass.value;
		const word = live
			? "typing here"
			: isAsking
				? `waits ${formatDuration(now - need.since)}`
				: [state.word, childrenLabel(session.overview?.agent?.children ?? [])]
						.filter((text) => text !== "")
						.join(" · ");
		return html`<section
			class="tile ${live ? "live" : ""} ${isAsking ? "waits" : ""} ${session.state === "running" ? "" : "ended"}"
			data-id=${id}
			tabindex="0"
			aria-label="${nameOf(session)}, ${state.word}"
			@click=${() => void this.#enter(id)}
			${mounted((element) => this.#watch(element))}
		>
			<header>
				${glyph(state.glyph, 14)}<a class="name ell" href=${href({ view: "session", id, at: undefined })} @click=${(event: Event) => event.stopPropagation()}>${nameOf(session)}</a>
				<span class="age ${live ? "" : state.tone}">${word}</span>
			</header>
			${live ? live.pane : Class && session.mode === "pty" ? this.#picture(id, Class) : html`<p class="pic mono">${session.overview?.lastLine ?? ""}</p>`}
			${isAsking || answer ? html`<div class="ans" @click=${(event: Event) => event.stopPropagation()}>${isAsking ? this.#answers(session, need) : answer && answerStatus(answer)}</div>` : nothing}
		</section>`;
	}

	/** The buttons or field for the tile's need. Approvals open the session's page, which has enough space. */
	#answers(session: SessionInfo, need: Need): TemplateResult {
		const { id, workspace } = session;
		if (need.kind === "approval") {
			return html`<span class="grow ell">${need.approval.preview.trim()}</span>
				<a class="btn" href=${href({ view: "session", id, at: undefined })} aria-label="${words.approval.look}: ${nameOf(session)}">${words.approval.look}</a>`;
		}
		if (need.kind === "asks" && need.agent) {
			return html`<div class="q">${need.question}</div>
				${dialogDetails(need.agent)}
				<div class="act">${dialogActions(this.#app, session, need.agent)}</div>`;
		}
		const mayAnswer = this.#app.auth.may("operate", workspace);
		if (need.kind === "secret" && mayAnswer) return secretField(this.#app, session);
		const give = (choice: string) => void this.#app.answers.give(session, choice);
		return html`<span class="grow ell end">${endVisible(need.question)}</span>
			${mayAnswer ? need.choices.map((choice) => html`<button class="key" aria-label="Answer ${choice}" @click=${() => give(choice)}>${choice}</button>`) : nothing}`;
	}

	#picture(id: string, Class: typeof Tile): HTMLCanvasElement {
		const known = this.#tiles.get(id);
		if (known) return known.canvas;
		const tile = new Class();
		tile.canvas.className = "pic";
		tile.canvas.dataset.id = id;
		tile.canvas.setAttribute("role", "img");
		tile.canvas.setAttribute("aria-label", "Screen");
		this.#tiles.set(id, tile);
		this.#resized.observe(tile.canvas);
		queueMicrotask(() => this.#choose());
		return tile.canvas;
	}

	#watch(element: HTMLElement): () => void {
		this.#inView.observe(element);
		// Updated only on focus: a description that changes ten times a second would never be read to the end.
		const describePicture = () => {
			const tile = this.#tiles.get(element.dataset.id ?? "");
			tile?.canvas.setAttribute("aria-label", tile.lastLine || "Nothing");
		};
		element.addEventListener("focus", describePicture);
		return () => {
			this.#inView.unobserve(element);
			element.removeEventListener("focus", describePicture);
		};
	}

	#tileOf(element: Element): Tile | undefined {
		return this.#tiles.get((element as HTMLElement).dataset.id ?? "");
	}

	/** Requests only the visible tiles. */
	#choose(): void {
		const isSeen = (id: string) => this.#seen.has(id) && this.#live.peek()?.id !== id;
		this.#screens?.show(document.hidden ? [] : [...this.#tiles.keys()].filter(isSeen));
	}

	async #follow(): Promise<void> {
		const { Tile } = await import("../terminal/screen-tile.ts");
		const { signal: stopped } = this.#stopped;
		this.#tileClass.value = Tile;
		this.#screens = this.#app.client.screens({ signal: stopped });
		this.#choose();
		try {
			for await (const item of this.#screens) {
				if (item.kind === "screen") this.#tiles.get(item.screen.session)?.show(item.screen);
			}
		} catch {
			// The sign-in has expired, which the list detects, too.
		}
	}

	/** Makes this tile live. */
	async #enter(id: string): Promise<void> {
		if (this.#live.peek()?.id === id) return;
		this.#leave();
		const pane = document.createElement("div");
		pane.className = "pane";
		const live: Live = { id, pane, opened: undefined };
		this.#live.value = live;
		this.#choose();
		const [session, { openTerminal }] = await Promise.all([
			this.#app.client.sessions.get(id),
			import("../terminal/open-terminal.ts"),
			new Promise(requestAnimationFrame),
		]);
		if (this.#live.peek() !== live || this.#isOver) return;
		const { screenReaderMode, clipboardSessions } = this.#app.settings.current.peek();
		live.opened = openTerminal(pane, {
			session,
			canType: this.#app.auth.may("operate", session.snapshot.workspace),
			// A tile must not shrink a program's terminal.
			neverResizes: true,
			fontSize: LIVE_FONT_PX,
			screenReaderMode: screenReaderMode,
			mayUseClipboard: clipboardSessions.includes(id),
			describeGap: (gap) => gapText(gap, session.snapshot),
			onKey: (key) => {
				if (key === "leave") this.#leaveTo(id);
				if (key === "go-to") this.#app.dialogs.open({ kind: "palette" });
			},
			hasKeyBar: false,
		});
		live.opened.terminal.focus();
	}

	#leave(): void {
		void this.#live.peek()?.opened?.terminal.dispose();
		this.#live.value = undefined;
	}

	#leaveTo(id: string): void {
		const tile = this.#live.peek()?.pane.closest<HTMLElement>(".tile");
		this.#leave();
		this.#choose();
		(tile ?? document.querySelector<HTMLElement>(`.tile[data-id="${CSS.escape(id)}"]`))?.focus();
	}

	#pressed(event: KeyboardEvent): void {
		const tile = event.target as HTMLElement;
		const { id } = tile.dataset;
		// In the live tile all keys go to the program.
		if (!tile.classList.contains("tile") || id === undefined) return;
		const steps: Record<string, number> = {
			ArrowLeft: -1,
			ArrowRight: 1,
			ArrowUp: -columns.peek(),
			ArrowDown: columns.peek(),
		};
		const step = steps[event.key];
		if (step !== undefined) {
			const tiles = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".tile")];
			tiles[tiles.indexOf(tile) + step]?.focus();
		} else if (event.key === "Enter" && event.ctrlKey) go({ view: "session", id, at: undefined });
		else if (event.key === "Enter") void this.#enter(id);
		else return;
		event.preventDefault();
	}
}
