/** Text that keeps its end visible if it does not fit, because a question is at the end of the output. */

import { html, type TemplateResult } from "lit-html";

/** For an element with the classes `ell end`. */
export function endVisible(text: string): TemplateResult {
	// The element is right-to-left so that it is cut on the left; the text is not.
	return html`<bdi dir="ltr">${text}</bdi>`;
}
