/** Creates guest links. A guest sees only this session, until the link expires or is revoked. */

import { signal } from "@preact/signals-core";
import type { LinkMessage, Session } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { icon } from "./icons.ts";
import { formatLongDuration } from "./text.ts";

type Right = LinkMessage["right"];

const HOUR_MS = 3_600_000;
const DURATIONS: readonly (readonly [name: string, milliseconds: number])[] = [
	["15 minutes", HOUR_MS / 4],
	["1 hour", HOUR_MS],
	["8 hours", 8 * HOUR_MS],
	["1 day", 24 * HOUR_MS],
	["7 days", 7 * 24 * HOUR_MS],
];

type ShareState = {
	readonly right: Right;
	readonly expiresInMs: number;
	/** The address of the link just created; it is not available later. */
	readonly url: string | undefined;
	readonly isCopied: boolean;
	readonly links: readonly LinkMessage[];
	readonly problem: string | undefined;
};

export class SharePanel {
	readonly #session: Session;
	readonly #close: () => void;
	readonly #state = signal<ShareState>({
		right: "view",
		expiresInMs: HOUR_MS,
		url: undefined,
		isCopied: false,
		links: [],
		problem: undefined,
	});

	constructor(session: Session, close: () => void) {
		this.#session = session;
		this.#close = close;
	}

	async load(): Promise<void> {
		await this.#try(async () => this.#change({ links: await this.#session.links.list() }));
	}

	template(): TemplateResult {
		const { right, expiresInMs, url, isCopied, links, problem } = this.#state.value;
		const choice = (value: Right, name: string) => html`<button
			class=${value === right ? "on" : ""}
			aria-pressed=${value === right}
			@click=${() => this.#change({ right: value, url: undefined })}
		>${name}</button>`;
		return html`<section class="pop share-panel" aria-label="Share this session">
			<div class="row"><h2>Share this session</h2><span class="grow"></span>
				<button class="btn quiet icon" aria-label="Close" @click=${this.#close}>${icon("x")}</button></div>
			<div class="row choices">
				<span class="seg" role="group" aria-label="What a guest can do">${choice("view", "View")}${choice("control", "Type")}</span>
				<span class="grow"></span>
				<label class="row dim">for <select class="btn" @change=${(event: Event) => this.#change({ expiresInMs: Number((event.currentTarget as HTMLSelectElement).value), url: undefined })}>
					${DURATIONS.map(([name, value]) => html`<option value=${value} ?selected=${value === expiresInMs}>${name}</option>`)}
				</select></label>
			</div>
			${
				url === undefined
					? html`<button class="btn primary wide" @click=${() => void this.#make()}>${icon("share")}Create link</button>`
					: html`<div class="row">
						<input class="field grow mono" aria-label="The link" readonly .value=${url} @focus=${(event: FocusEvent) => (event.currentTarget as HTMLInputElement).select()} />
						<button class="btn primary" @click=${() => void this.#copy(url)}>${icon("copy")}${isCopied ? "Copied" : "Copy link"}</button>
					</div>`
			}
			${problem === undefined ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
			<p class="faint">Guests see only this session. Revoking a link disconnects its guests immediately.</p>
			${
				links.length === 0
					? nothing
					: html`<ul class="links">${repeat(
							links,
							({ id }) => id,
							(link) => this.#row(link),
						)}</ul>`
			}
		</section>`;
	}

	#row({ id, right, expiresAt, opened }: LinkMessage): TemplateResult {
		const leftMs = expiresAt === null ? undefined : expiresAt - Date.now();
		const ends = leftMs === undefined ? "never expires" : leftMs <= 0 ? "expired" : `expires in ${leftText(leftMs)}`;
		const times = opened === 0 ? "not opened yet" : `opened ${opened === 1 ? "once" : `${opened} times`}`;
		return html`<li class="row">
			<b>${right === "view" ? "View" : "Type"}</b>
			<span class="dim grow">${ends} · ${times}</span>
			<button class="btn quiet danger" @click=${() => void this.#revoke(id)}>Revoke</button>
		</li>`;
	}

	async #make(): Promise<void> {
		const { right, expiresInMs } = this.#state.value;
		await this.#try(async () => {
			const { url } = await this.#session.links.create({ right, expiresInMs });
			this.#change({ url, isCopied: false });
			await this.load();
		});
	}

	async #copy(url: string): Promise<void> {
		await this.#try(async () => {
			await navigator.clipboard.writeText(url);
			this.#change({ isCopied: true });
		});
	}

	async #revoke(id: string): Promise<void> {
		await this.#try(async () => {
			await this.#session.links.revoke(id);
			await this.load();
		});
	}

	async #try(work: () => Promise<void>): Promise<void> {
		try {
			this.#change({ problem: undefined });
			await work();
		} catch (error) {
			this.#change({ problem: error instanceof Error ? error.message : String(error) });
		}
	}

	#change(change: Partial<ShareState>): void {
		this.#state.value = { ...this.#state.value, ...change };
	}
}

/** Rounded to minutes, because seconds don't matter here. */
function leftText(milliseconds: number): string {
	return formatLongDuration(Math.max(60_000, Math.round(milliseconds / 60_000) * 60_000));
}
