/** One session in its terminal: header above, banners and status line below. */

import "../styles/terminal.css";
import { computed, effect, signal, untracked } from "@preact/signals-core";
import { callerName, HawserError, type LoadedSession, type Need, needOf, type SessionMessage } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { go, href } from "../router.ts";
import type { App } from "../state/app.ts";
import { isSignedOut, type Right } from "../state/auth.ts";
import { noFilter, type Route } from "../state/route.ts";
import { fontSizes, type Settings } from "../state/settings.ts";
import type { OwnKey } from "../terminal/key-encoding.ts";
import type { OpenedTerminal } from "../terminal/open-terminal.ts";
import type { SessionTerminal } from "../terminal/session-terminal.ts";
import type { TerminalState } from "../terminal/terminal-state.ts";
import { AgentBar } from "./agent-bar.ts";
import { icon } from "./icons.ts";
import { mounted } from "./mounted.ts";
import { playbackPage } from "./playback-page.ts";
import { SearchPanel } from "./search-panel.ts";
import { gapText } from "./session-text.ts";
import { sessionTitle } from "./session-title.ts";
import { SharePanel } from "./share-panel.ts";
import { TerminalBanners } from "./terminal-banners.ts";
import { isOtherSize, statusLine } from "./terminal-status.ts";

/** The displayed page, if any. */
let current: TerminalPage | undefined;

export function terminalPage(app: App, { id, at }: Extract<Route, { view: "session" }>): TemplateResult {
	if (at !== undefined) return playbackPage(app, { view: "playback", id, at });
	if (current?.id !== id || current.isOver) current = new TerminalPage(app, id);
	const page = current;
	return html`<main class="main" id="content" ${mounted(() => page.open(), page)}>${page.template()}</main>`;
}

/** Interval for texts with seconds. */
const TICK_MS = 1_000;
/** Default font size on phones, in CSS pixels. */
const PHONE_FONT_PX = 12;
/** Touch devices, whose keyboard covers half of the page. */
const isTouched = () => matchMedia("(pointer: coarse)").matches;
/** As in phone.css. */
const isNarrow = () => matchMedia("(max-width: 639px)").matches;
const shownSize = (fontSize: number) => (isTouched() && fontSize === fontSizes.usual ? PHONE_FONT_PX : fontSize);

class TerminalPage {
	readonly id: string;
	readonly #app: App;
	readonly #pane = document.createElement("div");
	readonly #session = signal<LoadedSession | undefined>(undefined);
	readonly #opened = signal<OpenedTerminal | undefined>(undefined);
	readonly #problem = signal<string | undefined>(undefined);
	readonly #tick = signal(0);
	readonly #panel = signal<"search" | "share" | "menu" | undefined>(undefined);
	readonly #banners: TerminalBanners;
	readonly #attachedAt = Date.now();
	readonly #search = new SearchPanel(() => this.#close());
	#share: SharePanel | undefined;
	readonly #agent: AgentBar;
	#isOver = false;

	constructor(app: App, id: string) {
		this.#app = app;
		this.#banners = new TerminalBanners(app);
		this.#agent = new AgentBar(app, app.client.sessions.at(id));
		this.id = id;
		this.#pane.className = "pane";
	}

	get isOver(): boolean {
		return this.#isOver;
	}

