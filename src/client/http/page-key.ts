/** The page key that signing in stores for pages of the server's origin. */

import { pageKeyItem } from "../../api/page-key.ts";

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

/** Stores the key for all pages of this origin, if this is one. */
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
		// The browser may forbid storage. The server then reports that the user is not signed in.
		return undefined;
	}
}
