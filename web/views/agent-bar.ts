/** The coding agent of a session, below its terminal: its dialog, state and subagents, and a field for prompts. */

import { effect, signal, untracked } from "@preact/signals-core";
import type { AgentMessage, Session, SessionInfo } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { App } from "../state/app.ts";
import { Prompts } from "../state/prompts.ts";
import { agentChildren, answerStatus, dialogActions, dialogDetails } from "./dialog.ts";
import { glyph } from "./icons.ts";
import { sessionState } from "./session-state.ts";
import { formatDuration, words } from "./text.ts";

/** The field for prompts stays for this long when the agent's state is not known. */
const LASTING_MS = 10_000;

export class AgentBar {
	readonly #app: App;
	readonly #id: string;
	readonly #prompts: Prompts;
	readonly #isQueueing = signal(true);
	/** The last agent, and when it was last known (monotonic). */
	#last: { readonly app: string; readonly at: number } | undefined;

	constructor(app: App, session: Session) {
		this.#app = app;
		this.#id = session.id;
		this.#prompts = new Prompts(session);
	}

	/** Keeps the queue current until the returned function is called. */
	open(): () => void {
		let known = "";
		return effect(() => {
			const { agent, prompts = 0 } = this.#listed?.overview ?? {};
			const now = JSON.stringify([prompts, agent?.state, agent?.episode]);
			if (now === known) return;
			known = now;
			untracked(() => void this.#prompts.load());
		});
	}

	/** Whether something is shown that is soon gone again: a dialog, or the outcome of an answer or a prompt. */
	get isTransient(): boolean {
		const session = this.#listed;
		const isAnswered = session !== undefined && this.#app.answers.of(session, undefined) !== undefined;
		return this.#agent?.state === "blocked" || isAnswered || this.#prompts.outcome.value !== undefined;
	}

	template(): TemplateResult | typeof nothing {
		const session = this.#listed;
		const agent = this.#agent;
		const name = session?.state === "running" ? this.#nameOf(agent) : undefined;
		if (!session || name === undefined) return nothing;
		const isDialogAll = agent?.state === "blocked" && !this.#mayPrompt(session);
		const hasBar = !isDialogAll || this.#prompts.queued.value.length > 0;
		return html`${agent ? this.#dialog(session, agent) : nothing}${hasBar ? this.#bar(session, agent, name) : nothing}`;
	}

	#bar(session: SessionInfo, agent: AgentMessage | null, name: string): TemplateResult {
		return html`
			<section class="agent-bar" aria-label=${name}>
				${this.#queue(session)}
				<div class="agent-row">${agent ? this.#state(session, agent) : nothing}${this.#field(session, name)}</div>
				${this.#outcome()}
			</section>`;
	}

