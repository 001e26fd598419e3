/** Text whose end is seen where not all of it fits: what a program asks is at the end of what it wrote. */

import { html, type TemplateResult } from "lit-html";

/** For a place with the classes `ell end`. */
export function ending(text: string): TemplateResult {
	// Its place is cut at the left because it runs from right to left; the text itself does not.
	return html`<bdi dir="ltr">${text}</bdi>`;
}
