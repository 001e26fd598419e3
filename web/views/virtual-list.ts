/** A virtual list: only the visible rows of equal height are in the page. */

import { type Signal, signal } from "@preact/signals-core";
import { html, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { mounted } from "./mounted.ts";

/** Shorter lists render faster than they can be measured. */
const FEW = 200;
/** Rows rendered beyond the edges, so that fast scrolling shows no gaps. */
const MARGIN = 20;

type Range = { readonly first: number; readonly end: number };

/** The visible range of each list, by name. */
const ranges = new Map<string, Signal<Range>>();

type Windowed<Item> = {
	readonly name: string;
	readonly items: readonly Item[];
	readonly keyOf: (item: Item) => string;
	readonly draw: (item: Item, index: number) => TemplateResult;
};

export function virtualList<Item>({ name, items, keyOf, draw }: Windowed<Item>): unknown {
	if (items.length <= FEW) return repeat(items, keyOf, draw);
	const range = ranges.get(name) ?? signal<Range>({ first: 0, end: FEW });
	ranges.set(name, range);
	const { first, end } = range.value;
	const from = Math.min(first, items.length - 1);
	const shown = items.slice(from, end);
	return html`<div role="presentation" class="before" ${mounted((element) => follow(element, range), name)} .rows=${from}></div>
		${repeat(shown, keyOf, (item, index) => draw(item, from + index))}
		<div role="presentation" class="after" .rows=${items.length - from - shown.length}></div>`;
}

/** Tracks the visible range, and sizes the gaps before and after it. */
function follow(before: HTMLElement, range: Signal<Range>): () => void {
	const scroller = before.closest(".scroll");
	const list = before.parentElement;
	if (!scroller || !list) return () => {};
	const look = () => {
		const rowHeight = list.querySelector<HTMLElement>("[data-row]")?.offsetHeight ?? 1;
		for (const gap of list.querySelectorAll<HTMLElement & { rows: number }>(".before, .after")) {
			gap.style.height = `${gap.rows * rowHeight}px`;
		}
		const above = scroller.getBoundingClientRect().top - before.getBoundingClientRect().top;
		const first = Math.max(0, Math.floor(above / rowHeight) - MARGIN);
		const end = Math.max(first, Math.ceil((above + scroller.clientHeight) / rowHeight)) + MARGIN;
		const { first: oldFirst, end: oldEnd } = range.peek();
		// In steps, so that not every pixel triggers a render.
		if (Math.abs(first - oldFirst) >= MARGIN / 2 || Math.abs(end - oldEnd) >= MARGIN / 2) range.value = { first, end };
	};
	const changes = new MutationObserver(look);
	changes.observe(list, { childList: true });
	scroller.addEventListener("scroll", look, { passive: true });
	addEventListener("resize", look);
	look();
	return () => {
		changes.disconnect();
		scroller.removeEventListener("scroll", look);
		removeEventListener("resize", look);
	};
}
