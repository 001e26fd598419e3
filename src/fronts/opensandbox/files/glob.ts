/**
 * Patterns for names, as execd's search has them: `*`, `?`, classes, alternatives, escapes, and `!(…)` for what does not match.
 *
 * A pattern becomes states, each of which is tried at most once at each place of a name: no pattern takes long.
 */

import { ExecdError } from "../answers.ts";

/** Longer than any name, and short enough to be tried on each of a million. */
const MAX_PATTERN_CHARACTERS = 1024;

export type Glob = {
	/** Whether it is about the path below the root, and not about the name alone. */
	readonly isPath: boolean;
	matches(text: string): boolean;
};

type State =
	| { readonly kind: "end" }
	| { readonly kind: "one"; readonly isTaken: (character: string) => boolean; readonly next: State }
	/** Any number of characters. */
	| { readonly kind: "many"; readonly mayCross: boolean; readonly next: State }
	| { readonly kind: "either"; readonly options: readonly State[] }
	/** The rest must not match. */
	| { readonly kind: "not"; readonly inner: State };

const END: State = { kind: "end" };

export function parseGlob(pattern: string): Glob {
	const characters = [...pattern.replace(/^(?:\*\*\/)+/, "")];
	if (characters.length > MAX_PATTERN_CHARACTERS) throw bad(pattern.slice(0, 64), "it is too long");
	const parser = new Parser(pattern, characters);
	const start = parser.sequence("")(END);
	return {
		isPath: characters.includes("/"),
		matches: (text) => isMatch(start, [...text], new Map(), 0),
	};
}

function isMatch(state: State, text: readonly string[], known: Map<State, Map<number, boolean>>, at: number): boolean {
	const results = known.get(state) ?? new Map<number, boolean>();
	known.set(state, results);
	const before = results.get(at);
	if (before !== undefined) return before;
	const result = decide(state, text, known, at);
	results.set(at, result);
	return result;
}

function decide(state: State, text: readonly string[], known: Map<State, Map<number, boolean>>, at: number): boolean {
	const character = text[at];
	switch (state.kind) {
		case "end":
			return character === undefined;
		case "one":
			return character !== undefined && state.isTaken(character) && isMatch(state.next, text, known, at + 1);
		case "many":
			for (let end = at; end <= text.length; end++) {
				if (isMatch(state.next, text, known, end)) return true;
				if (text[end] === "/" && !state.mayCross) return false;
			}
			return false;
		case "either":
			return state.options.some((option) => isMatch(option, text, known, at));
		case "not":
			return !isMatch(state.inner, text, known, at);
	}
}

/** What a piece of a pattern is, once it is known what comes after it. */
type Piece = (next: State) => State;

class Parser {
	readonly #pattern: string;
	readonly #characters: readonly string[];
	#at = 0;

	constructor(pattern: string, characters: readonly string[]) {
		this.#pattern = pattern;
		this.#characters = characters;
	}

	/** Up to one of `ends`, or to the end of the pattern where there are none. */
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
				return one((other) => other !== "/");
			case "[":
				return this.#set();
			case "{":
				return this.#alternatives();
			case "}":
				throw bad(this.#pattern, "a } has no {");
			case "\\":
				return literal(this.#next("something to escape"));
			case "!":
				return this.#characters[this.#at] === "(" ? this.#negation() : literal("!");
			default:
				return literal(character);
		}
	}

	#star(): Piece {
		let mayCross = false;
		while (this.#characters[this.#at] === "*") {
			mayCross = true;
			this.#at++;
		}
		const isWholeName = mayCross && this.#characters[this.#at] === "/";
		if (!isWholeName) return (next) => ({ kind: "many", mayCross, next });
		// Directories in any number, none included.
		this.#at++;
		return (next) => ({
			kind: "either",
			options: [next, { kind: "many", mayCross, next: literal("/")(next) }],
		});
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
		return one((character) => character !== "/" && isIn(character) !== isNegated);
	}

	#alternatives(): Piece {
		const options: Piece[] = [];
		do {
			options.push(this.sequence(",}"));
		} while (this.#next("a }") === ",");
		return (next) => ({ kind: "either", options: options.map((option) => option(next)) });
	}

	#negation(): Piece {
		this.#at++;
		const inner = this.sequence(")");
		this.#next("a )");
		return (next) => ({ kind: "not", inner: inner(next) });
	}

	#next(what: string): string {
		const character = this.#characters[this.#at++];
		if (character === undefined) throw bad(this.#pattern, `${what} is missing`);
		return character;
	}
}

function literal(wanted: string): Piece {
	return one((character) => character === wanted);
}

function one(isTaken: (character: string) => boolean): Piece {
	return (next) => ({ kind: "one", isTaken, next });
}

function bad(pattern: string, why: string): ExecdError {
	return new ExecdError(400, "INVALID_REQUEST_BODY", `invalid pattern ${pattern}: syntax error in pattern (${why})`);
}
