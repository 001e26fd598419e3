/** A modal dialog, closed by Escape, by a click outside, or by its button. Focus returns to where it was. */

import { html, type TemplateResult } from "lit-html";
import { icon } from "./icons.ts";
import { mounted } from "./mounted.ts";

type DialogOptions = {
	readonly title: string;
	readonly close: () => void;
	readonly body: unknown;
	/** `plain` has no header. */
	readonly look?: "plain" | "wide" | "small";
};

export function modal({ title, close, body, look }: DialogOptions): TemplateResult {
	const show = (element: HTMLElement) => {
		const dialog = element as HTMLDialogElement;
		dialog.showModal();
		dialog.querySelector<HTMLElement>("[data-focus]")?.focus();
		return () => dialog.close();
	};
	return html`<dialog
		class="dlg ${look ?? ""}"
		aria-label=${title}
		${mounted(show, title)}
		@cancel=${(event: Event) => {
			event.preventDefault();
			close();
		}}
		@click=${(event: MouseEvent) => {
			if (event.target === event.currentTarget) close();
		}}
	>
		<div class="inside">
			${
				look === "plain"
					? ""
					: html`<div class="hd">
							<h2>${title}</h2>
							<span class="grow"></span>
							<button class="btn quiet icon" aria-label="Close" @click=${close}>${icon("x", 15)}</button>
						</div>`
			}
			${body}
		</div>
	</dialog>`;
}