	/** Called when the page is mounted; returns its cleanup. */
	open(): () => void {
		const timer = setInterval(() => this.#tick.value++, TICK_MS);
		const stopStyling = effect(() => {
			const settings = this.#app.settings.current.value;
			// Untracked, because it changes the terminal's state.
			untracked(() => this.#restyle(settings));
		});
		// A program must not draw everything anew because a dialog's bar comes or goes.
		const stopHolding = effect(() => this.#opened.value?.terminal.holdSize(this.#agent.isTransient));
		const stopQueue = this.#agent.open();
		void this.#load();
		return () => {
			this.#isOver = true;
			stopHolding();
			stopQueue();
			clearInterval(timer);
			stopStyling();
			void this.#opened.peek()?.terminal.dispose();
		};
	}

	template(): TemplateResult {
		const session = this.#session.value;
		const opened = this.#opened.value;
		const problem = this.#problem.value;
		if (problem !== undefined) {
			const list = href({ view: "list", filter: noFilter });
			return html`<div class="empty"><h1>This session can't be shown</h1><p class="dim">${problem}</p><p><a class="btn" href=${list}>All sessions</a></p></div>`;
		}
		void this.#tick.value;
		return html`
			${session ? this.#header(opened?.terminal.state.value.session ?? session.snapshot, opened) : html`<header class="thead"></header>`}
			<div class="tbody">
				${this.#pane}
				${opened && this.#panel.value ? html`<div class="panel" ${mounted((element) => this.#attend(element), this.#panel.value)}>${this.#openPanel(opened)}</div>` : nothing}
			</div>
			${opened ? this.#below(opened) : nothing}
		`;
	}

	async #load(): Promise<void> {
		try {
			// Load the terminal's code while the request is pending.
			const [session, { openTerminal }] = await Promise.all([
				this.#app.client.sessions.get(this.id),
				import("../terminal/open-terminal.ts"),
			]);
			if (this.#isOver) return;
			this.#session.value = session;
			this.#opened.value = this.#attach(session, openTerminal);
		} catch (error) {
			const known = error instanceof HawserError ? error : new HawserError("internal", String(error));
			if (isSignedOut(known)) this.#app.auth.onUnauthorized();
			else this.#problem.value = known.message;
		}
	}

	#attach(
		session: LoadedSession,
		openTerminal: typeof import("../terminal/open-terminal.ts").openTerminal,
	): OpenedTerminal {
		const { fontSize, screenReaderMode, clipboardSessions } = this.#app.settings.current.peek();
		const mayType = this.#may("operate", session.snapshot);
		this.#share = new SharePanel(session, () => this.#close());
		const opened = openTerminal(this.#pane, {
			session,
			canType: mayType,
			fontSize: shownSize(fontSize),
			screenReaderMode: screenReaderMode,
			mayUseClipboard: clipboardSessions.includes(session.id),
			describeGap: (gap) => gapText(gap, session.snapshot),
			onKey: (key) => this.#pressed(key),
			hasKeyBar: isTouched() && mayType && session.snapshot.mode === "pty",
		});
		// On a phone only a tap opens the keyboard.
		if (!isTouched()) opened.terminal.focus();
		return opened;
	}

	/** The caller's rights here: type, share, start programs. */
	#may(right: Right, { workspace }: SessionMessage): boolean {
		return this.#app.auth.may(right, workspace);
	}

	#mayResize(session: SessionMessage): boolean {
		return this.#may("operate", session) && session.state === "running" && session.sizePolicy !== "fixed";
	}

	get #isGuest(): boolean {
		return this.#app.auth.isGuest;
	}

	/** The session's need, if any. */
	#need(): Need | undefined {
		const session = this.#app.sessions.all.value.get(this.id);
		return session && needOf(session, this.#app.circumstances.value);
	}

	#restyle({ fontSize }: Settings): void {
		this.#opened.peek()?.terminal.restyle(shownSize(fontSize));
	}

	#pressed(key: OwnKey): void {
		if (key === "search") this.#toggle("search");
		else if (key === "leave") this.#pane.closest("main")?.querySelector<HTMLElement>("h1")?.focus();
		else if (key === "go-to") this.#app.dialogs.open({ kind: "palette" });
		else if (key === "next-need") this.#goToNeeding();
	}

	/** Opens the next session that needs attention. */
	#goToNeeding(): void {
		const ids = this.#app.openable.peek().map(({ session }) => session.id);
		const id = ids[(ids.indexOf(this.id) + 1) % ids.length];
		if (id !== undefined && id !== this.id) go({ view: "session", id, at: undefined });
	}

	#toggle(panel: "search" | "share" | "menu"): void {
		this.#panel.value = this.#panel.peek() === panel ? undefined : panel;
	}

	#close(): void {
		this.#panel.value = undefined;
		this.#opened.peek()?.terminal.focus();
	}

	#openPanel({ terminal, search }: OpenedTerminal): unknown {
		switch (this.#panel.value) {
			case "search":
				return this.#search.template(search, terminal.state.value.offset);
			case "share":
				return this.#share?.template();
			case "menu":
				return this.#menu(terminal, terminal.state.value);
			case undefined:
				return nothing;
		}
	}

	#below({ terminal, keyBar }: OpenedTerminal): TemplateResult {
		const state = terminal.state.value;
		const { session } = state;
		this.#pane.classList.toggle("framed", isOtherSize(state));
		const takesLines = session.mode === "pipe" && session.state === "running" && this.#may("operate", session);
		return html`
			${this.#banners.template(terminal, state)}
			${this.#banners.question(terminal, state, { isOutOfView: state.isScrolledBack || isTouched() || isNarrow() })}
			${takesLines ? pipeInput(terminal) : nothing}
			${this.#agent.template()}
			${keyBar ?? nothing}
			${statusLine(state, {
				need: session.state === "running" ? this.#need() : undefined,
				now: this.#app.clock.now.value,
				attachedAt: this.#attachedAt,
				scrollToEnd: () => terminal.scrollToEnd(),
				useOwnSize: this.#mayResize(session) ? () => terminal.useOwnSize() : undefined,
			})}
		`;
	}

	#header(session: SessionMessage, opened: OpenedTerminal | undefined): TemplateResult {
		const isGuest = this.#isGuest;
		const back = html`<a class="btn quiet icon back" aria-label="Back to all sessions" href=${href({ view: "list", filter: noFilter })}>${icon("back")}</a>`;
		return html`<header class="thead">
			${isGuest ? nothing : back}${sessionTitle(this.#app, session, opened?.terminal.state.value.title)}
			${opened ? this.#tools(opened.terminal, opened.terminal.state.value) : nothing}
		</header>`;
	}

	#tools(terminal: SessionTerminal, state: TerminalState): TemplateResult {
		const { session } = state;
		const { attachments: watching } = session;
		const tool = (panel: "search" | "share", name: string) => html`<button
			class="btn quiet tool ${this.#panel.value === panel ? "on" : ""}"
			aria-label=${name}
			aria-expanded=${this.#panel.value === panel}
			@click=${() => this.#toggle(panel)}
		>${icon(panel, 15)}<span class="label">${name}</span></button>`;
		return html`
			${watching > 1 ? html`<span class="tag watching">${icon("eye", 13)}${watching} viewers</span>` : nothing}
			${controlTag(terminal, state)}
			<span class="sep"></span>
			${tool("search", "Search")}
			<a class="btn quiet tool" aria-label="Playback" href=${href({ view: "playback", id: session.id, at: undefined })}>${icon("rewind", 15)}<span class="label">Playback</span></a>
			${this.#may("read", session) && !this.#isGuest ? tool("share", "Share") : nothing}
			<button class="btn quiet icon" aria-label="More" aria-expanded=${this.#panel.value === "menu"} @click=${() => this.#toggle("menu")}>${icon("more")}</button>
		`;
	}

	#menu(terminal: SessionTerminal, state: TerminalState): TemplateResult {
		const { session, control } = state;
		const item = (name: string, act: () => void, where = "") => html`<button
			class="item ${where}"
			role="menuitem"
			@click=${() => {
				this.#close();
				act();
			}}
		>${name}</button>`;
		const mayType = this.#may("operate", session);
		const isShared = control.kind === "shared" && session.state === "running";
		return html`<div class="pop more-menu" role="menu" aria-label="More">
			${item("Search", () => this.#toggle("search"), "phone-only")}
			${item("Playback", () => go({ view: "playback", id: session.id, at: undefined }), "phone-only")}
			${this.#may("read", session) && !this.#isGuest ? item("Share", () => this.#toggle("share"), "phone-only") : nothing}
			${isOtherSize(state) && this.#mayResize(session) ? item("Use my size", () => terminal.useOwnSize()) : nothing}
			${isShared && mayType ? item("Take exclusive control", () => void terminal.takeOver()) : nothing}
			${item("Copy all text", () => void navigator.clipboard.writeText(terminal.text))}
			${item("Copy ID", () => void navigator.clipboard.writeText(session.id))}
			${item("Copy attach command", () => void navigator.clipboard.writeText(`hawser attach ${session.name ?? session.id}`))}
			${
				mayType && session.mode === "pty" && session.state === "running"
					? html`${item("Send Ctrl-W", () => terminal.type("\u0017"))}${item("Send Ctrl-T", () => terminal.type("\u0014"))}${item("Send Ctrl-N", () => terminal.type("\u000e"))}`
					: nothing
			}
		</div>`;
	}

	/** An open panel takes the focus. Escape closes it, and so does a click outside a menu or the share panel. */
	#attend(element: HTMLElement): () => void {
		element.querySelector<HTMLElement>("input, button:not(:disabled)")?.focus();
		const pressed = (event: KeyboardEvent) => {
			if (event.key !== "Escape") return;
			event.stopPropagation();
			this.#close();
		};
		const pressedNowhere = (event: KeyboardEvent) => {
			// The focused element is gone, so the page has the focus.
			if (event.target === document.body) pressed(event);
		};
		const clicked = ({ target }: PointerEvent) => {
			const isElsewhere = !element.contains(target as Node) && !(target as Element).closest("[aria-expanded]");
			if (isElsewhere && this.#panel.peek() !== "search") this.#panel.value = undefined;
		};
		// A user who opens a link becomes a viewer.
		const watching = computed(() => this.#app.sessions.all.value.get(this.id)?.overview?.watchers);
		const stopLoading = effect(() => {
			if (watching.value !== undefined && this.#panel.peek() === "share") void untracked(() => this.#share?.load());
		});
		element.addEventListener("keydown", pressed);
		document.addEventListener("keydown", pressedNowhere, true);
		document.addEventListener("pointerdown", clicked, true);
		return () => {
			stopLoading();
			element.removeEventListener("keydown", pressed);
			document.removeEventListener("keydown", pressedNowhere, true);
			document.removeEventListener("pointerdown", clicked, true);
		};
	}
}

/** The input line for a program on pipes. */
function pipeInput(terminal: SessionTerminal): TemplateResult {
	const send = (event: SubmitEvent) => {
		event.preventDefault();
		const input = (event.currentTarget as HTMLFormElement).elements.namedItem("line") as HTMLInputElement;
		terminal.type(`${input.value}\n`);
		input.value = "";
	};
	return html`<form class="pipe-input" @submit=${send}>
		<label class="field grow mono"><span class="vh">Input line</span><input name="line" autocomplete="off" placeholder="Input line" /><kbd>Enter</kbd></label>
		<button type="button" class="btn" @click=${() => terminal.sendEof()}>End its input</button>
	</form>`;
}

function controlTag(terminal: SessionTerminal, { control, session }: TerminalState): TemplateResult | typeof nothing {
	if (session.state !== "running") return nothing;
	const canType = html`<span class="dot"></span>`;
	const watch = html`<span class="tag">${icon("eye", 13)}View only</span>`;
	switch (control.kind) {
		case "shared":
			return html`<span class="tag can-type">${canType}You can type</span>`;
		case "mine":
			return html`<span class="tag can-type">${canType}Exclusive control</span>
				<button class="btn" @click=${() => void terminal.releaseControl()}>Release control</button>`;
		case "view-only":
			return watch;
		case "other":
			return html`${watch}<span class="who dim">${callerName(control.holder)} has control</span>
				<button class="btn" @click=${() => void terminal.takeOver()}>Take control</button>`;
	}
}
