/** A request's query with values as bytes, parsed as Go does. */

import { ExecdError } from "../errors.ts";
import { type BytePath, fromBytes, shown } from "./byte-path.ts";

export class Query {
	readonly #pairs: (readonly [name: string, value: BytePath])[] = [];

	constructor(url: string) {
		const start = url.indexOf("?");
		for (const pair of start < 0 ? [] : url.slice(start + 1).split("&")) {
			const equals = pair.indexOf("=");
			const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
			const value = decoded(equals < 0 ? "" : pair.slice(equals + 1));
			// Invalid pairs are ignored.
			if (name !== undefined && value !== undefined && pair !== "") this.#pairs.push([name, value]);
		}
	}

	all(name: string): BytePath[] {
		return this.#pairs.flatMap(([one, value]) => (one === name ? [value] : []));
	}

	/** The first value; undefined if absent or empty. */
	one(name: string): BytePath | undefined {
		return this.all(name)[0] || undefined;
	}

	path(): BytePath {
		const path = this.one("path");
		if (path === undefined) throw new ExecdError(400, "MISSING_QUERY", "missing query parameter 'path'");
		return path;
	}

	/** Undefined if absent. */
	integer(name: string, least: number): number | undefined {
		const raw = this.one(name);
		if (raw === undefined) return undefined;
		const value = /^[+-]?\d+$/.test(raw) ? Number(raw) : Number.NaN;
		if (value >= least) return value;
		throw new ExecdError(400, "INVALID_REQUEST_BODY", `invalid query parameter '${name}': ${shown(raw)}`);
	}
}

function decoded(text: string): BytePath | undefined {
	if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
	const bytes = Buffer.from(text.replaceAll("+", " ")).toString("latin1");
	return fromBytes(
		Buffer.from(
			bytes.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
			"latin1",
		),
	);
}
