/**
 * Checks of JSON text that `JSON.parse` does not make: duplicate names, lone surrogates, number of values, depth. It
 * also returns the id as written, with all its digits.
 */

import { SessionError } from "./errors.ts";

/**
 * The limit for all values, nested ones included. Codex's client refuses more, and no program can be started with as
 * many. Text over the limit is refused before it is parsed, because parsing millions of values would block the event
 * loop.
 * @limit values of a JSON body or message | `limit_exceeded` before it is parsed
 */
const MAX_VALUES = 262_144;

/**
 * Member names over all objects. An object with many names costs far more than an array of as many values.
 * @limit member names of a JSON body or message | `limit_exceeded` before it is parsed
 */
const MAX_NAMES = 16_384;

/**
 * Depth including the outermost value. Codex's servers accept no more, so what we pass on stays readable for them.
 * @limit nesting of a JSON body or message | `limit_exceeded` before it is parsed
 */
const MAX_DEPTH = 127;

const excess = {
	values: `more than ${MAX_VALUES} values`,
	names: `more than ${MAX_NAMES} names`,
	depth: `nested more than ${MAX_DEPTH} deep`,
} as const;

/** Characters that mean something outside of strings. */
const CODES = {
	quote: 0x22,
	openBrace: 0x7b,
	openBracket: 0x5b,
	closeBrace: 0x7d,
	closeBracket: 0x5d,
	colon: 0x3a,
	comma: 0x2c,
	space: 0x20,
	tab: 0x09,
	lineFeed: 0x0a,
	return: 0x0d,
} as const;

type JsonScan = {
	/** The problem, whether or not the rest is valid JSON. */
	readonly fault: string | undefined;
	/** The text of the outermost object's member `id`. */
	readonly id: string | undefined;
};

/** Scans the text once. It need not be valid JSON; the parser reports that. */
export function scanJson(text: string): JsonScan {
	/** Names seen in each open object; null for an array. */
	const open: (Set<string> | null)[] = [];
	let isName = false;
	let isId = false;
	let values = 0;
	let names = 0;
	let id: string | undefined;
	for (let at = 0; at < text.length; ) {
		const character = text.charAt(at);
		const end = tokenEnd(text, at, character);
		switch (character) {
			case "{":
			case "[":
				values++;
				open.push(character === "{" ? new Set() : null);
				if (open.length > MAX_DEPTH) return { fault: excess.depth, id };
				isName = character === "{";
				break;
			case "}":
			case "]":
				open.pop();
				isName = false;
				break;
			case ",":
				isName = open.at(-1) instanceof Set;
				break;
			case ":":
			case " ":
			case "\t":
			case "\n":
			case "\r":
				break;
			default: {
				const token = text.slice(at, end);
				if (hasLoneSurrogate(token)) return { fault: "half of a surrogate pair in a string", id };
				const known = open.at(-1);
				if (isName && known) {
					const name = nameOf(token);
					if (known.has(name)) return { fault: `duplicate field \`${name.slice(0, 60)}\``, id };
					known.add(name);
					names++;
					isId = open.length === 1 && name === "id";
					isName = false;
				} else {
					values++;
					if (isId) id = token;
					isId = false;
				}
			}
		}
		if (values > MAX_VALUES) return { fault: excess.values, id };
		if (names > MAX_NAMES) return { fault: excess.names, id };
		at = end;
	}
	return { fault: undefined, id };
}

/**
 * Why a text is too costly to parse, or undefined. Stops at the first reason. The text need not be valid JSON. It compares
 * character codes, which is eight times as fast as comparing characters: every body passes here before it is parsed.
 */
export function excessOf(text: string): string | undefined {
	let values = 0;
	let names = 0;
	let depth = 0;
	let isInWord = false;
	for (let at = 0; at < text.length; at++) {
		const wasInWord = isInWord;
		isInWord = false;
		switch (text.charCodeAt(at)) {
			case CODES.quote:
				values++;
				at = stringEnd(text, at) - 1;
				break;
			case CODES.openBrace:
			case CODES.openBracket:
				values++;
				if (++depth > MAX_DEPTH) return excess.depth;
				break;
			case CODES.closeBrace:
			case CODES.closeBracket:
				depth--;
				break;
			case CODES.colon:
				names++;
				break;
			case CODES.comma:
			case CODES.space:
			case CODES.tab:
			case CODES.lineFeed:
			case CODES.return:
				break;
			default:
				isInWord = true;
				if (!wasInWord) values++;
		}
		// Each name was also counted as a value.
		if (values - names > MAX_VALUES) return excess.values;
		if (names > MAX_NAMES) return excess.names;
	}
	return undefined;
}

/** `JSON.parse` for untrusted text. Throws `limit_exceeded` before it parses text that is too costly. */
export function parseJson(text: string): unknown {
	const fault = excessOf(text);
	if (fault !== undefined) throw new SessionError("limit_exceeded", `JSON too large: ${fault}`);
	return JSON.parse(text) as unknown;
}

/** The end of the first value if the text is JSON so far, or the end of the text if the value does not end. */
export function endOfFirstValue(text: string): number {
	let depth = 0;
	for (let at = 0; at < text.length; ) {
		const character = text.charAt(at);
		at = tokenEnd(text, at, character);
		if (character === "{" || character === "[") depth++;
		else if (character === "}" || character === "]") depth--;
		if (depth <= 0 && !" \t\n\r".includes(character)) return at;
	}
	return text.length;
}

const structural = /[\s,:[\]{}"]/g;

function tokenEnd(text: string, at: number, first: string): number {
	if (first === '"') return stringEnd(text, at);
	if ("{}[],: \t\n\r".includes(first)) return at + 1;
	structural.lastIndex = at + 1;
	return structural.exec(text)?.index ?? text.length;
}

function stringEnd(text: string, start: number): number {
	for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
		let before = quote - 1;
		while (text[before] === "\\") before--;
		// The quote is not escaped after an even number of backslashes.
		if ((quote - before) % 2 === 1) return quote + 1;
	}
	return text.length;
}

/** The name without escapes, because two spellings of one name are the same name. */
function nameOf(token: string): string {
	return token.includes("\\") ? unescaped(token) : token.slice(1, -1);
}

/** Such a half can be written only as an escape, and can't be sent back as UTF-8. */
function hasLoneSurrogate(token: string): boolean {
	return /\\u[dD]/.test(token) && /\p{Surrogate}/u.test(unescaped(token));
}

/**
 * The value of a string token. Any other text is returned without its first and last character, for the parser to
 * refuse.
 */
function unescaped(token: string): string {
	try {
		return String(JSON.parse(token));
	} catch {
		return token.slice(1, -1);
	}
}
