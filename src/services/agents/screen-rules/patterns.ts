/** Compiled patterns of rules. Rules are data, and each of their patterns is used for every screen. */

const compiled = new Map<string, RegExp>();

/** `^` and `$` match at each line. Throws a SyntaxError for a malformed pattern. */
export function patternOf(source: string): RegExp {
	const known = compiled.get(source);
	if (known) return known;
	const pattern = new RegExp(source, "mu");
	compiled.set(source, pattern);
	return pattern;
}
