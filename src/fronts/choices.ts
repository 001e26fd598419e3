/** The answers that a question names itself, such as `[y/N]`. */

/** Several words with slashes between them, in brackets, at the end of a line but for punctuation. */
const CHOICES = /[[(]\s*([^\s/()]{1,16}(?:\s*\/\s*[^\s/()]{1,16}){1,7})\s*[\])][\s:?>]*$/;

export function choicesOf(prompt: string): string[] | undefined {
	const [, words] = CHOICES.exec(prompt) ?? [];
	if (words === undefined) return undefined;
	// One in brackets stands for something else that may be typed, as ssh's "[fingerprint]" does.
	const choices = words.split(/\s*\/\s*/).filter((word) => !/[[\]<>]/.test(word));
	return choices.length > 1 ? choices : undefined;
}
