/** Addresses in a terminal's text: only those of web pages, and only opened by a click, away from this page. */

import { WebLinksAddon } from "@xterm/addon-web-links";
import type { ILinkHandler, Terminal } from "@xterm/xterm";

/** What a program may not make us open: `javascript:`, `file:`, and whatever else the system has a program for. */
function isWebLink(address: string): boolean {
	try {
		return ["http:", "https:"].includes(new URL(address).protocol);
	} catch {
		return false;
	}
}

/** For addresses that programs attach to text (OSC 8). */
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
