/**
 * Name patterns of execd's search: `*`, `?`, classes, alternatives, escapes, and `!(…)` for negation.
 *
 * A pattern becomes a list of states. Each is decided once per position in the name, so matching time is bounded.
 */

import { ExecdError } from "../errors.ts";

/**
 * Longer than any name, and short enough to be tried on a million names.
 * @limit characters of a pattern of `/files/search` | 400
 */
const MAX_PATTERN_CHARACTERS = 1024;

type Glob = {
	/** Whether it applies to the path below the root instead of the name. */
	readonly isPath: boolean;
	matches(text: string): boolean;
};

/** Index of a state. Later parts of the pattern have lower indexes. */
type Index = number;

type State =
	| { readonly kind: "end" }
	| { readonly kind: "one"; readonly isTaken: (character: string) => boolean; readonly next: Index }
	/** Any number of characters. */
	| { readonly kind: "many"; readonly mayCross: boolean; readonly next: Index }
	| { readonly kind: "either"; readonly options: readonly Index[] }
	/** The rest must not match. */
	| { readonly kind: "not"; readonly inner: Index };

const END: Index = 0;

export function parseGlob(pattern: string): Glob {
	const characters = [...pattern.replace(/^(?:\*\*\/)+/, "")];
	if (characters.length > MAX_PATTERN_CHARACTERS)
		throw bad(pattern.slice(0, 64), `longer than ${MAX_PATTERN_CHARACTERS} characters`);
	const parser = new Parser(pattern, characters);
	const start = parser.sequence("")(END);
	return {
		isPath: characters.includes("/"),
		matches: (text) => matching(parser.states, [...text])[start] === true,
	};
}

/** Decides all states at each position, from the end of the text to its start. */
function matching(states: readonly State[], text: readonly string[]): readonly boolean[] {
	let further: readonly boolean[] = [];
	for (let at = text.length; at >= 0; at--) {
		const here: boolean[] = [];
		for (const state of states) here.push(decide(state, text[at], here, further));
		further = here;
	}
	return further;
}

function decide(
	state: State,
	character: string | undefined,
	here: readonly boolean[],
	further: readonly boolean[],
): boolean {
	switch (state.kind) {
		case "end":
			return character === undefined;
		case "one":
			return character !== undefined && further[state.next] === true && state.isTaken(character);
		case "many": {
			if (here[state.next]) return true;
			const mayContinue = character !== undefined && (state.mayCross || character !== "/");
			// `here.length` is the index of this state.
			return mayContinue && further[here.length] === true;
		}
		case "either":
			return state.options.some((option) => here[option]);
		case "not":
			return !here[state.inner];
	}
}

/** Builds the states of a piece, given the state that follows it, and returns its first state. */
type Piece = (next: Index) => Index;

class Parser {
	readonly states: State[] = [{ kind: "end" }];
	readonly #pattern: string;
	readonly #characters: readonly string[];
	#at = 0;

	constructor(pattern: string, characters: readonly string[]) {
		this.#pattern = pattern;
		this.#characters = characters;
	}

	/** Parses up to one of `ends`, or to the end of the pattern. */
	sequence(ends: string): Piece {
		const pieces: Piece[] = [];
		for (;;) {
			const character = this.#characters[this.#at];
			if (character === undefined) {
				if (ends !== "") throw bad(this.#pattern, `a ${ends.at(-1)} is missing`);
				break;
			}
			if (ends.includes(character)) break;
			this.#at++;
			pieces.push(this.#piece(character));
		}
		return (next) => pieces.reduceRight((after, piece) => piece(after), next);
	}

	#piece(character: string): Piece {
		switch (character) {
			case "*":
				return this.#star();
			case "?":
				return this.#one((other) => other !== "/");
			case "[":
				return this.#set();
			case "{":
				return this.#alternatives();
			case "}":
				throw bad(this.#pattern, "a } has no {");
			case "\\":
				return this.#literal(this.#next("something to escape"));
			case "!":
				return this.#characters[this.#at] === "(" ? this.#negation() : this.#literal("!");
			default:
				return this.#literal(character);
		}
	}

	#star(): Piece {
		let mayCross = false;
		while (this.#characters[this.#at] === "*") {
			mayCross = true;
			this.#at++;
		}
		const isWholeName = mayCross && this.#characters[this.#at] === "/";
		if (!isWholeName) return (next) => this.#add({ kind: "many", mayCross, next });
		// Any number of directories, including none.
		this.#at++;
		return (next) => {
			const many = this.#add({ kind: "many", mayCross, next: this.#literal("/")(next) });
			return this.#add({ kind: "either", options: [next, many] });
		};
	}

	#set(): Piece {
		const isNegated = ["!", "^"].includes(this.#characters[this.#at] ?? "");
		if (isNegated) this.#at++;
		const ranges: [from: string, to: string][] = [];
		for (;;) {
			const character = this.#next("a ]");
			if (character === "]") break;
			const from = character === "\\" ? this.#next("something to escape") : character;
			const isRange = this.#characters[this.#at] === "-" && this.#characters[this.#at + 1] !== "]";
			if (isRange) this.#at++;
			const end = isRange ? this.#next("the end of a range") : from;
			ranges.push([from, end === "\\" && isRange ? this.#next("something to escape") : end]);
		}
		if (ranges.length === 0) throw bad(this.#pattern, "a class is empty");
		const isIn = (character: string) => ranges.some(([from, to]) => from <= character && character <= to);
		return this.#one((character) => character !== "/" && isIn(character) !== isNegated);
	}

	#alternatives(): Piece {
		const options: Piece[] = [];
		do {
			options.push(this.sequence(",}"));
		} while (this.#next("a }") === ",");
		return (next) => this.#add({ kind: "either", options: options.map((option) => option(next)) });
	}

	#negation(): Piece {
		this.#at++;
		const inner = this.sequence(")");
		this.#next("a )");
		return (next) => this.#add({ kind: "not", inner: inner(next) });
	}

	#next(what: string): string {
		const character = this.#characters[this.#at++];
		if (character === undefined) throw bad(this.#pattern, `${what} is missing`);
		return character;
	}

	#literal(wanted: string): Piece {
		return this.#one((character) => character === wanted);
	}

	#one(isTaken: (character: string) => boolean): Piece {
		return (next) => this.#add({ kind: "one", isTaken, next });
	}

	#add(state: State): Index {
		return this.states.push(state) - 1;
	}
}

function bad(pattern: string, why: string): ExecdError {
	return new ExecdError(400, "INVALID_REQUEST_BODY", `invalid pattern ${pattern}: syntax error in pattern (${why})`);
}
