/** Chooses the terminal's renderer: WebGL, or the DOM if WebGL is missing or was lost. */

import { WebglAddon } from "@xterm/addon-webgl";
import type { Terminal } from "@xterm/xterm";

/** After a lost context, use the DOM for the rest of this visit, because the machine has too few contexts. */
let wasLost = false;

/** Call right after `open`, before anything is rendered: cell sizes differ by a fraction of a pixel. */
export function useWebGl(terminal: Terminal, onSwapped: () => void): void {
	if (wasLost) return;
	const webgl = new WebglAddon();
	webgl.onContextLoss(() => {
		wasLost = true;
		try {
			webgl.dispose();
		} catch {
			// Already disposed.
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
