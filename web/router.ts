/** The address bar: the current route, and navigation without loading the page again. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { addressOf, parseRoute, type Route } from "./state/route.ts";

/** The server's base address with a trailing slash. This file is in its folder `assets`, whatever path a proxy adds. */
const ownAddress: string = import.meta.url;
export const base: URL = new URL("../", ownAddress);

const current = signal<Route>(currentRoute());
export const route: ReadonlySignal<Route> = current;

/** An address for links, so that users can copy and open them elsewhere. */
export function href(target: Route): string {
	return base.pathname + addressOf(target);
}

/** `replace` adds no history entry, for example while typing into a filter. */
export function go(target: Route, { replace = false }: { readonly replace?: boolean } = {}): void {
	history[replace ? "replaceState" : "pushState"](null, "", href(target));
	updateRoute();
}

/** Follows clicks on links of this app, and the browser's back and forward buttons. */
export function startRouter(): void {
	// The page's relative addresses refer to the address it was loaded from, and browsers read the icon's again.
	for (const link of document.head.querySelectorAll("link")) link.setAttribute("href", link.href);
	addEventListener("popstate", updateRoute);
	document.addEventListener("click", (event) => {
		const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
		const link = event.target instanceof Element ? event.target.closest("a") : null;
		if (!isPlain || event.defaultPrevented || !link || link.target !== "" || link.hasAttribute("download")) return;
		if (link.origin !== location.origin || !link.pathname.startsWith(base.pathname)) return;
		event.preventDefault();
		history.pushState(null, "", link.href);
		updateRoute();
	});
}

/** The guest key after `#` in a guest link. Removes it from the address bar, where other people could read it. */
export function consumeGuestKey(): { readonly key: string } | undefined {
	const key = location.hash.slice(1);
	if (route.peek().view !== "session" || !key.startsWith("hwt_")) return undefined;
	history.replaceState(null, "", location.pathname + location.search);
	return { key };
}

/** Whether the address asks for the start dialog, as a shortcut of the installed app does. True only once. */
export function consumeStartFlag(): boolean {
	if (!new URLSearchParams(location.search).has("start")) return false;
	history.replaceState(null, "", location.pathname);
	return true;
}

function updateRoute(): void {
	current.value = currentRoute();
}

function currentRoute(): Route {
	return parseRoute(location.pathname.slice(base.pathname.length), new URLSearchParams(location.search));
}