	#mayPrompt({ workspace }: SessionInfo): boolean {
		return this.#app.auth.may("operate", workspace);
	}

	get #listed(): SessionInfo | undefined {
		return this.#app.sessions.all.value.get(this.#id);
	}

	/** Null once the program has ended. */
	get #agent(): AgentMessage | null {
		const session = this.#listed;
		return session?.state === "running" ? (session.overview?.agent ?? null) : null;
	}

	/** The current agent's name, and for a moment the last one's: typed text must not get lost while no signal has a state. */
	#nameOf(agent: AgentMessage | null): string | undefined {
		const now = performance.now();
		if (agent) this.#last = { app: agent.app, at: now };
		return this.#last && now - this.#last.at < LASTING_MS ? this.#last.app : undefined;
	}

	/** The outcome of an answer is shown for a while after its dialog has closed. */
	#dialog(session: SessionInfo, agent: AgentMessage): TemplateResult | typeof nothing {
		const { answers, clock, aim } = this.#app;
		const answer = answers.of(session, undefined);
		if (agent.state !== "blocked") {
			return answer ? html`<div class="banner askbar dialog">${answerStatus(answer)}</div>` : nothing;
		}
		const { word } = sessionState(session, undefined, clock.now.value);
		const waits = words.dialog.waits(formatDuration(clock.now.value - agent.since));
		return html`<div
			class="banner askbar dialog ${aim.isBlocked.value ? "changing" : ""}"
			role="group"
			aria-label="${agent.app} ${word}"
		>
			<div class="head">${glyph("wait")}<b>${agent.app} ${word}</b><span class="dim">· ${waits}</span>${agentChildren(agent)}</div>
			${agent.question === null ? nothing : html`<div class="q">${agent.question}</div>`}
			${dialogDetails(agent)}
			<div class="act">${dialogActions(this.#app, session, agent)}</div>
		</div>`;
	}

	/** The dialog says all of it while it is open. */
	#state(session: SessionInfo, agent: AgentMessage): TemplateResult | typeof nothing {
		if (agent.state === "blocked") return nothing;
		const { glyph: sign, word, tone } = sessionState(session, undefined, this.#app.clock.now.value);
		return html`<span class="agent-state">
			${glyph(sign)}<span><b>${agent.app}</b> <span class=${tone}>${word}</span></span>
			${agent.progress === null ? nothing : html`<progress max="100" value=${agent.progress} aria-label="Progress"></progress>`}
			${agentChildren(agent)}
		</span>`;
	}

	#queue(session: SessionInfo): TemplateResult | typeof nothing {
		const queued = this.#prompts.queued.value;
		if (queued.length === 0) return nothing;
		const mayCancel = this.#mayPrompt(session);
		return html`<div class="queue">
			<span class="dim">${words.prompt.queued}</span>
			<ol aria-label=${words.prompt.queued}>
				${repeat(
					queued,
					({ id }) => id,
					(prompt) => html`<li>
						<span class="ell grow">${prompt.text}</span>
						${
							mayCancel
								? html`<button class="btn quiet small" aria-label="${words.prompt.cancel}: ${prompt.text}" @click=${() => void this.#prompts.cancel(prompt)}>${words.prompt.cancel}</button>`
								: nothing
						}
					</li>`,
				)}
			</ol>
		</div>`;
	}

	#field(session: SessionInfo, name: string): TemplateResult | typeof nothing {
		if (!this.#mayPrompt(session)) return nothing;
		const isQueueing = this.#isQueueing;
		const send = async (event: Event) => {
			event.preventDefault();
			const form = (event.currentTarget as HTMLElement).closest("form");
			const input = form?.querySelector("textarea");
			if (!input) return;
			const { value } = input;
			const isTaken = await this.#prompts.send(value, { whenIdle: isQueueing.peek() });
			// The user may have typed on.
			if (isTaken && input.value === value) input.value = "";
		};
		const pressed = (event: KeyboardEvent) => {
			if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void send(event);
		};
		return html`<form class="prompt" @submit=${send}>
			<label class="field grow"
				><span class="vh">${words.prompt.label(name)}</span
				><textarea name="prompt" rows="1" placeholder=${words.prompt.placeholder(name)} @keydown=${pressed}></textarea
			></label>
			<label class="check"
				><input type="checkbox" .checked=${isQueueing.value} @change=${() => (isQueueing.value = !isQueueing.peek())} />${words.prompt.whenIdle}</label
			>
			<button class="btn">${words.prompt.send}</button>
		</form>`;
	}

	#outcome(): TemplateResult | typeof nothing {
		const outcome = this.#prompts.outcome.value;
		switch (outcome?.kind) {
			case "sending":
				return html`<p class="outcome" role="status">${words.prompt.sending}</p>`;
			case "sent":
				return html`<p class="outcome" role="status">${words.prompt.sent}</p>`;
			case "failed":
				return html`<p class="outcome bad" role="status">${words.prompt.notSent(outcome.message)}</p>`;
			case undefined:
				return nothing;
		}
	}
}
