/** What signing in has left for pages of the server's own origin, when we are one. */

import { pageKeyItem } from "../protocol/page-key.ts";

type Page = {
	readonly location?: { readonly origin: string };
	readonly localStorage?: { getItem(key: string): string | null };
};

export function storedPageKey(url: string): string | undefined {
	const page = globalThis as Page;
	if (page.location?.origin !== new URL(url).origin) return undefined;
	try {
		return page.localStorage?.getItem(pageKeyItem) ?? undefined;
	} catch {
		// A browser may forbid it: the server then says that nobody is signed in.
		return undefined;
	}
}
