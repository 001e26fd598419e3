/** A command line that makes no sense, in one sentence that names what is wrong and, if nothing else does, where help is. */

/** What commander says of a value, with the flag, the variable or the argument that it was for. */
const VALUE = /^option '(.*?)' (?:argument|value) '(.*?)'(?: from env '(.*?)')? is invalid\. (.*)$/;
const ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*)$/;
const CHOICES = /^Allowed choices are (.*)\.$/;

/** `command` is as it is typed, such as `hawser token`. */
export function refusedLine(said: string, command: string): string {
	const text = said
		.trim()
		.replaceAll("\n", " ")
		.replace(/^error: /, "");
	const [, flag, given, variable, wanted] = VALUE.exec(text) ?? [];
	if (flag !== undefined) return expectation(variable ?? flag, wanted, given);
	const [, value, argument, rest] = ARGUMENT.exec(text) ?? [];
	if (argument !== undefined) return expectation(`<${argument}>`, rest, value);
	const isUnknown = /^(?:unknown|missing|too many)/.test(text) && !text.includes("Did you mean");
	return isUnknown ? `${text} (see ${command} --help)` : text;
}

function expectation(what: string, wanted = "", given = ""): string {
	const expected = wanted.replace(CHOICES, "expected one of $1");
	return `${what}: ${expected}${expected.includes(", not ") ? "" : `, not ${JSON.stringify(given)}`}`;
}
