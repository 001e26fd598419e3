/** Converts an argument list to one shell command line and back. */

const PLAIN_WORD = /^[\w@%+=:,./-]+$/;
const WORD = /(?:[\w@%+=:,./-]|\\'|'[^']*')+/y;

export function commandLine(argv: readonly string[]): string {
	return argv.map(quoted).join(" ");
}

/** The words of a line made by `commandLine`. Any other line is returned as one word. */
export function splitCommandLine(line: string): string[] {
	const words: string[] = [];
	for (let at = 0; at < line.length; at++) {
		WORD.lastIndex = at;
		const [word] = WORD.exec(line) ?? [];
		if (word === undefined) return [line];
		words.push(word.replace(/'([^']*)'|\\'/g, (quote, text) => (quote === "\\'" ? "'" : text)));
		at += word.length;
	}
	return commandLine(words) === line ? words : [line];
}

function quoted(argument: string): string {
	return PLAIN_WORD.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
