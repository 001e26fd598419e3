/** The menu of one session, next to the pressed element. */

import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { mounted } from "./mounted.ts";
import { type Action, actionsOf } from "./session-actions.ts";
import { nameOf } from "./text.ts";

/** Distance from the edges of the page, in CSS pixels. */
const MARGIN = 8;

export function sessionMenu(app: App, id: string, at: { readonly x: number; readonly y: number }): unknown {
	const session = app.sessions.all.value.get(id);
	if (!session) return nothing;
	return menu({
		title: `More actions for ${nameOf(session)}`,
		actions: actionsOf(app, session),
		at,
		close: () => app.dialogs.close(),
	});
}

type MenuOptions = {
	readonly title: string;
	readonly actions: readonly Action[];
	readonly at: { readonly x: number; readonly y: number };
	readonly close: () => void;
};

/** A dialog, so that it is on top and restores the focus. Arrow keys move in it as in any menu. */
export function menu({ title, actions, at, close }: MenuOptions): TemplateResult {
	const show = (element: HTMLElement) => {
		const dialog = element as HTMLDialogElement;
		dialog.showModal();
		const { width, height } = dialog.getBoundingClientRect();
		dialog.style.left = `${Math.max(MARGIN, Math.min(at.x, innerWidth - width - MARGIN))}px`;
		dialog.style.top = `${Math.max(MARGIN, Math.min(at.y, innerHeight - height - MARGIN))}px`;
		return () => dialog.close();
	};
	const choose = (action: Action) => {
		close();
		void action.act();
	};
	return html`<dialog
		class="menu"
		aria-label=${title}
		${mounted(show)}
		@cancel=${(event: Event) => {
			event.preventDefault();
			close();
		}}
		@click=${(event: MouseEvent) => {
			if (event.target === event.currentTarget) close();
		}}
		@keydown=${move}
	>
		<div role="menu" aria-label=${title}>
			${actions.map(
				(action) =>
					html`<button role="menuitem" class=${action.isDanger ? "danger" : nothing} @click=${() => choose(action)}>
						<span class="grow">${action.name}</span>${action.key === undefined ? nothing : html`<kbd>${action.key}</kbd>`}
					</button>`,
			)}
		</div>
	</dialog>`;
}

function move(event: KeyboardEvent): void {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (step === undefined) return;
	event.preventDefault();
	const items = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
	const index = items.indexOf(document.activeElement as HTMLButtonElement);
	items[(index + step + items.length) % items.length]?.focus();
}
