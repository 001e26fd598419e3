/** All modules a terminal needs, in one chunk that is loaded with the first terminal. */

import { HistorySearch } from "./history-search.ts";
import { KeyBar } from "./key-bar.ts";
import { SessionTerminal, type TerminalOptions } from "./session-terminal.ts";
import { tokensOf } from "./theme.ts";
import { scrollByTouch } from "./touch-scroll.ts";

type OpenOptions = TerminalOptions & { readonly hasKeyBar: boolean };

export type OpenedTerminal = {
	readonly terminal: SessionTerminal;
	readonly search: HistorySearch;
	readonly keyBar: HTMLElement | undefined;
};

export function openTerminal(parent: HTMLElement, { hasKeyBar, ...options }: OpenOptions): OpenedTerminal {
	const terminal = new SessionTerminal(parent, options);
	const { xterm } = terminal.emulator;
	scrollByTouch(parent, xterm);
	const search = new HistorySearch(options.session, terminal, tokensOf(parent));
	if (!hasKeyBar) return { terminal, search, keyBar: undefined };
	const keyBar = new KeyBar({
		send: (sequence) => terminal.type(sequence),
		modes: () => ({ isApplicationCursor: xterm.modes.applicationCursorKeysMode }),
		paste: () => void navigator.clipboard.readText().then((text) => terminal.paste(text)),
		hideKeyboard: () => xterm.blur(),
	});
	terminal.modify = (typed) => keyBar.modify(typed);
	return { terminal, search, keyBar: keyBar.element };
}
