/** Plays a session's recording with its real timing, while it runs or after. */

import "../styles/terminal.css";
import { signal } from "@preact/signals-core";
import type { AuditMessage, CommandList, LoadedSession, ShellCommand } from "hawser/client";
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { base, go, href } from "../router.ts";
import type { App } from "../state/app.ts";
import { addressOf, noFilter, type Route } from "../state/route.ts";
import type { Playback, PlaybackState } from "../terminal/playback.ts";
import { formatClock, nearestMoment, parsePlace, SPEEDS, withSpeed } from "../terminal/playback-clock.ts";
import { activityOf, MOST_BYTES } from "../terminal/recording.ts";
import { glyph, icon } from "./icons.ts";
import { mounted } from "./mounted.ts";
import { sessionTitle } from "./session-title.ts";
import { clockTime, formatLongDuration, nameOf, size, words } from "./text.ts";

/** The displayed page, if any. */
let current: PlaybackPage | undefined;

export function playbackPage(app: App, { id, at }: Extract<Route, { view: "playback" }>): TemplateResult {
	if (current?.id !== id || current.at !== at || current.isOver) current = new PlaybackPage(app, id, at);
	const page = current;
	return html`<main class="main" id="content" ${mounted(() => page.open(), page)}>${page.template()}</main>`;
}

/** Number of bars in the activity chart. */
const BARS = 200;
const TICKS = 8;
/** How often the commands of a running session are loaded, in milliseconds. */
const COMMANDS_MS = 2_000;
/** Audit entries per request. */
const MAX_AUDIT_ENTRIES = 1000;
/** Step of the arrow keys, in milliseconds. */
const STEP_MS = 5_000;
/** Units of the chart, which is stretched to its element. */
const WIDTH = 1000;

class PlaybackPage {
	readonly id: string;
	readonly at: string | undefined;
	readonly #app: App;
	readonly #pane = document.createElement("div");
	readonly #session = signal<LoadedSession | undefined>(undefined);
	readonly #opened = signal<Playback | undefined>(undefined);
	readonly #problem = signal<string | undefined>(undefined);
	readonly #commands = signal<CommandList>({ commands: [], proven: false });
	/** Audit entries of the session, if the caller may read them. */
	readonly #auditEntries = signal<readonly AuditMessage[]>([]);
	readonly #isCopied = signal(false);
	#activity:
		| { readonly of: PlaybackState["events"]; readonly durationMs: number; readonly parts: number[] }
		| undefined;
	#isOver = false;

	constructor(app: App, id: string, at: string | undefined) {
		this.#app = app;
		this.id = id;
		this.at = at;
		this.#pane.className = "pane";
	}

	get isOver(): boolean {
		return this.#isOver;
	}

