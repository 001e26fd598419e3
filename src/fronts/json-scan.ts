/** What of a JSON text `JSON.parse` does not tell: repeated names, half characters, how many values and how deep, and an id with all its digits. */

/**
 * Counted with all that is nested. Codex's client refuses more, no program can be started with as many, and to
 * parse millions of them would keep everybody waiting: what has more is refused before it is parsed.
 */
const MAX_VALUES = 262_144;

/** Codex's servers go no deeper, the outermost counted; what we pass on stays readable for others who do not either. */
const MAX_DEPTH = 127;

export type Scan = {
	/** What is wrong, whether or not the rest is JSON at all. */
	readonly fault: string | undefined;
	/** The text of the member `id` of the outermost object. */
	readonly id: string | undefined;
};

/** Looks at the text once. It need not be JSON: what is not is found by whoever parses it. */
export function scanJson(text: string): Scan {
	/** The names of each open object so far; null for an array. */
	const open: (Set<string> | null)[] = [];
	let isName = false;
	let isId = false;
	let values = 0;
	let id: string | undefined;
	for (let at = 0; at < text.length; ) {
		const character = text.charAt(at);
		const end = tokenEnd(text, at, character);
		switch (character) {
			case "{":
			case "[":
				values++;
				open.push(character === "{" ? new Set() : null);
				if (open.length > MAX_DEPTH) return { fault: `nested more than ${MAX_DEPTH} deep`, id };
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
				const names = open.at(-1);
				if (isName && names) {
					const name = nameOf(token);
					if (names.has(name)) return { fault: `duplicate field \`${name.slice(0, 60)}\``, id };
					names.add(name);
					isId = open.length === 1 && name === "id";
					isName = false;
				} else {
					values++;
					if (isId) id = token;
					isId = false;
				}
			}
		}
		if (values > MAX_VALUES) return { fault: `more than ${MAX_VALUES} values`, id };
		at = end;
	}
	return { fault: undefined, id };
}

/** Whether a text is too much to be parsed; looks no further than that. */
export function hasTooManyValues(text: string): boolean {
	let values = 0;
	for (let at = 0; at < text.length && values <= MAX_VALUES; ) {
		const character = text.charAt(at);
		if (!"}],: \t\n\r".includes(character)) values++;
		at = tokenEnd(text, at, character);
	}
	return values > MAX_VALUES;
}

/** Where the first value of a text ends, if it is JSON so far; the end of the text where it does not end before. */
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
		// After an even number of backslashes it is not escaped.
		if ((quote - before) % 2 === 1) return quote + 1;
	}
	return text.length;
}

/** Names may be written with escapes; two spellings of one name are the same. */
function nameOf(token: string): string {
	return token.includes("\\") ? unescaped(token) : token.slice(1, -1);
}

/** Such a half can be written only as an escape, and is no character: in UTF-8 it could not be sent back. */
function hasLoneSurrogate(token: string): boolean {
	return /\\u[dD]/.test(token) && /\p{Surrogate}/u.test(unescaped(token));
}

/** What a string says; what is no string is left to whoever parses it. */
function unescaped(token: string): string {
	try {
		return String(JSON.parse(token));
	} catch {
		return token.slice(1, -1);
	}
}
