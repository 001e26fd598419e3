/** Renders the page, at most once per frame, whenever a signal that it read changes. */

import { effect } from "@preact/signals-core";
import { render } from "lit-html";

/** `view` returns the whole page; lit-html updates only what differs. */
export function renderOnChange(view: () => unknown, root: HTMLElement): void {
	let forget = () => {};
	const draw = () => {
		forget();
		let isDrawn = false;
		forget = effect(() => {
			// Runs after the first render report a change. A hidden tab has no frames, so it does not render.
			if (isDrawn) requestAnimationFrame(draw);
			else render(view(), root);
			isDrawn = true;
		});
	};
	draw();
}