	/** Called when the page is mounted; returns its cleanup. */
	open(): () => void {
		void this.#load();
		const timer = setInterval(() => void this.#loadCommands(), COMMANDS_MS);
		return () => {
			this.#isOver = true;
			clearInterval(timer);
			this.#opened.peek()?.dispose();
		};
	}

	template(): TemplateResult {
		const session = this.#session.value;
		const playback = this.#opened.value;
		const problem = this.#problem.value;
		if (problem !== undefined) {
			const list = href({ view: "list", filter: noFilter });
			return html`<div class="empty"><h1>This session can't be shown</h1><p class="dim">${problem}</p><p><a class="btn" href=${list}>All sessions</a></p></div>`;
		}
		return html`
			<header class="thead">${session ? this.#header(session, playback?.state.value.title) : nothing}</header>
			${playback?.state.value.isPlaceGone ? html`<div class="banner" role="status">${glyph("quiet")}<span class="grow"><b>${words.placeGone[0]}</b> <span class="dim">${words.placeGone[1]}</span></span></div>` : nothing}
			<div class="play" role="group" aria-label="Player" tabindex="-1" @keydown=${(event: KeyboardEvent) => this.#pressed(event)}>
				<div class="main">
					<div class="tbody">${this.#pane}</div>
					${session && playback ? html`<div class="trans">${this.#scrubber(playback, playback.state.value)}${this.#controls(session, playback, playback.state.value)}</div>` : nothing}
				</div>
				<aside class="side" aria-label="Commands">
					${playback ? html`${this.#commandList(playback, playback.state.value)}${this.#auditList(playback)}` : nothing}
					<p class="note">
						${playback ? this.#progress(playback.state.value) : nothing}Playback does not affect the session.
					</p>
				</aside>
			</div>
		`;
	}

	async #load(): Promise<void> {
		try {
			// Load the terminal's code while the request is pending.
			const [session, { Playback }] = await Promise.all([
				this.#app.client.sessions.get(this.id),
				import("../terminal/playback.ts"),
			]);
			if (this.#isOver) return;
			this.#session.value = session;
			const { fontSize } = this.#app.settings.current.peek();
			const place = this.at === undefined ? undefined : parsePlace(this.at);
			this.#opened.value = new Playback(this.#pane, { session, fontSize, place });
			// Take the focus, so that the player's keys work at once.
			this.#pane.closest<HTMLElement>(".play")?.focus({ preventScroll: true });
			this.#commands.value = await commandsOf(session, this.#commands.peek());
			if (this.#app.auth.isAdmin) this.#auditEntries.value = await this.#loadAudit();
		} catch (error) {
			this.#problem.value = error instanceof Error ? error.message : String(error);
		}
	}

	/** Empty if the server has no audit log. */
	async #loadAudit(): Promise<readonly AuditMessage[]> {
		const { entries } = await this.#app.client
			.audit({ session: this.id, limit: MAX_AUDIT_ENTRIES })
			.catch(() => ({ entries: [] }));
		return entries;
	}

	/** Loads commands again if more may have run. */
	async #loadCommands(): Promise<void> {
		const session = this.#session.peek();
		const known = this.#commands.peek();
		const hasShell = known.proven || known.commands.length > 0;
		if (!session || !hasShell || !this.#opened.peek()?.state.peek().isGrowing) return;
		this.#commands.value = await commandsOf(session, known);
	}

	#header({ snapshot }: LoadedSession, title: string | undefined): TemplateResult {
		const terminal = href({ view: "session", id: this.id, at: undefined });
		return html`<a class="btn quiet icon back" aria-label="Back to the terminal" href=${terminal}>${icon("back")}</a>
			${sessionTitle(this.#app, snapshot, title)}
			<span class="tag can-type">${icon("rewind", 13)}Playing back</span>`;
	}

	/** How much of the recording is loaded. */
	#progress({ isGrowing, isBehind, isCut }: PlaybackState): string {
		const cut = isCut ? `Only the newest ${size(MOST_BYTES)} are loaded. ` : "";
		if (isGrowing) return `Still running; new output is added here. ${cut}`;
		return isBehind ? `More output is available; reload this page. ${cut}` : cut;
	}

	/** Counts again only when there is more output, not for each frame. */
	#parts({ events, durationMs }: PlaybackState): readonly number[] {
		if (this.#activity?.of !== events || this.#activity.durationMs !== durationMs) {
			this.#activity = { of: events, durationMs, parts: activityOf(events, durationMs, BARS) };
		}
		return this.#activity.parts;
	}

	#scrubber(playback: Playback, state: PlaybackState): TemplateResult {
		const { position, durationMs, idle } = state;
		const x = (moment: number) => (durationMs === 0 ? 0 : (moment / durationMs) * WIDTH);
		const parts = this.#parts(state);
		const most = Math.log1p(Math.max(1, ...parts));
		const move = (event: PointerEvent) => {
			const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
			playback.goTo(((event.clientX - left) / width) * durationMs);
		};
		const hold = (event: PointerEvent) => {
			(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
			move(event);
		};
		const drag = (event: PointerEvent) => {
			if (event.buttons === 1) move(event);
		};
		return html`<div class="scrub" role="slider" tabindex="0" aria-label="Moment" aria-valuemin="0" aria-valuemax=${Math.round(durationMs / 1000)} aria-valuenow=${Math.round(position / 1000)} aria-valuetext="${formatLongDuration(position)} of ${formatLongDuration(durationMs)}" @pointerdown=${hold} @pointermove=${drag}>
			<svg viewBox="0 0 ${WIDTH} 52" preserveAspectRatio="none" aria-hidden="true">
				<path class="base" d="M0 50.5h${WIDTH}" />
				${idle.map(({ from, to }) => svg`<rect class="idle" x=${x(from)} y="48" width=${x(to) - x(from)} height="2" />`)}
				${parts.map((amount, index) => {
					const height = (Math.log1p(amount) / most) * 34;
					const at = (index / BARS) * WIDTH;
					return amount === 0
						? nothing
						: svg`<rect class=${at < x(position) ? "past" : "future"} x=${at} y=${50 - height} width=${(WIDTH / BARS) * 0.75} height=${height} />`;
				})}
				${this.#commands.value.commands.map((command) => svg`<path class="mark ${outcomeOf(command)}" d="M${x(this.#momentOf(command))} 6v44" />`)}
				<path class="head" d="M${x(position)} 0v52" />
			</svg>
			<div class="ticks" aria-hidden="true">${Array.from({ length: TICKS + 1 }, (_, index) => html`<span>${formatClock((durationMs * index) / TICKS)}</span>`)}</div>
		</div>`;
	}

	#controls(session: LoadedSession, playback: Playback, state: PlaybackState): TemplateResult {
		const { position, durationMs, isPlaying, skipsIdle, speed, isLoaded } = state;
		return html`<div class="ctl">
			<button class="btn quiet icon" aria-label="Previous command" @click=${() => this.#goToCommand(playback, -1)}>${icon("prev", 14)}</button>
			<button class="big" aria-label=${isPlaying ? "Pause" : "Play"} ?disabled=${!isLoaded} @click=${() => playback.toggle()}>${icon(isPlaying ? "pause" : "play")}</button>
			<button class="btn quiet icon" aria-label="Next command" @click=${() => this.#goToCommand(playback, 1)}>${icon("next", 14)}</button>
			<span class="time">${formatClock(position)} <span class="faint">/ ${formatClock(durationMs)}</span></span>
			<span class="faint num">${clockTime(session.snapshot.createdAt + position, { seconds: true })}</span>
			<span class="grow"></span>
			<button class="btn quiet ${skipsIdle ? "on" : ""}" aria-pressed=${skipsIdle} @click=${() => playback.change({ skipsIdle: !skipsIdle })}>Skip idle</button>
			<span class="seg" role="group" aria-label="Speed">${SPEEDS.map((one) => html`<button class=${one === speed ? "on" : ""} aria-pressed=${one === speed} @click=${() => playback.change({ speed: one })}>${one === 0.5 ? "½" : one}×</button>`)}</span>
			<button class="btn" @click=${() => void this.#copyLink(session, position)}>${icon("copy")}${this.#isCopied.value ? "Copied" : `Link to ${formatClock(position)}`}</button>
			<button class="btn" @click=${() => void this.#download(session)}>${icon("file")}.cast</button>
			<a class="btn" href=${href({ view: "session", id: this.id, at: undefined })}><span class="dot"></span>Live</a>
		</div>`;
	}

	#commandList(playback: Playback, { position }: PlaybackState): TemplateResult {
		const { commands } = this.#commands.value;
		const current = commands.findLast((command) => this.#momentOf(command) <= position);
		return html`<h2>Commands <span class="faint">${commands.length}</span></h2>
			${commands.length === 0 ? html`<p class="note">No commands recorded.</p>` : nothing}
			<ol class="commands">${commands.map(
				(
					command,
				) => html`<li><button class="cm ${command === current ? "on" : ""}" aria-current=${command === current} ${ref(command === current ? bringIntoView : undefined)} @click=${() => playback.goTo(this.#momentOf(command))}>
					<span class="command-outcome ${outcomeOf(command)}" aria-hidden="true"></span>
					<span class="c mono ell">${command.command ?? "(unknown command)"}</span>
					<span class="t">${formatClock(this.#momentOf(command))}</span>
					<span class="m">${command.endedAt === null ? "running" : `exit ${command.exitCode ?? "unknown"} · ${shortDuration(command.endedAt - command.startedAt)}`}</span>
				</button></li>`,
			)}</ol>`;
	}

	#auditList(playback: Playback): TemplateResult | typeof nothing {
		const entries = this.#auditEntries.value;
		if (entries.length === 0) return nothing;
		return html`<h2>Audit <span class="faint">${entries.length}</span></h2>
			<ol class="commands deeds">${entries.map(
				({ time, by, action }) => html`<li><button class="deed" @click=${() => playback.goTo(this.#momentAt(time))}>
					<span class="t">${formatClock(this.#momentAt(time))}</span><span class="ell">${by?.name ?? words.theServer} · ${action}</span>
				</button></li>`,
			)}</ol>`;
	}

	#momentOf({ startedAt }: ShellCommand): number {
		return this.#momentAt(startedAt);
	}

	/** The position in the recording of a time of day. */
	#momentAt(time: number): number {
		return Math.max(0, time - (this.#session.value?.snapshot.createdAt ?? time));
	}

	#goToCommand(playback: Playback, direction: -1 | 1): void {
		const moments = this.#commands.value.commands.map((command) => this.#momentOf(command));
		const { position, durationMs } = playback.state.value;
		playback.goTo(nearestMoment(moments, position, direction) ?? (direction < 0 ? 0 : durationMs));
	}

	#pressed(event: KeyboardEvent): void {
		const playback = this.#opened.peek();
		if (!playback || event.ctrlKey || event.metaKey || event.altKey) return;
		const { position, durationMs } = playback.state.value;
		// The space bar presses a focused button.
		if (event.key === " " && (event.target as HTMLElement).tagName === "BUTTON") return;
		const acts: Record<string, () => void> = {
			" ": () => playback.toggle(),
			ArrowLeft: () => playback.goTo(position - STEP_MS),
			ArrowRight: () => playback.goTo(position + STEP_MS),
			"[": () => this.#goToCommand(playback, -1),
			"]": () => this.#goToCommand(playback, 1),
			"<": () => playback.change(withSpeed(playback.state.value, -1)),
			">": () => playback.change(withSpeed(playback.state.value, 1)),
			End: () => go({ view: "session", id: this.id, at: undefined }),
		};
		const act =
			acts[event.key] ??
			(/^\d$/.test(event.key) ? () => playback.goTo((Number(event.key) / 10) * durationMs) : undefined);
		if (!act) return;
		event.preventDefault();
		act();
	}

	async #copyLink(session: LoadedSession, position: number): Promise<void> {
		const at = new Date(session.snapshot.createdAt + position).toISOString();
		await navigator.clipboard.writeText(new URL(addressOf({ view: "session", id: this.id, at }), base).href);
		this.#isCopied.value = true;
	}

	/** Downloads the current recording. */
	async #download(session: LoadedSession): Promise<void> {
		const parts: BlobPart[] = [];
		for await (const bytes of session.recording()) parts.push(bytes as Uint8Array<ArrayBuffer>);
		const link = document.createElement("a");
		link.href = URL.createObjectURL(new Blob(parts, { type: "application/x-asciicast" }));
		link.download = `${nameOf(session.snapshot)}.cast`;
		link.click();
		URL.revokeObjectURL(link.href);
	}
}

/** Scrolls an element of a long list into view. */
function bringIntoView(element: Element | undefined): void {
	element?.scrollIntoView({ block: "nearest" });
}

/** Keeps the known commands if the request fails: a session without a shell has none. */
function commandsOf(session: LoadedSession, known: CommandList): Promise<CommandList> {
	return session.commands({ limit: 500 }).catch(() => known);
}

function outcomeOf({ endedAt, exitCode }: ShellCommand): "ok" | "failed" | "running" {
	if (endedAt === null) return "running";
	return exitCode === 0 ? "ok" : "failed";
}

function shortDuration(milliseconds: number): string {
	if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
	return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : formatLongDuration(milliseconds);
}
