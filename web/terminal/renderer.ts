/** What draws a terminal: WebGL where there is one, and the DOM where there is none or it was lost. */

import { WebglAddon } from "@xterm/addon-webgl";
import type { Terminal } from "@xterm/xterm";

/** Once a context was lost, the machine has too few of them: the DOM draws for the rest of this visit. */
let wasLost = false;

/** To be called right after `open`, before anything is drawn: the cells of the two differ by a fraction of a pixel. */
export function drawFast(terminal: Terminal, onSwapped: () => void): void {
	if (wasLost) return;
	const webgl = new WebglAddon();
	webgl.onContextLoss(() => {
		wasLost = true;
		try {
			webgl.dispose();
		} catch {
			// It disposes what is gone already.
		}
		onSwapped();
		terminal.refresh(0, terminal.rows - 1);
	});
	try {
		terminal.loadAddon(webgl);
	} catch {
		wasLost = true;
	}
}
