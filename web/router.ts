/** The address bar: where we are, and going elsewhere without loading the page again. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { addressOf, parseRoute, type Route } from "./state/route.ts";

/** Where the server is, with a slash at its end: our own file is in its folder `assets`, whatever path a proxy has put before it. */
const ownAddress: string = import.meta.url;
export const base: URL = new URL("../", ownAddress);

const current = signal<Route>(here());
export const route: ReadonlySignal<Route> = current;

/** For links, so that they can be copied and opened elsewhere. */
export function href(target: Route): string {
	return base.pathname + addressOf(target);
}

/** `replace` leaves no step back, as for what is typed into a filter. */
export function go(target: Route, { replace = false }: { readonly replace?: boolean } = {}): void {
	history[replace ? "replaceState" : "pushState"](null, "", href(target));
	arrive();
}

/** From now on links of ours are followed here, and the browser's own buttons are heard. */
export function startRouter(): void {
	// The page's own addresses are relative to the one that it was loaded from, and browsers look at an icon's again.
	for (const link of document.head.querySelectorAll("link")) link.setAttribute("href", link.href);
	addEventListener("popstate", arrive);
	document.addEventListener("click", (event) => {
		const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
		const link = event.target instanceof Element ? event.target.closest("a") : null;
		if (!isPlain || event.defaultPrevented || !link || link.target !== "" || link.hasAttribute("download")) return;
		if (link.origin !== location.origin || !link.pathname.startsWith(base.pathname)) return;
		event.preventDefault();
		history.pushState(null, "", link.href);
		arrive();
	});
}

/** What stands after the `#` of a guest's link; it is taken out of the address bar, where others could read it. */
export function takeGuestKey(): { readonly key: string } | undefined {
	const key = location.hash.slice(1);
	if (route.peek().view !== "session" || !key.startsWith("hwt_")) return undefined;
	history.replaceState(null, "", location.pathname + location.search);
	return { key };
}

/** Whether the address asks for the dialog that starts a session, as a shortcut of the installed page does; only once. */
export function takeStart(): boolean {
	if (!new URLSearchParams(location.search).has("start")) return false;
	history.replaceState(null, "", location.pathname);
	return true;
}

function arrive(): void {
	current.value = here();
}

function here(): Route {
	return parseRoute(location.pathname.slice(base.pathname.length), new URLSearchParams(location.search));
}
