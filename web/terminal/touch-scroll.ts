/** Touch scrolling: through the scrollback, or within a full-screen program. */

import type { Terminal } from "@xterm/xterm";

/** Movement in pixels that counts as scrolling; less is a tap, which xterm.js treats as a click. */
const SCROLL_PX = 10;

export function scrollByTouch(parent: HTMLElement, terminal: Terminal): void {
	let last: { readonly id: number; readonly y: number } | undefined;
	let isScrolling = false;
	parent.addEventListener("pointerdown", ({ pointerType, pointerId, clientY }) => {
		if (pointerType !== "touch") return;
		last = { id: pointerId, y: clientY };
		isScrolling = false;
	});
	parent.addEventListener("pointermove", (event) => {
		if (event.pointerId !== last?.id) return;
		const moved = last.y - event.clientY;
		if (!isScrolling && Math.abs(moved) < SCROLL_PX) return;
		isScrolling = true;
		const rowHeight = (terminal.element?.clientHeight ?? 0) / terminal.rows;
		const rows = Math.trunc(moved / rowHeight);
		if (rows === 0) return;
		last = { id: last.id, y: last.y - rows * rowHeight };
		if (terminal.buffer.active.type === "normal") terminal.scrollLines(rows);
		else turnWheel(terminal, event, rows);
	});
	for (const end of ["pointerup", "pointercancel"]) {
		parent.addEventListener(end, () => {
			last = undefined;
		});
	}
}

/** xterm.js turns it into what the program expects: mouse wheel reports or arrow keys. */
function turnWheel(terminal: Terminal, { clientX, clientY }: PointerEvent, rows: number): void {
	for (let row = 0; row < Math.abs(rows); row++) {
		terminal.element?.querySelector(".xterm-screen")?.dispatchEvent(
			new WheelEvent("wheel", {
				deltaY: Math.sign(rows),
				deltaMode: WheelEvent.DOM_DELTA_LINE,
				clientX,
				clientY,
				bubbles: true,
				cancelable: true,
			}),
		);
	}
}
