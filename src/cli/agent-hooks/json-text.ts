/**
 * Reads JSON with comments and trailing commas as configuration files have it, with the place of each part, so that a
 * file can be edited without touching the rest of it.
 */

export type JsonNode = JsonObject | JsonArray | JsonScalar;
export type JsonObject = Range & { readonly kind: "object"; readonly members: readonly JsonMember[] };
export type JsonArray = Range & { readonly kind: "array"; readonly members: readonly JsonItem[] };
export type JsonScalar = Range & { readonly kind: "scalar"; readonly value: string | number | boolean | null };
/** From the name to the end of the value. */
export type JsonMember = JsonItem & { readonly name: string };
export type JsonItem = Range & { readonly value: JsonNode };
/** Offsets in the text; `to` is exclusive. */
export type Range = { readonly from: number; readonly to: number };

/** Deeper files are refused. */
const MAX_DEPTH = 200;
const SCALAR = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const BLANK = /(?:[ \t\r\n\ufeff]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

/** Throws a `SyntaxError` whose message names the line. */
export function parseJsonText(text: string): JsonNode {
	return new Parser(text).whole();
}

/** The value without places. */
export function dataOf(node: JsonNode): unknown {
	if (node.kind === "scalar") return node.value;
	if (node.kind === "array") return node.members.map(({ value }) => dataOf(value));
	return Object.fromEntries(node.members.map(({ name, value }) => [name, dataOf(value)]));
}

/** The last member of this name, as in JSON.parse. */
export function memberOf(node: JsonNode, name: string): JsonMember | undefined {
	return node.kind === "object" ? node.members.findLast((member) => member.name === name) : undefined;
}

/** The end of blanks and comments that begin at an offset. */
export function skipBlanks(text: string, at: number): number {
	BLANK.lastIndex = at;
	BLANK.test(text);
	return BLANK.lastIndex;
}

class Parser {
	readonly #text: string;
	#at = 0;

	constructor(text: string) {
		this.#text = text;
	}

	whole(): JsonNode {
		const node = this.#value(0);
		this.#skip();
		if (this.#at < this.#text.length) throw this.#error();
		return node;
	}

	#value(depth: number): JsonNode {
		this.#skip();
		if (depth > MAX_DEPTH) throw this.#error();
		const from = this.#at;
		if (this.#takes("{"))
			return { kind: "object", from, members: this.#members("}", () => this.#member(depth)), to: this.#at };
		if (this.#takes("["))
			return { kind: "array", from, members: this.#members("]", () => this.#item(depth)), to: this.#at };
		return { kind: "scalar", from, value: this.#scalar(), to: this.#at };
	}

	#members<Member>(end: string, read: () => Member): Member[] {
		const members: Member[] = [];
		for (;;) {
			this.#skip();
			if (this.#takes(end)) return members;
			members.push(read());
			this.#skip();
			if (this.#takes(",")) continue;
			if (this.#takes(end)) return members;
			throw this.#error();
		}
	}

	#member(depth: number): JsonMember {
		const from = this.#at;
		const name = this.#scalar();
		if (typeof name !== "string") throw this.#error();
		this.#skip();
		if (!this.#takes(":")) throw this.#error();
		const value = this.#value(depth + 1);
		return { from, name, value, to: this.#at };
	}

	#item(depth: number): JsonItem {
		const from = this.#at;
		const value = this.#value(depth + 1);
		return { from, value, to: this.#at };
	}

	#scalar(): JsonScalar["value"] {
		SCALAR.lastIndex = this.#at;
		const [found] = SCALAR.exec(this.#text) ?? [];
		if (found === undefined) throw this.#error();
		try {
			const value = JSON.parse(found) as JsonScalar["value"];
			this.#at += found.length;
			return value;
		} catch {
			throw this.#error();
		}
	}

	#takes(character: string): boolean {
		if (this.#text[this.#at] !== character) return false;
		this.#at++;
		return true;
	}

	#skip(): void {
		this.#at = skipBlanks(this.#text, this.#at);
	}

	#error(): SyntaxError {
		return new SyntaxError(`line ${this.#text.slice(0, this.#at).split("\n").length} is not valid JSON`);
	}
}
