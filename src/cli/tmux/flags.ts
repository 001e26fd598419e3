/** Parses tmux command lines: its own flags, the commands separated by `;`, and the flags of each. */

import { UsageError } from "../print/errors.ts";

/** Flags by letter. A flag without a value has one empty string per use. */
export type Flags = ReadonlyMap<string, readonly string[]>;

type Parsed = { readonly flags: Flags; readonly rest: readonly string[] };

/** `letters` in getopt's format: a colon follows a flag with a value. Parsing stops at the first argument. */
export function parseFlags(args: readonly string[], letters: string, command: string): Parsed {
	const flags = new Map<string, string[]>();
	let index = 0;
	for (; index < args.length; index++) {
		const arg = args[index] ?? "";
		if (!arg.startsWith("-") || arg === "-") break;
		if (arg === "--") {
			index++;
			break;
		}
		for (let at = 1; at < arg.length; at++) {
			const letter = arg.charAt(at);
			const place = letters.indexOf(letter);
			if (letter === ":" || place < 0) throw new UsageError(`${command}: unknown flag -${letter}`);
			let value = "";
			if (letters[place + 1] === ":") {
				value = arg.slice(at + 1) || (args[++index] ?? "");
				if (index >= args.length) throw new UsageError(`${command}: -${letter} expects an argument`);
				at = arg.length;
			}
			flags.set(letter, [...(flags.get(letter) ?? []), value]);
		}
	}
	return { flags, rest: args.slice(index) };
}

/** The last value of a repeated flag. */
export function lastOf(flags: Flags, letter: string): string | undefined {
	return flags.get(letter)?.at(-1);
}

/** A word `;`, or a `;` at the end of a word, ends a command; `\;` is a literal `;`. */
export function splitCommands(words: readonly string[]): string[][] {
	const commands: string[][] = [[]];
	for (const word of words) {
		const current = commands.at(-1) ?? [];
		if (!word.endsWith(";")) current.push(word);
		else if (word.endsWith("\\;")) current.push(`${word.slice(0, -2)};`);
		else {
			if (word !== ";") current.push(word.slice(0, -1));
			commands.push([]);
		}
	}
	return commands.filter((command) => command.length > 0);
}
