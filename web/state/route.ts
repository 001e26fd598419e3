/** The current page, parsed from the address. */

import type { SessionFilter } from "hawser/client";

/** The sessions selected in the list and the grid. */
export type Filter = SessionFilter & {
	/** Only sessions that need attention. */
	readonly isNeeding: boolean;
};

export type Route =
	| { readonly view: "list"; readonly filter: Filter }
	| { readonly view: "grid"; readonly filter: Filter }
	/** `at` opens the playback at an offset, or at an ISO 8601 time. */
	| { readonly view: "session"; readonly id: string; readonly at: string | undefined }
	| { readonly view: "playback"; readonly id: string; readonly at: string | undefined }
	| { readonly view: "workspace"; readonly workspace: string }
	/** A request for a secret. */
	| { readonly view: "secret"; readonly id: string }
	| { readonly view: "settings" }
	| { readonly view: "unknown" };

export const noFilter: Filter = { q: "", workspace: undefined, labels: [], isNeeding: false };

/** `path` is relative to the server's address, without a leading slash. */
export function parseRoute(path: string, query: URLSearchParams): Route {
	const [first = "", second, third, ...more] = path.replace(/\/$/, "").split("/").map(decoded);
	const at = query.get("at") ?? undefined;
	if (more.length > 0) return { view: "unknown" };
	if (second === undefined) {
		if (first === "") return { view: "list", filter: parseFilter(query) };
		if (first === "grid") return { view: "grid", filter: parseFilter(query) };
		if (first === "settings") return { view: "settings" };
	} else if (second !== "") {
		if (first === "s" && third === undefined) return { view: "session", id: second, at };
		if (first === "s" && third === "play") return { view: "playback", id: second, at };
		if (first === "secret" && third === undefined) return { view: "secret", id: second };
		if (first === "w" && third === undefined) return { view: "workspace", workspace: second };
	}
	return { view: "unknown" };
}

/** The inverse: path and query, without a leading slash. */
export function addressOf(route: Route): string {
	switch (route.view) {
		case "list":
			return withQuery("", filterQuery(route.filter));
		case "grid":
			return withQuery("grid", filterQuery(route.filter));
		case "session":
			return withQuery(`s/${encodeURIComponent(route.id)}`, [["at", route.at]]);
		case "playback":
			return withQuery(`s/${encodeURIComponent(route.id)}/play`, [["at", route.at]]);
		case "workspace":
			return `w/${encodeURIComponent(route.workspace)}`;
		case "secret":
			return `secret/${encodeURIComponent(route.id)}`;
		case "settings":
			return "settings";
		case "unknown":
			return "";
	}
}

function parseFilter(query: URLSearchParams): Filter {
	return {
		q: query.get("q") ?? "",
		workspace: query.get("workspace") ?? undefined,
		labels: query.getAll("label"),
		isNeeding: query.get("show") === "needs-you",
	};
}

type Pair = readonly [name: string, value: string | undefined];

function filterQuery({ q, workspace, labels, isNeeding }: Filter): Pair[] {
	const shown: Pair = ["show", isNeeding ? "needs-you" : undefined];
	return [shown, ["q", q || undefined], ["workspace", workspace], ...labels.map((label): Pair => ["label", label])];
}

function withQuery(path: string, pairs: readonly Pair[]): string {
	const query = new URLSearchParams();
	for (const [name, value] of pairs) if (value !== undefined) query.append(name, value);
	return query.size === 0 ? path : `${path}?${query}`;
}

/** Invalid percent-encoding stays as typed. */
function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}
