/** Draws everything that is shown, once in a frame at most, whenever something changes that it was drawn from. */

import { effect } from "@preact/signals-core";
import { render } from "lit-html";

/** `view` gives the whole page; lit-html changes only what differs. */
export function keepDrawn(view: () => unknown, root: HTMLElement): void {
	let forget = () => {};
	const draw = () => {
		forget();
		let isDrawn = false;
		forget = effect(() => {
			// The second time only says that something has changed; a hidden tab has no frames, and so draws nothing.
			if (isDrawn) requestAnimationFrame(draw);
			else render(view(), root);
			isDrawn = true;
		});
	};
	draw();
}
