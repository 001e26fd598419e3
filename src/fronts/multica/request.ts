/** What the address of an issue's terminal says, and the cookie that came with it. */

import type { FastifyRequest } from "fastify";
import type { Size } from "../../core/event.ts";
import { defaultSize } from "../front.ts";
import { uuidOf } from "./tasks.ts";

export type IssueRequest = FastifyRequest<{
	Params: { issue: string };
	Querystring: Readonly<Record<string, string | string[] | undefined>>;
}>;

export type AskedTerminal = {
	readonly workspace: string;
	/** An id, or a key such as `MUL-2295`. */
	readonly issue: string;
	readonly size: Size;
	/** One that is there, by its session. */
	readonly attach: string | undefined;
	readonly isViewer: boolean;
	/** Where the client goes on in the output. */
	readonly since: number | undefined;
};

/** What is asked for, or what is wrong with it. */
export function parseRequest(request: IssueRequest): AskedTerminal | string {
	const workspace = uuidOf(queryOf(request, "workspace_id"));
	if (workspace === undefined) return "workspace_id must be a UUID";
	const { issue } = request.params;
	if (issue === "") return "the id of an issue is needed";
	const size = {
		cols: cellsOf(request, "cols") ?? defaultSize.cols,
		rows: cellsOf(request, "rows") ?? defaultSize.rows,
	};
	const attach = queryOf(request, "attach") || undefined;
	const since = numberOf(queryOf(request, "since"), Number.MAX_SAFE_INTEGER);
	return { workspace, issue, size, attach, isViewer: queryOf(request, "mode") === "view", since };
}

/** The token of the cookie that Multica's own server sets; undefined if it is not there, or there twice and so in doubt. */
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

/** Undefined stands for the usual number: for what is missing, zero, or no number. */
function cellsOf(request: IssueRequest, name: string): number | undefined {
	return numberOf(queryOf(request, name), 65_535) || undefined;
}

function numberOf(text: string, max: number): number | undefined {
	const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
	return number <= max ? number : undefined;
}
