/** URLs on a server, whose address may have a path behind a proxy. */

/** Joins a path to a base: `/v1/info` and `https://example.org/hawser/` give `https://example.org/hawser/v1/info`. */
export function joinUrl(base: string, path: string): URL {
	const url = new URL(base);
	url.pathname = url.pathname.replace(/\/+$/, "") + path;
	url.search = "";
	url.hash = "";
	return url;
}

export function sessionPath(id: string): string {
	return `/v1/sessions/${encodeURIComponent(id)}`;
}
