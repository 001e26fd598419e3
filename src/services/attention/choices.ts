/** The answers that a question offers, such as `[y/N]`. */

/** Words with slashes between them, in brackets, at the end of a line; punctuation may follow. */
const CHOICES = /[[(]\s*([^\s/()]{1,16}(?:\s*\/\s*[^\s/()]{1,16}){1,7})\s*[\])][\s:?>]*$/;

export function choicesOf(prompt: string): string[] | undefined {
	const [, words] = CHOICES.exec(prompt) ?? [];
	if (words === undefined) return undefined;
	// A word in brackets is a placeholder, such as ssh's "[fingerprint]".
	const choices = words.split(/\s*\/\s*/).filter((word) => !/[[\]<>]/.test(word));
	return choices.length > 1 ? choices : undefined;
}
