/** Where things are on a server, whose address may have a path of its own behind a proxy. */

/** `path` below `base`: `/v1/info` below `https://example.org/hawser/` is `https://example.org/hawser/v1/info`. */
export function below(base: string, path: string): URL {
	const url = new URL(base);
	url.pathname = url.pathname.replace(/\/+$/, "") + path;
	url.search = "";
	url.hash = "";
	return url;
}

export function sessionPath(id: string): string {
	return `/v1/sessions/${encodeURIComponent(id)}`;
}
