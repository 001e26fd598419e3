/** Rewrites commander's usage errors as one sentence, with a pointer to the help if it has no other hint. */

/** Commander's message about an invalid value of an option, variable or argument. */
const VALUE = /^option '(.*?)' (?:argument|value) '(.*?)'(?: from env '(.*?)')? is invalid\. (.*)$/;
const ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*)$/;
const CHOICES = /^Allowed choices are (.*)\.$/;

/** `command` is the full name, such as `hawser token`. */
export function usageMessage(said: string, command: string): string {
	const text = said
		.trim()
		.replaceAll("\n", " ")
		.replace(/^error: /, "");
	const [, flag, given, variable, wanted] = VALUE.exec(text) ?? [];
	if (flag !== undefined) return expectedMessage(variable ?? flag, wanted, given);
	const [, value, argument, rest] = ARGUMENT.exec(text) ?? [];
	if (argument !== undefined) return expectedMessage(`<${argument}>`, rest, value);
	const isUnknown = /^(?:unknown|missing|too many)/.test(text) && !text.includes("Did you mean");
	return isUnknown ? `${text} (see ${command} --help)` : text;
}

function expectedMessage(what: string, wanted = "", given = ""): string {
	const expected = wanted.replace(CHOICES, "choices: $1");
	return `${what}: ${expected}${expected.includes(", not ") ? "" : `, not ${JSON.stringify(given)}`}`;
}
