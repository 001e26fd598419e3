/** All that a page needs of a terminal, in one piece of code that is loaded when the first one is opened. */

import { KeyBar } from "./key-bar.ts";
import { HistorySearch } from "./search.ts";
import { SessionTerminal, type TerminalOptions } from "./terminal.ts";
import { tokensOf } from "./theme.ts";
import { scrollByTouch } from "./touch.ts";

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
