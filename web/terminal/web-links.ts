/** Links in terminal text: only web addresses, opened only by a click, in a new page. */

import { WebLinksAddon } from "@xterm/addon-web-links";
import type { ILinkHandler, Terminal } from "@xterm/xterm";

/** Excludes `javascript:`, `file:` and other schemes that start local programs. */
function isWebLink(address: string): boolean {
	try {
		return ["http:", "https:"].includes(new URL(address).protocol);
	} catch {
		return false;
	}
}

/** For links that programs attach to text (OSC 8). */
export const linkHandler: ILinkHandler = {
	allowNonHttpProtocols: false,
	activate: (_, address) => openLink(address),
};

export function findLinks(terminal: Terminal): void {
	terminal.loadAddon(new WebLinksAddon((_, address) => openLink(address)));
}

function openLink(address: string): void {
	if (isWebLink(address)) window.open(address, "_blank", "noopener,noreferrer");
}
