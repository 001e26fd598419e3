/** Parses the URL and the cookie of an issue's terminal. */

import type { FastifyRequest } from "fastify";
import { defaultSize } from "../../../services/starts/request.ts";
import type { Size } from "../../../words/state.ts";
import { uuidOf } from "./tasks.ts";

export type IssueRequest = FastifyRequest<{
	Params: { issue: string };
	Querystring: Readonly<Record<string, string | string[] | undefined>>;
}>;

export type TerminalParameters = {
	readonly workspace: string;
	/** An id, or a key such as `MUL-2295`. */
	readonly issue: string;
	readonly size: Size;
	/** The session of an existing terminal. */
	readonly attach: string | undefined;
	readonly isViewer: boolean;
	/** Output offset to resume from. */
	readonly since: number | undefined;
};

/** The parsed request, or an error text. */
export function parseRequest(request: IssueRequest): TerminalParameters | string {
	const workspace = uuidOf(queryOf(request, "workspace_id"));
	if (workspace === undefined) return "workspace_id must be a UUID";
	const { issue } = request.params;
	if (issue === "") return "missing issue id";
	const size = {
		cols: cellsOf(request, "cols") ?? defaultSize.cols,
		rows: cellsOf(request, "rows") ?? defaultSize.rows,
	};
	const attach = queryOf(request, "attach") || undefined;
	const since = numberOf(queryOf(request, "since"), Number.MAX_SAFE_INTEGER);
	return { workspace, issue, size, attach, isViewer: queryOf(request, "mode") === "view", since };
}

/** The token of the cookie set by Multica's server; undefined if absent or ambiguous. */
export function cookieOf({ headers }: IssueRequest): string | undefined {
	const values = (headers.cookie ?? "").split(";").flatMap((pair) => {
		const [, value] = /^\s*multica_auth="?([^"\s]+)"?\s*$/.exec(pair) ?? [];
		return value === undefined ? [] : [value];
	});
	return values.length === 1 ? values[0] : undefined;
}

function queryOf({ query }: IssueRequest, name: string): string {
	return [query[name]].flat()[0] ?? "";
}

/** A number of cells; undefined (the default applies) if it is absent, zero or invalid. */
function cellsOf(request: IssueRequest, name: string): number | undefined {
	return numberOf(queryOf(request, name), 65_535) || undefined;
}

function numberOf(text: string, max: number): number | undefined {
	const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
	return number <= max ? number : undefined;
}
