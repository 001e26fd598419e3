/** Parses a `Range` header. */

export type Range = { readonly start: number /** The byte after the last. */; readonly end: number };

/** The whole file, a part of it, or an error. */
type Asked = "all" | Range | "malformed" | "unsatisfiable";

/** With several ranges, the first that can be satisfied. */
export function rangeOf(header: string | undefined, size: number): Asked {
	if (header === undefined) return "all";
	if (!header.startsWith("bytes=")) return "malformed";
	const wanted = header
		.slice("bytes=".length)
		.split(",")
		.map((text) => text.trim())
		.filter((text) => text !== "")
		.map((text) => parse(text, size));
	if (wanted.includes("malformed")) return "malformed";
	if (wanted.length === 0 || size === 0) return "all";
	return wanted.find((range) => typeof range === "object") ?? "unsatisfiable";
}

function parse(text: string, size: number): Range | "malformed" | "unsatisfiable" {
	const [, first = "", last = ""] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? [];
	if (first === "" && last === "") return "malformed";
	if (first === "") {
		const length = Math.min(Number(last), size);
		return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
	}
	const start = Number(first);
	if (last !== "" && Number(last) < start) return "malformed";
	if (start >= size) return "unsatisfiable";
	return { start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}
