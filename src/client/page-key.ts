/** What signing in has left for pages of the server's own origin, when we are one. */

import { pageKeyItem } from "../protocol/page-key.ts";

type Page = {
	readonly location?: { readonly origin: string };
	readonly localStorage?: {
		getItem(key: string): string | null;
		setItem(key: string, value: string): void;
		removeItem(key: string): void;
	};
};

export function storedPageKey(url: string): string | undefined {
	return inStorage(url, (storage) => storage.getItem(pageKeyItem) ?? undefined);
}

/** Leaves it for all pages of this origin, if we are one. */
export function storePageKey(url: string, key: string): void {
	inStorage(url, (storage) => storage.setItem(pageKeyItem, key));
}

export function forgetPageKey(url: string): void {
	inStorage(url, (storage) => storage.removeItem(pageKeyItem));
}

function inStorage<Value>(url: string, act: (storage: NonNullable<Page["localStorage"]>) => Value): Value | undefined {
	const page = globalThis as Page;
	if (page.location?.origin !== new URL(url).origin) return undefined;
	try {
		return page.localStorage && act(page.localStorage);
	} catch {
		// A browser may forbid it: the server then says that nobody is signed in.
		return undefined;
	}
}
